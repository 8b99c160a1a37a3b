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
	asked  chan chan<- []observe.Exit // for what was not handed over yet

	mu    sync.Mutex
	queue []observe.Exit
}

// burst is how many ends the loop can take at once: a channel without room
// would hand them over one by one, each to be decided upon by itself.
const burst = 256

func newExits() *exits {
	e := &exits{
		out: make(chan observe.Exit, burst), wake: make(chan struct{}, 1), closed: make(chan struct{}),
		asked: make(chan chan<- []observe.Exit),
	}
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
		case rest := <-e.asked:
			rest <- e.undelivered(nil)
		case <-e.closed:
			return
		}
		if !e.handOver(e.take()) {
			return
		}
	}
}

// handOver says false once it is closed.
func (e *exits) handOver(queue []observe.Exit) bool {
	for len(queue) > 0 {
		select {
		case e.out <- queue[0]:
			queue = queue[1:]
		case rest := <-e.asked:
			rest <- e.undelivered(queue)
			return true
		case <-e.closed:
			return false
		}
	}
	return true
}

// Rest gives what was not handed over yet; it will not come through the channel.
func (e *exits) Rest() []observe.Exit {
	rest := make(chan []observe.Exit, 1)
	select {
	case e.asked <- rest:
		return <-rest
	case <-e.closed:
		return nil
	}
}

// undelivered gives what stands in the channel, in the given queue and behind it.
func (e *exits) undelivered(queue []observe.Exit) (rest []observe.Exit) {
	for {
		select {
		case x := <-e.out:
			rest = append(rest, x)
		default:
			return append(append(rest, queue...), e.take()...)
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
