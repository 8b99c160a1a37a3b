package scope

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// The test binary runs itself again: under a user manager of its own, and as
// the controller in a delegated cgroup.
const envRole = "SCOPE_TEST_ROLE"

// noManager says why the tests that need a user manager cannot run.
var noManager = "the tests do not run under hack/user-manager"

func TestMain(m *testing.M) {
	switch role := os.Getenv(envRole); role {
	case "":
		if noManager = managerMissing(); noManager == "" {
			os.Exit(underManager())
		}
	case "managed":
		noManager = ""
	default:
		os.Exit(playController(role))
	}
	goleak.VerifyTestMain(m)
}

func managerMissing() string {
	if os.Getuid() != 0 {
		return "needs root: a mount namespace and a cgroup for a user manager"
	}
	for _, program := range []string{"systemd", "systemd-run", "systemctl", "unshare", "setpriv"} {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not installed"
		}
	}
	return ""
}

// underManager runs the tests, and whatever becomes of them, stops the manager.
func underManager() int {
	cmd := exec.Command("../../hack/user-manager", append([]string{"run", "--"}, os.Args...)...)
	cmd.Env = append(os.Environ(), envRole+"=managed")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

// runner runs probes as the spawner does, without its thread.
type runner struct{ ran atomic.Int32 }

func (r *runner) Run(ctx context.Context, argv, env []string, dir string) (int, string, error) {
	r.ran.Add(1)
	var output strings.Builder
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, dir, &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return -1, "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	_ = cmd.Wait()
	if !stop() {
		return -1, output.String(), ctx.Err()
	}
	return cmd.ProcessState.ExitCode(), output.String(), nil
}

const testOwner = spec.Owner("scope_test.1")

var instances atomic.Uint64

// request is one that wants a scope, under another name each time.
func request(t *testing.T, env []string) Request {
	return Request{
		Instance: spec.NewInstance("t"+strconv.Itoa(os.Getpid()), instances.Add(1)),
		Key:      spec.Key{Kind: spec.KindMCPServer, Name: "files"},
		Env:      env, Dir: t.TempDir(), Policy: spec.ScopeAuto,
	}
}

func newScopes(t *testing.T, mode Mode) *Scopes {
	t.Helper()
	s, err := New(Options{Mode: mode, Owner: testOwner, UID: os.Getuid(), Run: &runner{}, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// launch starts a program through the fence. The child is killed and reaped at
// the end of the test, if it is not before.
func launch(t *testing.T, f *Fence, env []string, argv ...string) *exec.Cmd {
	t.Helper()
	argv = f.Wrap(argv)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.SysProcAttr.CgroupFD, cmd.SysProcAttr.UseCgroupFD = f.CgroupFD()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// hangingManager is a runtime directory whose user manager takes connections
// and never answers.
func hangingManager(t *testing.T) (env []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "hang") // short: it becomes a socket address
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Mkdir(filepath.Join(dir, "systemd"), 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(dir, "systemd", "private"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return []string{"XDG_RUNTIME_DIR=" + dir}
}

// managed is the environment of the manager of these tests.
func managed(t *testing.T) (env []string) {
	t.Helper()
	if noManager != "" {
		t.Skip(noManager)
	}
	return []string{"XDG_RUNTIME_DIR=" + os.Getenv("XDG_RUNTIME_DIR"), "PATH=" + os.Getenv("PATH")}
}

// eventually looks every few milliseconds, for ten seconds at most.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for range 5000 {
		if is() {
			return
		}
		<-ticker.C
	}
	t.Fatalf("not so after ten seconds: %s", what)
}

// exists says whether the cgroup of a scope is there.
func (s *Scopes) exists(t *testing.T, sc observe.Scope) bool {
	t.Helper()
	dir, err := s.host.tree.ours(sc.Cgroup)
	if err != nil {
		t.Fatal(err)
	}
	return isFile(filepath.Join(dir, "cgroup.procs"))
}
