package actuate

import (
	"context"
	"sync"

	"github.com/proc-controller/proc-controller/observe"
)

// errands knows which errands are under way, and for which main process: with it
// they end, and as long as there is one, its end does not prove that nothing is
// left of the instance.
type errands struct {
	mu      sync.Mutex
	halted  bool
	running map[*errand]bool
	done    sync.WaitGroup
}

func newErrands() *errands { return &errands{running: map[*errand]bool{}} }

// Begin notes an errand. It says no while none may begin.
func (x *errands) Begin(e *errand) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.halted {
		return false
	}
	x.running[e] = true
	x.done.Add(1)
	return true
}

// Done notes that nothing is left of an errand.
func (x *errands) Done(e *errand) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.running, e)
	x.done.Done()
}

// EndOf ends the errands of an instance whose main process has ended, without
// waiting. It says whether there are any.
func (x *errands) EndOf(id observe.Ident) (any bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for e := range x.running {
		if e.leader == id {
			any = true
			e.cancel(ErrGone)
		}
	}
	return any
}

// Halt ends all, waits for that, and lets none begin until Resume.
func (x *errands) Halt() {
	x.mu.Lock()
	x.halted = true
	for e := range x.running {
		e.cancel(context.Canceled)
	}
	x.mu.Unlock()
	x.done.Wait()
}

// Resume takes Halt back.
func (x *errands) Resume() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.halted = false
}
