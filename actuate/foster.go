package actuate

import (
	"os/exec"
	"sync"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Foster starts children for a program that is no controller, and takes in what
// they leave behind, so that nothing of it gets lost: it is named, and ended if
// wanted. A process has one, or an Actuator, and forks by no other way. Safe for
// use by many goroutines.
type Foster struct {
	fostering // what the system has for it

	// mu is held across a fork and the registration of its child, and while what
	// was left is signalled: nobody reaps it meanwhile.
	mu  sync.Mutex
	own map[int]struct{} // started here, and not waited for yet
}

// Bond says what a child shares with us.
type Bond uint8

// Beside stays in our session and process group, so that it has the terminal, and
// is killed if we die. Apart gets a session of its own, and has to find out by
// itself that we have died.
const (
	Beside Bond = iota
	Apart
)

// Leftover is a process that a child has left behind, or one that such a process
// has started.
type Leftover struct {
	observe.Ident
	// Command is its command line, for a person.
	Command string
	// Owner and Key are what its markers name; empty where it has none.
	Owner spec.Owner
	Key   spec.Key
}

// NewFoster makes the process one that orphans below it are handed to. Where the
// system has no such thing, that is all that is missing: nothing is found.
func NewFoster() (*Foster, error) {
	f := &Foster{own: make(map[int]struct{})}
	return f, f.open()
}

// Start starts a command on the thread that lives as long as the process, where
// one is lent: see MainThread. What was started has to be given to Wait.
func (f *Foster) Start(cmd *exec.Cmd, b Bond) error {
	bind(cmd, b)
	done := make(chan error, 1)
	onForkingThread(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		err := cmd.Start()
		if err == nil {
			f.own[cmd.Process.Pid] = struct{}{}
		}
		done <- err
	})
	return <-done
}

// Wait waits for a command, as its own method does.
func (f *Foster) Wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.own, cmd.Process.Pid)
	return err
}
