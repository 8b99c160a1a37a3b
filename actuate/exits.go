//go:build linux || darwin || freebsd

package actuate

import (
	"sync"

	"github.com/proc-controller/proc-controller/observe"
)

// exits hands ends of processes to a channel, in order, without ever making
// the one who reports them wait: the reaper must go on reaping even while the
// loop is busy. What waits is bounded by the number of processes watched.
type exits struct {
	out    chan observe.Exit
	wake   chan struct{} // of size one
	closed chan struct{}

	mu    sync.Mutex
	queue []observe.Exit
}

// burst is how many ends the loop can take at once: a channel without room
// would hand them over one by one, each to be decided upon by itself.
const burst = 256

func newExits() *exits {
	e := &exits{out: make(chan observe.Exit, burst), wake: make(chan struct{}, 1), closed: make(chan struct{})}
	go e.run()
	return e
}

// Push reports an end. It never blocks.
func (e *exits) Push(x observe.Exit) {
	e.mu.Lock()
	e.queue = append(e.queue, x)
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// run hands over until Close, which also closes the channel.
func (e *exits) run() {
	defer close(e.out)
	for {
		select {
		case <-e.wake:
		case <-e.closed:
			return
		}
		for _, x := range e.take() {
			select {
			case e.out <- x:
			case <-e.closed:
				return
			}
		}
	}
}

func (e *exits) take() []observe.Exit {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := e.queue
	e.queue = nil
	return q
}

// Close ends the handing over. It is called once; what was not taken is lost.
func (e *exits) Close() { close(e.closed) }
