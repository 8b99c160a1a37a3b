package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/proc-controller/proc-controller/actuate"
	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// keeper runs one set and one command, and leaves nothing of either.
type keeper struct {
	std    streams
	brief  withBrief
	foster *actuate.Foster
	dir    string // private
	place  place
	client *api.Client

	// told are the signals that the front was sent; closed when it is dead.
	told <-chan byte
	// own are the keyboard's signals as far as we got them, too.
	own chan os.Signal

	controller *exec.Cmd
	line       *os.File      // a byte ends the controller, a second one kills
	ended      chan struct{} // closed once the controller has ended
	ending     bool          // the controller was told to
}

// withKeeper is the life of a keeper.
func withKeeper(std streams) error {
	k := &keeper{std: std, own: make(chan os.Signal, 16), ended: make(chan struct{})}
	signal.Notify(k.own, withSignals()...)
	// Caught, and for nobody: a reader of our output who has gone ends nothing.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	var line *bufio.Reader
	var err error
	if line, err = readBrief(&k.brief); err != nil {
		return err
	}
	joinGroup(k.brief.Group) // what it is sent is caught by now
	k.told = bytesOf(line)
	if k.foster, err = actuate.NewFoster(); err != nil {
		return err
	}
	defer k.foster.Close()
	if k.dir, err = makeWithDir(k.brief.Owner); err != nil {
		return err
	}
	defer os.RemoveAll(k.dir)
	return k.run()
}

// run is the whole of it: set, command, end, and what is left.
func (k *keeper) run() error {
	if err := k.startController(); err != nil {
		std := fmt.Errorf("cannot start the set: %w", err)
		k.std.say(std)
		return endedWith(exitNotReady)
	}
	code := k.underSet()
	k.stopController()
	if left := k.clear(); left > 0 && code != exitNotReady {
		return endedWith(exitLeak)
	}
	if code == exitDone {
		return nil
	}
	return endedWith(code)
}

// underSet runs the command once the set is there, and gives the exit code.
func (k *keeper) underSet() int {
	objects, code := k.awaitReady()
	if code != exitDone {
		return code
	}
	env, err := k.environ(objects)
	if err != nil {
		k.std.say(err)
		return exitNotReady
	}
	return k.command(env)
}

// startController starts the controller of the set, in a session of its own: the
// keys of the terminal are not for it.
func (k *keeper) startController() error {
	at := withPlaceFlags(k.dir, k.brief.Owner)
	linked, err := linkManifests(at.manifests, k.brief.Manifests)
	if err != nil {
		return err
	}
	if k.place, err = at.locate(thisHost()); err != nil {
		return err
	}
	k.client = api.NewClient(at.socket)
	if k.controller, err = ownProgram(withControllerVerb, k.brief.Owner); err != nil {
		return err
	}
	log, err := os.OpenFile(k.logPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	k.controller.Stderr = log
	if k.brief.Verbose {
		k.controller.Stderr = k.std.err
	}
	start := func() error { return k.foster.Start(k.controller, actuate.Apart) }
	k.line, err = briefed(k.controller, start, withControllerBrief{
		Owner: k.brief.Owner, Dir: k.dir, Linked: linked, Scopes: k.brief.Scopes,
		TrustUIDs: k.brief.TrustUIDs, Verbose: k.brief.Verbose,
	})
	if err != nil {
		return err
	}
	go func() {
		_ = k.foster.Wait(k.controller)
		close(k.ended)
	}()
	return nil
}

func (k *keeper) logPath() string { return filepath.Join(k.dir, "controller.log") }

// hurry ends the controller, or where it is ending has it kill what is left.
func (k *keeper) hurry() {
	k.ending = true
	_, _ = k.line.Write([]byte{0}) // it may have ended by itself
}

// stopController stops the set. A signal meanwhile kills what is still there.
func (k *keeper) stopController() {
	if !k.ending {
		k.hurry()
	}
	for told := k.told; ; {
		select {
		case <-k.ended:
			k.line.Close()
			return
		case _, more := <-told:
			if !more {
				told = nil // the front is dead; what is under way goes on
				continue
			}
			k.hurry()
		}
	}
}

// environ is the environment of the command.
func (k *keeper) environ(objects []api.Object) ([]string, error) {
	config := filepath.Join(k.dir, "mcp.json")
	content, err := mcpConfigOf(objects)
	if err == nil {
		err = os.WriteFile(config, content, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot tell the command where its MCP servers are: %v", err)
	}
	env, notes := withEnviron(objects)
	for _, n := range notes {
		fmt.Fprintln(k.std.err, "note: "+n)
	}
	env = append(env, spec.EnvMCPConfig+"="+config, "PROC_CONTROLLER_SOCKET="+k.place.flags.socket)
	return append(os.Environ(), env...), nil
}

// How long a command that is to end has: after a signal that asks for it, and
// after the death of the front, when nobody is waiting any more.
const (
	commandGrace = 10 * time.Second
	orphanGrace  = 2 * time.Second
)

// command runs the command and gives its exit code. Signals are for the command.
func (k *keeper) command(env []string) int {
	argv := k.brief.Command
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, k.std.in, k.std.out, k.std.err
	if err := k.foster.Start(cmd, actuate.Beside); err != nil {
		k.std.say(fmt.Errorf("cannot run %s: %v", argv[0], cause(err)))
		return exitNotFound
	}
	began := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- k.foster.Wait(cmd) }()
	told := k.told
	var late <-chan time.Time
	for {
		select {
		case err := <-ended:
			return codeOf(err)
		case n, more := <-told:
			sig, grace := syscall.Signal(n), commandGrace
			if !more {
				told, sig, grace = nil, syscall.SIGTERM, orphanGrace
			}
			// A key that came just before the command began went past it; one that
			// came just after reaches it twice.
			young := time.Since(began) < keyboardLag
			if !k.hadIt(sig) || young {
				_ = cmd.Process.Signal(sig) // it may just have ended
			}
			if late == nil && (sig == syscall.SIGTERM || sig == syscall.SIGHUP) {
				late = time.After(grace)
			}
		case <-late:
			_ = cmd.Process.Kill()
		}
	}
}

// keyboardLag is how much later than the front we may hear of a key.
const keyboardLag = 100 * time.Millisecond

// hadIt says that the command, if it ran, has got a signal already: Ctrl-C and Ctrl-\ reach
// the whole group that is in front of the terminal, and so us, too.
func (k *keeper) hadIt(sig syscall.Signal) bool {
	if sig != syscall.SIGINT && sig != syscall.SIGQUIT {
		return false
	}
	late := time.After(keyboardLag)
	for {
		select {
		case got := <-k.own:
			if got == sig {
				return true
			}
		case <-late:
			return false
		}
	}
}

// codeOf is the exit code that stands for the end of a command.
func codeOf(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return exitDone
	case !errors.As(err, &exit):
		return exitFailed
	case exit.ExitCode() >= 0:
		return exit.ExitCode()
	}
	return exitSignal + signalOf(exit.ProcessState)
}
