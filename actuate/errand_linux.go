package actuate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// An errand is a command that is run for an instance beside its program: an exec
// probe, or a hook.
//
// It carries the markers of the instance. So whatever it starts is a member of
// that, however it detaches itself: it is seen, it is stopped with the rest, and
// should the controller be killed meanwhile, the guard or the next controller
// finds it. It is a child of ours with a session of its own, never in the
// instance's scope: a frozen or throttled cgroup would hold up the thread that
// forks, and all starts with it.
type errand struct {
	*Actuator
	command
	leader observe.Ident // main process of the instance
	cancel context.CancelCauseFunc
}

// Bounds of the output of an errand, in bytes: what is kept of it, and after how
// much it is ended.
const (
	errandTail      = 4 << 10
	maxErrandOutput = 16 << 20
	maxErrandName   = 100 // of the command line that an error quotes
)

// errFlood ends an errand that writes without end.
var errFlood = fmt.Errorf("it wrote more than %d MiB", maxErrandOutput>>20)

// RunErrand runs a command for an instance, with the environment, the directory
// and the user of its workload, and waits for its end. When ctx or the main
// process ends first, it is killed; its process group is killed in any case, so
// that nothing of it stays there. Nil is exit code 0. The error is one line that
// says what else it was, with the last line of the output.
//
// Many may run at a time. They share the instance's fate: see Pause and Close.
func (a *Actuator) RunErrand(ctx context.Context, e *spec.Entry, in *observe.Instance, argv []string) error {
	name := "exec " + observe.Printable(strings.Join(argv, " "), maxErrandName)
	x := &errand{Actuator: a}
	var err error
	if a.atDesk(func() { err = x.prepare(e, in, argv) }); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	allowed := observe.Allowed(ctx)
	ctx, x.cancel = context.WithCancelCause(ctx)
	defer x.cancel(nil)
	if err := a.reaper.attend(x); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer a.reaper.errands.Done(x)
	line, err := x.run(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no end within %v", allowed)
	}
	if err != nil && line != "" {
		line = ": " + line
	}
	if err != nil {
		return fmt.Errorf("%s: %w%s", name, err, line)
	}
	return nil
}

// prepare resolves the command. The markers are those that the instance was
// started with, whatever its manifest says by now.
func (x *errand) prepare(e *spec.Entry, in *observe.Instance, argv []string) (err error) {
	if in.Main == nil {
		return ErrGone
	}
	x.leader = leaderOf(in)
	m := spec.MarkersFor(e.Object, x.opts.Owner, in.ID, in.Hash, in.Ports)
	m.OnExit = in.OnExit
	if x.command, err = x.surroundingsOf(e, m); err != nil {
		return err
	}
	if x.otherUID() != in.UID {
		return errors.New("refused: the instance was started as another user than its manifest names now")
	}
	line := spec.Object{Spec: spec.Spec{Command: argv}}
	return x.resolve(&x.command, e, spec.Argv(&line, x.env))
}

// otherUID is the user that the errand runs as; 0 for the controller's own.
func (x *errand) otherUID() uint32 {
	if x.account == nil || x.account.UID == uint32(x.opts.UID) {
		return 0
	}
	return x.account.UID
}

// attend notes an errand whose main process lives.
func (r *reaper) attend(x *errand) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.byIdent[x.leader]; h != nil && h.ended {
		return ErrGone
	}
	if !r.errands.Begin(x) {
		return errors.New("given up: the controller is about to end, or to be replaced")
	}
	return nil
}

func (a *Actuator) endErrands() { a.reaper.errands.Halt() }

// run forks, waits, and kills what is left.
func (x *errand) run(ctx context.Context) (lastLine string, err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer read.Close()
	c, err := x.spawner.Start(&launch{
		path: x.program, argv: x.argv, env: x.env, dir: x.dir, credential: x.credential(),
		input: int(x.null.Fd()), output: int(write.Fd()), death: unix.SIGKILL, cgroup: -1,
	}, x.reaper.expect)
	write.Close()
	if err != nil {
		return "", fmt.Errorf("cannot run %s: %w", x.program, err)
	}
	defer unix.Close(c.fd)
	var out tail
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		if out.readAll(read) {
			x.cancel(errFlood)
		}
	}()
	waited := awaitEnd(ctx, c.fd)
	killChild(c)
	code, signal := x.reaper.reapStatus(c)
	// What the command has written is there; who else holds the pipe is not
	// waited for.
	_ = read.SetReadDeadline(time.Now().Add(drainWithin))
	<-drained
	switch lastLine = observe.LastLine(out.kept, maxLastLine); {
	case waited != nil && ctx.Err() != nil:
		return lastLine, context.Cause(ctx)
	case waited != nil:
		return lastLine, waited
	case signal != 0:
		return lastLine, fmt.Errorf("ended by %s", spec.SignalName(signal))
	case code != 0:
		return lastLine, fmt.Errorf("exit code %d", code)
	}
	return "", nil
}

// drainWithin is how long the output of an errand is read after its end.
const drainWithin = 20 * time.Millisecond

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

// readAll reads until the end, and says whether that was too far to go.
func (t *tail) readAll(r io.Reader) (flooded bool) {
	buf := make([]byte, 32<<10)
	for total := 0; total <= maxErrandOutput; {
		n, err := r.Read(buf)
		total += n
		t.kept = append(t.kept, buf[:n]...)
		t.kept = append(t.kept[:0], t.kept[max(0, len(t.kept)-errandTail):]...)
		if err != nil {
			return false
		}
	}
	return true
}
