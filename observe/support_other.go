//go:build !linux

package observe

import (
	"errors"

	"github.com/proc-controller/proc-controller/spec"
)

// OwnerAlive cannot tell: abstract unix sockets exist on Linux alone.
func OwnerAlive(int, spec.Owner) (pid int, alive, known bool) { return 0, false, false }

// Listeners fails: who listens is told on Linux alone.
func (s *Scanner) Listeners([]uint16, []Ident) (map[uint16]Listener, error) {
	return nil, errors.New("cannot tell who listens on this operating system")
}

// ExitStatus never knows: without a pidfd only the end can be seen.
func ExitStatus(_ int, id Ident) (Exit, error) {
	return exitUnknown(id), nil
}
