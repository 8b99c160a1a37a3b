//go:build !(linux || darwin || freebsd)

package actuate

import (
	"fmt"
	"runtime"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Actuator cannot be had on this operating system.
type Actuator struct{}

// New refuses with ErrUnsupported.
func New(Options) (*Actuator, error) {
	return nil, fmt.Errorf("cannot start processes on %s: %w", runtime.GOOS, ErrUnsupported)
}

// Start refuses.
func (*Actuator) Start(*spec.Entry, string) (*observe.Instance, error) {
	return nil, startErrorf(spec.ReasonSpawnFailed, "cannot start processes on %s: %v", runtime.GOOS, ErrUnsupported)
}

// Signal refuses.
func (*Actuator) Signal(*observe.Instance, int, spec.KillMode) ([]observe.Sent, error) {
	return nil, ErrUnsupported
}

// Resolve refuses.
func (*Actuator) Resolve(*spec.Entry) error { return ErrUnsupported }

// Watch refuses.
func (*Actuator) Watch(observe.Ident) error { return ErrUnsupported }

// Exits gives a channel on which nothing comes.
func (*Actuator) Exits() <-chan observe.Exit { return nil }

// Forget does nothing.
func (*Actuator) Forget(*observe.Instance) {}

// LogPath is empty.
func (*Actuator) LogPath(spec.Key, spec.Instance) string { return "" }

// Close does nothing.
func (*Actuator) Close() {}
