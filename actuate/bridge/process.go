package bridge

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// process is one run of a server: the leader of a process group of its own, with
// pipes at standard input and output. Its standard error is the log.
type process struct {
	os      *os.Process
	in      *os.File // to its standard input
	out     *os.File // from its standard output
	group   group
	started time.Time

	ended chan struct{} // closed when the process itself has ended and end is set
	end   ending

	stopping sync.Once
	gone     chan struct{} // closed when stop is done
}

// ending is how a process ended.
type ending struct {
	code   int // -1 where a signal ended it
	signal int // 0 for none
	at     time.Time
}

// String says it for a person: "exit code 3", "signal: killed".
func (e ending) String() string {
	if e.signal != 0 {
		return "signal " + syscall.Signal(e.signal).String()
	}
	return fmt.Sprintf("exit code %d", e.code)
}

// exitCode is the one that a shell would give: 128 and the signal.
func (e ending) exitCode() int {
	if e.signal != 0 {
		return 128 + e.signal
	}
	return e.code
}

// startProcess runs command, whose first word is the path of a program, with the
// environment of this process: its markers too, so that both belong to one instance.
func startProcess(command []string, log *os.File) (*process, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe for the server: %w", err)
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("cannot make a pipe for the server: %w", err)
	}
	defer childOut.Close()
	p := &process{in: in, out: out, started: time.Now(), ended: make(chan struct{}), gone: make(chan struct{})}
	attr, opened := groupAttr()
	p.os, err = os.StartProcess(command[0], command, &os.ProcAttr{Files: []*os.File{childIn, childOut, log}, Sys: attr})
	if err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("cannot start the server: %w", err)
	}
	p.group = opened(p.os.Pid)
	go p.wait()
	return p, nil
}

// wait reaps the process.
func (p *process) wait() {
	state, err := p.os.Wait()
	p.end = ending{code: -1, at: time.Now()}
	if err == nil {
		p.end.code = state.ExitCode()
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			p.end.signal = int(status.Signal())
		}
	}
	close(p.ended)
}

// stop ends the process and its group, in order: its standard input is closed, which
// is how a client of MCP says that it is done; what is left after a part of the grace
// gets the signal, and at the end of it SIGKILL. It returns when nobody is left. It
// may be called more than once, and after the end: then it clears up the group.
func (p *process) stop(grace time.Duration, sig syscall.Signal) {
	p.stopping.Do(func() {
		defer close(p.gone)
		p.in.Close()
		if !p.left(min(grace*2/5, inputWait)) {
			p.group.signal(sig)
			if !p.left(grace*4/5 - min(grace*2/5, inputWait)) {
				p.group.signal(syscall.SIGKILL)
				p.left(killWait)
			}
		}
		p.group.close()
		p.out.Close()
	})
	<-p.gone
}

// inputWait bounds how long is waited for a server to end by the end of its input: many
// never do.
const inputWait = 2 * time.Second

// killWait bounds how long is waited for what was killed: a process stuck in the
// kernel ends when that lets it.
const killWait = 2 * time.Second

// left waits until the process has ended and its group is empty, at most for d.
func (p *process) left(d time.Duration) bool {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	select {
	case <-p.ended:
	case <-deadline.C:
		return false
	}
	for pause := time.Millisecond; !p.group.empty(); pause = min(2*pause, 50*time.Millisecond) {
		look := time.NewTimer(pause)
		select {
		case <-look.C:
		case <-deadline.C:
			look.Stop()
			return p.group.empty()
		}
	}
	return true
}
