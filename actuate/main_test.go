//go:build linux

package actuate

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// envPart says which part a re-execution of the test binary plays.
const envPart = "ACTUATE_TEST_PART"

// patience bounds every wait of a test; none comes near it when all is well.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	switch os.Getenv(envPart) {
	case "":
		goleak.VerifyTestMain(m)
	case "controller":
		playController()
	case "blocked":
		// Executes a controller with SIGTERM and SIGUSR1 blocked, as a careless
		// parent would, and with signal 32 ignored, as make(1) does.
		ignore := [8]uint64{1}
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, 32, uintptr(unsafe.Pointer(&ignore)), 0, 8, 0, 0)
		var set unix.Sigset_t
		set.Val[0] = 1<<(unix.SIGTERM-1) | 1<<(unix.SIGUSR1-1)
		_ = unix.PthreadSigmask(unix.SIG_SETMASK, &set, nil)
		_ = os.Setenv(envPart, "controller")
		fatal(syscall.Exec(os.Args[0], os.Args[:1], os.Environ()))
	case "guard":
		b, err := ParseBrief(os.Args[2:])
		if err == nil {
			_, _, err = b.AwaitEnd()
		}
		if err != nil {
			fatal(err)
		}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		select {}
	default:
		fatal(fmt.Errorf("unknown part %q", os.Getenv(envPart)))
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// newActuator makes one whose children inherit PATH and nothing else.
func newActuator(t testing.TB, change ...func(*Options)) *Actuator {
	t.Helper()
	o := Options{
		Owner: "test", UID: os.Getuid(), StateDir: t.TempDir(), Home: "/nonexistent",
		Environ: []string{"PATH=" + os.Getenv("PATH")}, Scopes: scope.Off, Log: logr.Discard(),
	}
	for _, c := range change {
		c(&o)
	}
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// entry is a workload that runs a command in a directory of its own.
func entry(t testing.TB, command ...string) *spec.Entry {
	t.Helper()
	o := &spec.Object{APIVersion: spec.APIVersion, Kind: spec.KindMCPServer, Metadata: spec.Metadata{Name: "work"}}
	o.Spec = spec.Defaulted(spec.Spec{Command: command})
	return &spec.Entry{Key: o.Key(), Object: o, Hash: "abc123", Dir: t.TempDir()}
}

func shell(t testing.TB, script string) *spec.Entry { return entry(t, "/bin/sh", "-c", script) }

// mustStart starts an entry and sees to it that its group is gone at the end.
func mustStart(t testing.TB, a *Actuator, e *spec.Entry) *observe.Instance {
	t.Helper()
	in, err := a.Start(e, newToken(), nil)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() {
		if _, err := a.Signal(in, int(unix.SIGKILL), spec.KillTree); err != nil {
			t.Errorf("cannot clean up: %v", err)
		}
		a.Forget(in)
	})
	return in
}

var tokens atomic.Int64

func newToken() string { return fmt.Sprintf("t%d", tokens.Add(1)) }

// nextExit waits for the end of one process; ends of others are passed over.
func nextExit(t testing.TB, a *Actuator, id observe.Ident) observe.Exit {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case x := <-a.Exits():
			if x.Ident == id {
				return x
			}
		case <-timeout:
			t.Fatalf("no end of %v was reported", id)
		}
	}
}

// eventually waits until a condition of the world holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for !cond() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("still not so: %s", what)
		}
	}
}

// output waits until the output of an instance ends with a whole line, and
// gives it.
func output(t testing.TB, in *observe.Instance) string {
	t.Helper()
	return outputIn(t, in.Log)
}

func outputIn(t testing.TB, path string) string {
	t.Helper()
	var text string
	eventually(t, "output in "+path, func() bool {
		b, _ := os.ReadFile(path)
		text = string(b)
		return strings.HasSuffix(text, "\n")
	})
	return text
}

// state is the letter of proc_pid_stat(5), or 0 for a pid that nobody has.
func state(pid int) byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')'):]), " ")
	return rest[0]
}

func dead(pid int) bool { s := state(pid); return s == 0 || s == 'Z' || s == 'X' }

// endByPID ends a process that a test has started, and waits for its end.
func endByPID(t testing.TB, id observe.Ident) {
	t.Helper()
	fd, err := openPidfd(id.PID)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if sameProcess(fd, id) != nil {
		return
	}
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := awaitEnd(ctx, fd); err != nil {
		t.Errorf("%v does not end: %v", id, err)
	}
}
