//go:build !linux

package actuate

import (
	"errors"
	"os"

	"github.com/proc-controller/proc-controller/observe"
)

// GuardOptions are what a Guard is made of.
type GuardOptions struct {
	Brief  Brief
	Lock   []int
	Ledger int
}

// Guard does not exist here: a process cannot be watched by handle.
type Guard struct{}

// StartGuard fails.
func (*Actuator) StartGuard(GuardOptions) (*Guard, error) {
	return nil, errors.New("cannot have a guard on this system")
}

// Dismiss does nothing.
func (*Guard) Dismiss() {}

// AwaitEnd fails.
func (*Brief) AwaitEnd() (died bool, until uint64, err error) {
	return false, 0, errors.New("cannot guard on this system")
}

// Children is empty.
func (*Brief) Children() ([]observe.Witness, error) { return nil, nil }

// WrapParcel fails: no image follows another here.
func WrapParcel([]byte) (*os.File, error) {
	return nil, errors.New("cannot replace the running program on this system")
}

// ReadParcel fails.
func ReadParcel(int) ([]byte, error) { _, err := WrapParcel(nil); return nil, err }
