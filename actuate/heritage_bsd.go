//go:build darwin || freebsd

package actuate

import (
	"errors"

	"github.com/proc-controller/proc-controller/observe"
)

// takeOver does nothing: no image follows another here.
func (a *Actuator) takeOver() {}

// Inherited is empty: nothing is taken over.
func (a *Actuator) Inherited() []observe.Ident { return nil }

// Pause does nothing.
func (a *Actuator) Pause() []observe.Exit { return nil }

// Resume does nothing.
func (a *Actuator) Resume() {}

// Bequeath hands nothing on.
func (a *Actuator) Bequeath(*Guard) (Heritage, []int) { return Heritage{}, nil }

// Exec fails: children would not know their parent any more.
func (a *Actuator) Exec(string, []string, []string, []int) error {
	return errors.New("cannot replace the running program on this system")
}
