package observe

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

// roleVar says what part the test binary plays when it runs as a child.
const roleVar = "OBSERVE_TEST_ROLE"

// quickExit keeps the race detector from sleeping for a second at each exit.
const quickExit = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		play(role)
		return
	}
	goleak.VerifyTestMain(m)
}

// play is the life of a child: it says what it has started, and ends when its
// input does. Its input is the same pipe for all of its own children.
func play(role string) {
	role, rest, _ := strings.Cut(role, " ")
	switch role {
	case "spawn": // what it starts plays the rest, in its own session if told so
		role, rest, _ = strings.Cut(rest, " ")
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), roleVar+"="+rest)
		if strings.Contains(role, "bare") {
			cmd.Env = []string{roleVar + "=" + rest, quickExit}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: strings.Contains(role, "session")}
		if strings.Contains(role, "namespace") {
			cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWPID
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("started", cmd.Process.Pid)
		if strings.Contains(role, "leave") {
			os.Exit(0)
		}
		_ = cmd.Wait()
		return
	case "exit":
		code, _ := strconv.Atoi(rest)
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(code)
	case "listen":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		defer l.Close()
		fmt.Println("started", l.Addr().(*net.TCPAddr).Port)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// child is a process that a test has started.
type child struct {
	t       *testing.T
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	started []int // what it told
	stopped bool
}

// start starts the test binary in a role, with exactly the given environment,
// as the leader of a session, and waits until the last of the chain is ready.
func start(t *testing.T, role string, env []string, change ...func(*exec.Cmd)) *child {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append([]string{roleVar + "=" + role, quickExit}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = os.Stderr
	for _, f := range change {
		f(cmd)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: cmd, stdin: stdin}
	t.Cleanup(c.stop)
	lines, ready := bufio.NewScanner(stdout), false
	expected := strings.Count(role, "spawn") + strings.Count(role, "listen")
	for !(ready && len(c.started) == expected) && lines.Scan() {
		word, value, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "started":
			n, _ := strconv.Atoi(value)
			c.started = append(c.started, n)
		case "ready":
			ready = true
		default:
			t.Fatalf("child says %q", lines.Text())
		}
	}
	if !ready {
		t.Fatalf("child of role %q ended before it was ready", role)
	}
	return c
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// stop ends the child and all that it has started, by closing their input.
func (c *child) stop() {
	if c.stopped {
		return
	}
	c.stopped = true
	_ = c.stdin.Close()
	for _, pid := range append([]int{c.pid()}, c.started...) {
		awaitEnd(c.t, pid)
	}
	_ = c.cmd.Wait()
}

// awaitEnd waits until a process has ended, whoever reaps it: its children have
// been handed to another parent then.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // gone
	}
	defer unix.Close(fd)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 1000); n == 1 {
			return
		}
	}
	t.Errorf("pid %d has not ended after 20 s", pid)
}

const testOwner = spec.Owner("observe-test-1234abcd")

var testKey = spec.Key{Kind: spec.KindAgent, Name: "worker"}

// spawn starts the test binary in a role as the main process of a new instance: with
// its markers, and a start tick that goes with its name. On a busy machine that can
// take more than one try.
func spawn(t *testing.T, role string, change ...func(*exec.Cmd)) (spec.Instance, *child) {
	t.Helper()
	for range 50 {
		id, env := marked(t)
		c := start(t, role, env, change...)
		if tick, _ := id.Tick(); identOf(t, c.pid()).Start-tick <= maxStartTicks {
			return id, c
		}
		c.stop()
	}
	t.Fatal("no process began within two ticks of its name")
	return "", nil
}

// marked is the environment of an instance that is spawned now.
func marked(t *testing.T) (spec.Instance, []string) {
	id := spec.NewInstance(token(t), BootTick())
	return id, markers(testKey, testOwner, id)
}

func token(t *testing.T) string {
	sum := uint64(14695981039346656037)
	for _, c := range t.Name() + strconv.Itoa(int(time.Now().UnixNano())) {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	return "t" + strconv.FormatUint(sum, 36)
}

func markers(k spec.Key, owner spec.Owner, id spec.Instance) []string {
	name := spec.EnvAgentName
	if k.Kind == spec.KindMCPServer {
		name = spec.EnvMCPService
	}
	return []string{
		spec.EnvSubprocess + "=1", spec.EnvOwner + "=" + string(owner), spec.EnvInstance + "=" + string(id),
		spec.EnvSpec + "=0123456789abcdef", spec.EnvOnExit + "=Stop", name + "=" + k.Name,
	}
}

func newScanner(t *testing.T) *Scanner {
	t.Helper()
	s, err := NewScanner(ScannerOptions{Owner: testOwner, UID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// scan scans and fails the test on an error.
func scan(t *testing.T, s *Scanner, depth Depth, known ...Witness) Snapshot {
	t.Helper()
	snap := s.Scan(t.Context(), known, depth)
	if snap.Err != nil || !snap.Complete {
		t.Fatalf("scan: complete %v, error %v", snap.Complete, snap.Err)
	}
	return snap
}

// only gives the instance of the test's key, which must be the only one.
func only(t *testing.T, s Snapshot) *Instance {
	t.Helper()
	all := s.InstancesOf(testKey)
	if len(all) != 1 {
		t.Fatalf("%d instances of %v, want 1; others: %+v", len(all), testKey, s.Others)
	}
	return all[0]
}

func byPID(list []*Process, pid int) *Process {
	for _, p := range list {
		if p.PID == pid {
			return p
		}
	}
	return nil
}
