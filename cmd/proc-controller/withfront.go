package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// A run of "with" is three processes of this program beside those of the set.
//
//	front ──▶ keeper ──▶ controller ──▶ workloads
//	            └──────▶ command
//
// The front is what the user has started, and the only one that may be killed at
// any time: it does nothing but pass signals on. The keeper is the parent of all
// the rest, and the one that every orphan below it is handed to, so that nothing
// of the set or of the command can get away; at the end it looks at what is left.
// It sees the front die by the end of a pipe, and tears down all the same. The
// controller sees the keeper die likewise, and has its guard.

// The first arguments of keeper and controller; the owner follows, for whoever
// reads a process list.
const (
	withKeeperVerb     = "keeper-of"
	withControllerVerb = "controller-of"
)

// withPart gives what these arguments ask for, if it is a part of with. It is
// asked before the verbs are put together.
func withPart(args []string) func(streams) error {
	if len(args) != 2 {
		return nil
	}
	switch args[0] {
	case withKeeperVerb:
		return withKeeper
	case withControllerVerb:
		return withController
	}
	return nil
}

// withBrief is what the keeper is told.
type withBrief struct {
	Owner     spec.Owner
	Manifests []string // absolute paths
	Keys      []spec.Key
	Command   []string
	Timeout   time.Duration
	Scopes    string
	TrustUIDs []int
	Quiet     bool
	Verbose   bool
	// Group is the process group of the front. The keeper begins in one of its own,
	// and joins it when it catches signals: until then a key would end it.
	Group int
}

// withSignals are those that a command is told of.
func withSignals() []os.Signal {
	all := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// withFront starts the keeper, passes on what it is told, and ends as it does.
func withFront(std streams, b *withBrief) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, withSignals()...)
	defer signal.Stop(signals)
	cmd, err := ownProgram(withKeeperVerb, b.Owner)
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std.in, std.out, std.err
	b.Group = leaveGroup(cmd)
	line, err := briefed(cmd, cmd.Start, b)
	if err != nil {
		return fmt.Errorf("cannot start: %w", err)
	}
	defer line.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			if n, ok := sig.(syscall.Signal); ok {
				_, _ = line.Write([]byte{byte(n)}) // it may have ended by itself
			}
		case err := <-ended:
			return asKeeper(err)
		}
	}
}

// asKeeper ends as the keeper has.
func asKeeper(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return endedWith(exit.ExitCode())
	case exit != nil && slices.Contains(withSignals(), os.Signal(syscall.Signal(signalOf(exit.ProcessState)))):
		// It catches them. So it was not there yet, and has begun nothing.
		return endedWith(exitSignal + signalOf(exit.ProcessState))
	}
	return fmt.Errorf("the process that ran the command has ended unexpectedly: %w", err)
}

// ownProgram makes a command of the program that runs now, whatever is on the
// disk meanwhile.
func ownProgram(verb string, owner spec.Owner) (*exec.Cmd, error) {
	path := "/proc/self/exe"
	if _, err := os.Stat(path); err != nil {
		if path, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("cannot find this program: %w", err)
		}
	}
	return &exec.Cmd{Path: path, Args: []string{os.Args[0], verb, string(owner)}}, nil
}

// briefed starts a process that reads a brief, as one line of JSON, from
// descriptor 3. The other end of the pipe is open for as long as we live.
func briefed(cmd *exec.Cmd, start func() error, brief any) (*os.File, error) {
	text, err := json.Marshal(brief)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd.ExtraFiles = []*os.File{r}
	if err := start(); err != nil {
		w.Close()
		return nil, err
	}
	if _, err := w.Write(append(text, '\n')); err != nil && !errors.Is(err, syscall.EPIPE) {
		w.Close()
		return nil, err
	}
	return w, nil
}

// errNotBriefed is for whoever calls a part of with by hand, and for a part whose
// parent has died before it could say anything.
var errNotBriefed = errors.New("cannot do without a brief: this is a part of the command with")

// readBrief reads it. What follows on the line are bytes.
func readBrief(brief any) (*bufio.Reader, error) {
	line := bufio.NewReader(inheritedPipe())
	text, err := line.ReadBytes('\n')
	if err != nil || json.Unmarshal(text, brief) != nil {
		return nil, errNotBriefed
	}
	return line, nil
}

// bytesOf gives each byte, and is closed at the end.
func bytesOf(line io.ByteReader) <-chan byte {
	c := make(chan byte)
	go func() {
		defer close(c)
		for {
			b, err := line.ReadByte()
			if err != nil {
				return
			}
			c <- b
		}
	}()
	return c
}
