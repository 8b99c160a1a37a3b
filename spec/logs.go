package spec

// Logs bounds what is kept of the output of a workload. A change acts on what
// runs already.
type Logs struct {
	// MaxBytes is how much of the output of one run is kept on the disk: the
	// newest 4/5 of it at least. A quantity of 64Ki or more. Default 10Mi.
	MaxBytes string `json:"maxBytes,omitempty" unquoted:"number"`
	// Keep is how many former runs have their output kept beside that of the
	// present one, 0 to 100. Default 3.
	Keep *int32 `json:"keep,omitempty"`
}

// The defaults and the limits of Logs.
const (
	defaultLogBytes = 10 << 20
	defaultLogKeep  = 3
	minLogBytes     = 64 << 10
	maxLogKeep      = 100
)

// LogBounds is what a Logs means.
type LogBounds struct {
	MaxBytes int64 // of the output of one run
	Keep     int   // former runs
}

// DefaultLogBounds is what holds where a manifest says nothing.
var DefaultLogBounds = LogBounds{MaxBytes: defaultLogBytes, Keep: defaultLogKeep}

// Bounds gives the bounds, with the default for what is not given.
func (l Logs) Bounds() LogBounds {
	b := DefaultLogBounds
	if n, ok := quantity(l.MaxBytes, 1); ok {
		b.MaxBytes = n
	}
	if l.Keep != nil {
		b.Keep = int(*l.Keep)
	}
	return b
}

// logs checks the bounds of the output.
func (c *checker) logs(l *Logs) {
	switch n, ok := quantity(l.MaxBytes, 1); {
	case l.MaxBytes == "":
	case !ok:
		c.failf(at("spec", "logs", "maxBytes"), "%q is no number of bytes: write 512Ki or 10Mi", l.MaxBytes)
	case n < minLogBytes:
		c.failf(at("spec", "logs", "maxBytes"), "%s is less than the least that can be kept: write 64Ki or more", l.MaxBytes)
	}
	if k := l.Keep; k != nil && (*k < 0 || *k > maxLogKeep) {
		c.failf(at("spec", "logs", "keep"), "must be 0 to %d former runs", maxLogKeep)
	}
}
