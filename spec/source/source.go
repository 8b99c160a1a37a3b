package source

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/spec"
)

// DefaultPoll is how often the whole directory is looked at.
const DefaultPoll = 10 * time.Second

// Options say what is watched.
type Options struct {
	// Dir is the directory, as an absolute path. It need not exist.
	Dir string
	// Home is what ~ stands for in the paths of a manifest.
	Home string
	// UID is the user whose files are trusted beside root's; TrustUIDs are
	// further ones.
	UID       int
	TrustUIDs []int
	// DeleteHold is how long it takes to believe that everything is gone, or
	// that what runs at the start has no manifest. A single key takes one
	// second, or less if this is less. 0 means DefaultDeleteHold; negative
	// means that nothing is held.
	DeleteHold time.Duration
	// Places is for a directory of symbolic links to manifests that lie elsewhere:
	// where, as absolute paths, by the names of the links. Such a manifest is told
	// of by its own path, and relative paths in it count from its own directory.
	// Memory is not for them: nil.
	Places map[string]string
	// NoneKept lets every workload end with the controller, whatever its manifest
	// says of onControllerExit.
	NoneKept bool
	// Poll is how often the whole directory is looked at; 0 means DefaultPoll.
	Poll time.Duration
	// Memory keeps the last good content; nil means that none is kept.
	Memory Memory
	// Log tells of what is wrong with the source, each thing once. The zero
	// Logger discards.
	Log logr.Logger
}

// Source watches a directory of manifests. Only Run does anything.
type Source struct {
	options Options
	trust   *trust
	sets    chan *spec.Set

	// All below is Run's.
	cat     *catalog
	watch   watch
	listing listing
	memory  map[string][]byte   // last good content, until the first full read
	real    string              // the directory without links
	found   stamp               // and what it is
	via     map[string]struct{} // what its path leads over
	dev     uint64              // the file system that its content is believed from
	number  uint64              // of the pass
	names   []string            // buffer
	told    map[spec.Finding]struct{}

	pollNext time.Time
}

// New makes a source. It reads nothing yet.
func New(o Options) (*Source, error) {
	if !filepath.IsAbs(o.Dir) {
		return nil, fmt.Errorf("the manifest directory must be an absolute path: %q", o.Dir)
	}
	o.Dir = filepath.Clean(o.Dir)
	switch {
	case o.DeleteHold == 0:
		o.DeleteHold = DefaultDeleteHold
	case o.DeleteHold < 0:
		o.DeleteHold = 0
	}
	if o.Poll <= 0 {
		o.Poll = DefaultPoll
	}
	if o.Memory == nil {
		o.Memory = noMemory{}
	}
	return &Source{
		options: o,
		trust:   newTrust(o.UID, o.TrustUIDs),
		sets:    make(chan *spec.Set, 1),
		cat:     newCatalog(places{o.Dir, o.Places}, o.Memory, o.DeleteHold),
		via:     make(map[string]struct{}),
	}, nil
}

// Sets delivers the newest set whenever it has changed. The channel holds one;
// a newer set replaces one that was not taken yet. It is closed when Run ends.
func (s *Source) Sets() <-chan *spec.Set { return s.sets }

// Run reads and watches the directory until the context ends, and then returns
// nil. Nothing that is wrong with the directory ends it. It may be called once.
func (s *Source) Run(ctx context.Context) error {
	defer close(s.sets)
	defer s.watch.close()
	s.memory = s.options.Memory.LastGood()
	s.pass(time.Now())
	timer := time.NewTimer(s.wakeAfter())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case ev := <-s.watch.events():
			s.hinted(ev, time.Now())
		case err := <-s.watch.errors():
			s.eventsLost(err)
		case <-timer.C:
			s.woken(time.Now())
		}
		timer.Reset(s.wakeAfter())
	}
}

// eventsLost makes up for events that did not come, most likely since there
// were too many of them.
func (s *Source) eventsLost(err error) {
	s.options.Log.V(1).Info("file events were lost", "cause", err.Error())
	s.pass(time.Now())
}

// woken does what is due: the poll, or another look at busy files.
func (s *Source) woken(now time.Time) {
	if !now.Before(s.pollNext) {
		s.pass(now)
		return
	}
	if names := s.cat.due(now); len(names) > 0 {
		s.look(names, now)
	}
}

// wakeAfter is the time until something is due.
func (s *Source) wakeAfter() time.Duration {
	now := time.Now()
	at := s.pollNext
	if next := s.cat.nextLook(); !next.IsZero() && next.Before(at) {
		at = next
	}
	return max(at.Sub(now), 0)
}

// publish hands out what is known, if it has changed.
func (s *Source) publish() {
	set := s.cat.set()
	if set == nil {
		return
	}
	s.tell(set.Notices)
	select {
	case <-s.sets:
	default:
	}
	s.sets <- set // there is room: nobody else sends
}

// tell logs the notices that were not there before.
func (s *Source) tell(notices []spec.Finding) {
	if len(notices) == 0 {
		s.told = nil
		return
	}
	now := make(map[spec.Finding]struct{}, len(notices))
	for _, n := range notices {
		now[n] = struct{}{}
		if _, known := s.told[n]; !known {
			s.options.Log.Info("manifest source", "file", n.File, "line", n.Line, "reason", n.Reason, "message", n.Message)
		}
	}
	s.told = now
}
