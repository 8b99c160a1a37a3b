//go:build !(linux || darwin || freebsd)

package actuate

import (
	"context"
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
func (*Actuator) Start(*spec.Entry, string, spec.PortMap) (*observe.Instance, error) {
	return nil, startErrorf(spec.ReasonSpawnFailed, "cannot start processes on %s: %v", runtime.GOOS, ErrUnsupported)
}

// Signal refuses.
func (*Actuator) Signal(*observe.Instance, int, spec.KillMode) ([]observe.Sent, error) {
	return nil, ErrUnsupported
}

// Resolve refuses.
func (*Actuator) Resolve(*spec.Entry) error { return ErrUnsupported }

// Spawned says yes of every child.
func (*Actuator) Spawned(int) bool { return true }

// EnvNames is empty.
func (*Actuator) EnvNames(*spec.Entry) []string { return nil }

// Watch refuses.
func (*Actuator) Watch(observe.Ident) error { return ErrUnsupported }

// Publish refuses.
func (*Actuator) Publish(*spec.Entry, []spec.ServerEndpoint) (spec.MCPConfigFile, error) {
	return spec.MCPConfigFile{}, ErrUnsupported
}

// Withdraw does nothing.
func (*Actuator) Withdraw(spec.Key) error { return nil }

// Published is empty.
func (*Actuator) Published() []spec.Key { return nil }

// Exits gives a channel on which nothing comes.
func (*Actuator) Exits() <-chan observe.Exit { return nil }

// Forget does nothing.
func (*Actuator) Forget(*observe.Instance) {}

// Dismiss does nothing.
func (*Actuator) Dismiss(spec.Key) {}

// LogPath is empty.
func (*Actuator) LogPath(spec.Key, spec.Instance) string { return "" }

// BoundLogs does nothing.
func (*Actuator) BoundLogs(map[spec.Key]spec.LogBounds, bool) {}

// Inherited is empty.
func (*Actuator) Inherited() []observe.Ident { return nil }

// RunHelper refuses.
func (*Actuator) RunHelper(context.Context, []string, []string, string) (exitCode int, output string, err error) {
	return -1, "", ErrUnsupported
}

// RunErrand refuses.
func (*Actuator) RunErrand(context.Context, *spec.Entry, *observe.Instance, []string) error {
	return ErrUnsupported
}

// Pause does nothing.
func (*Actuator) Pause() []observe.Exit { return nil }

// Resume does nothing.
func (*Actuator) Resume() {}

// Bequeath hands nothing on.
func (*Actuator) Bequeath(*Guard) (Heritage, []int) { return Heritage{}, nil }

// Exec refuses.
func (*Actuator) Exec(string, []string, []string, []int) error { return ErrUnsupported }

// Abandon does nothing.
func (*Actuator) Abandon() {}

// Close does nothing.
func (*Actuator) Close() {}
