package lock

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

// The test binary runs itself as the other process: holding the lock as a
// controller would, or sitting on its address as anybody can.
const (
	envRole  = "LOCK_TEST_ROLE"
	envOwner = "LOCK_TEST_OWNER"
	envState = "LOCK_TEST_STATE"
)

func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "":
		goleak.VerifyTestMain(m)
	case "hold":
		_, err := Acquire(Options{UID: os.Getuid(), Owner: spec.Owner(os.Getenv(envOwner)), State: os.Getenv(envState), Log: logr.Discard()})
		untilTold(err)
	case "listen": // on the socket that is passed
		untilTold(unix.Listen(3, 8))
	case "squat":
		_, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: spec.LockAddress(0, spec.Owner(os.Getenv(envOwner)))})
		untilTold(err)
	}
}

// untilTold says what happened and stays until its input is closed.
func untilTold(err error) {
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("ready\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// start runs the test binary in a role until the end of the test.
func start(t *testing.T, role string, o Options, attr *syscall.SysProcAttr, passed ...*os.File) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), envRole+"="+role, envOwner+"="+string(o.Owner), envState+"="+o.State)
	cmd.SysProcAttr, cmd.ExtraFiles = attr, passed
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return cmd
}

// options are those of the user that the test runs as, for an owner that
// nobody else has.
func options(t *testing.T) Options {
	return Options{
		UID:       os.Getuid(),
		Owner:     spec.Owner("lock-test-" + strings.ToLower(t.Name()) + "-" + t.TempDir()),
		Manifests: t.TempDir(),
		State:     t.TempDir(),
		Log:       logr.Discard(),
	}
}

func needRoot(t *testing.T, why string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: " + why)
	}
}

func acquire(t *testing.T, o Options) {
	t.Helper()
	l, err := Acquire(o)
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	t.Cleanup(l.Release)
}

func heldBy(t *testing.T, o Options) *HeldError {
	t.Helper()
	l, err := Acquire(o)
	held := (*HeldError)(nil)
	if !errors.As(err, &held) {
		if l != nil {
			l.Release()
		}
		t.Fatalf("Acquire gives %v, want a HeldError", err)
	}
	return held
}

func TestSecondControllerNamesTheFirst(t *testing.T) {
	o := options(t)
	first := start(t, "hold", o, nil)
	held := heldBy(t, o)
	if held.PID != first.Process.Pid {
		t.Errorf("holder is pid %d, want %d", held.PID, first.Process.Pid)
	}
	if !strings.HasPrefix(held.Error(), "another controller (pid ") || !strings.HasSuffix(held.Error(), ") runs for this directory") {
		t.Errorf("message %q", held)
	}
	other := options(t)
	other.Owner += "-other"
	acquire(t, other) // another owner is not concerned
}

func TestKilledHolderFreesAtOnce(t *testing.T) {
	o := options(t)
	first := start(t, "hold", o, nil)
	heldBy(t, o)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	acquire(t, o)
}

func TestReleaseFrees(t *testing.T) {
	o := options(t)
	for range 3 {
		l, err := Acquire(o)
		if err != nil {
			t.Fatal(err)
		}
		if held := heldBy(t, o); held.PID != os.Getpid() {
			t.Errorf("holder is pid %d, want this one, %d", held.PID, os.Getpid())
		}
		l.Release()
		l.Release()
	}
}

func TestSquatterOfAnotherUserKeepsNobodyOut(t *testing.T) {
	needRoot(t, "the squatter runs as another user")
	o := options(t)
	var log strings.Builder
	o.Log = funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{})
	start(t, "squat", o, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}})
	acquire(t, o)
	if !strings.Contains(log.String(), "falling back to a file lock") {
		t.Errorf("nothing said of the squatter: %q", log.String())
	}
	o.State = "" // so that the manifest directory alone is what is held
	if held := heldBy(t, o); held.PID != os.Getpid() || held.What != thisDirectory {
		t.Errorf("held by pid %d for %s, want %d for %s", held.PID, held.What, os.Getpid(), thisDirectory)
	}
}

func TestControllerInAnotherNetworkNamespaceIsSeen(t *testing.T) {
	needRoot(t, "makes a network namespace")
	o := options(t)
	first := start(t, "hold", o, &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET})
	if held := heldBy(t, o); held.PID != first.Process.Pid || held.What != o.State {
		t.Errorf("held by pid %d for %s, want %d for %s", held.PID, held.What, first.Process.Pid, o.State)
	}
}

// socket makes a stream socket with the lock's address.
func socket(t *testing.T, o Options, kind int) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: spec.LockAddress(o.UID, o.Owner)}); err != nil {
		t.Fatal(err)
	}
	return fd
}

func TestFullQueueMeansAlive(t *testing.T) {
	o := options(t)
	fd := socket(t, o, unix.SOCK_STREAM)
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for range 10 { // a queue of 0 takes one
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: spec.LockAddress(o.UID, o.Owner)})
		if err != nil {
			break
		}
		t.Cleanup(func() { conn.Close() })
	}
	if held := heldBy(t, o); held.PID != 0 || held.Error() != "another controller runs for this directory" {
		t.Errorf("held by pid %d: %q", held.PID, held)
	}
}

func TestAddressWithoutListenerKeepsNobodyOut(t *testing.T) {
	for name, kind := range map[string]int{"never listens": unix.SOCK_STREAM, "datagrams": unix.SOCK_DGRAM} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			socket(t, o, kind)
			acquire(t, o)
			heldBy(t, o)
		})
	}
}

func TestMissingDirectoriesKeepNobodyOut(t *testing.T) {
	o := options(t)
	o.Manifests, o.State = "/nonexistent/manifests", "/nonexistent/state"
	acquire(t, o)
	if held := heldBy(t, o); held.PID != os.Getpid() {
		t.Errorf("holder is pid %d", held.PID)
	}
}

func TestParseLocks(t *testing.T) {
	const sample = `1: POSIX  ADVISORY  WRITE 100 08:01:7 0 EOF
2: FLOCK  ADVISORY  WRITE 200 08:01:8 0 EOF
3: FLOCK  ADVISORY  WRITE 300 08:01:7 0 EOF
3: -> FLOCK  ADVISORY  WRITE 400 08:01:9 0 EOF
4: FLOCK  ADVISORY  WRITE -1 fe:10:7 0 EOF
`
	for _, c := range []struct {
		major, minor uint32
		inode        uint64
		want         int
	}{
		{8, 1, 7, 300}, {8, 1, 8, 200}, {8, 1, 9, 0}, {0xfe, 0x10, 7, 0}, {1, 1, 1, 0},
	} {
		if got := parseLocks(sample, c.major, c.minor, c.inode); got != c.want {
			t.Errorf("holder of %d:%d:%d is %d, want %d", c.major, c.minor, c.inode, got, c.want)
		}
	}
}
