package controller

import (
	"reflect"
	"regexp"
	"slices"
	"sync"

	"github.com/proc-controller/proc-controller/spec"
)

// changes lets any number wait for the next change of the world. It costs the
// loop a mutex that nobody holds for longer than a few instructions.
type changes struct {
	mu   sync.Mutex
	next chan struct{} // nil while nobody waits
}

// announce wakes all who wait.
func (c *changes) announce() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}

// await gives a channel that the next announcement closes.
func (c *changes) await() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}

// Changed gives a channel that is closed when a View could say something else
// than one that was made after this call, and when the loop has ended. Ask
// first, then look: nothing is missed. What only the passing of time changes
// closes nothing; look again now and then.
func (c *Controller) Changed() <-chan struct{} { return c.reporter.changes.await() }

// SameStatus says that two statuses of a workload tell the same, but for how long
// something is still waited for: that shrinks without anything having happened.
func SameStatus(a, b *spec.Status) bool {
	return reflect.DeepEqual(a, b) || reflect.DeepEqual(untimed(*a), untimed(*b))
}

// remaining is the time that is left, as sentence writes it.
var remaining = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`for another ([0-9.]+(ms|h|m|s))+`) })

// untimed is a status whose texts do not say how much time is left.
func untimed(st spec.Status) spec.Status {
	st.Message = remaining().ReplaceAllLiteralString(st.Message, "")
	st.Conditions = slices.Clone(st.Conditions)
	for i := range st.Conditions {
		c := &st.Conditions[i]
		c.Message = remaining().ReplaceAllLiteralString(c.Message, "")
	}
	return st
}
