package actuate

import "sync/atomic"

// lent is where the main thread takes what it is to do; lending says that it
// takes it.
var (
	lent    = make(chan func())
	lending atomic.Bool
)

// MainThread runs the program on another goroutine and lends the calling one,
// which must be locked to the main thread of the process, to the Actuator, to
// fork on. It gives what the program gives.
//
// That thread is the only one that goes on as itself after an execve(2), if it
// makes it. So it is the only one that can be the parent of children across
// more than one: the thread that forked them must make the call, or their
// parent-death signal is sent, and of the next image it is the main one.
func MainThread(program func() int) int {
	lending.Store(true)
	defer lending.Store(false)
	done := make(chan int, 1)
	go func() { done <- program() }()
	for {
		select {
		case f := <-lent:
			f()
		case code := <-done:
			return code
		}
	}
}

// onForkingThread has f run on the main thread if it is lent, else on one that
// f locks itself to.
func onForkingThread(f func()) {
	if lending.Load() {
		lent <- f
		return
	}
	go f()
}
