//go:build !linux

package actuate

import "errors"

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
