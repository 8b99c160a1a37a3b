package source

// Memory keeps the last good content of each manifest beyond the life of the
// controller, so that a file that is broken when the controller starts keeps
// the objects that it last held. It is a hint: an empty one is always right.
//
// All methods are called by the goroutine of Run alone and must not block on
// the disk.
type Memory interface {
	// LastGood gives the content remembered for each manifest path. It is
	// called once, before the first read; the source does not modify it.
	LastGood() map[string][]byte
	// Remember replaces what is known of a path by content in which every
	// document was accepted. The content is not modified afterwards.
	Remember(file string, content []byte)
	// Forget drops a path, once the deletion of the file is believed.
	Forget(file string)
}

// noMemory is the memory of a source that was given none.
type noMemory struct{}

func (noMemory) LastGood() map[string][]byte { return nil }
func (noMemory) Remember(string, []byte)     {}
func (noMemory) Forget(string)               {}
