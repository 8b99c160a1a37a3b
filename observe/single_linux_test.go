package observe

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

func TestConfirm(t *testing.T) {
	id, c := spawn(t, "spawn plain spawn bare sleep")
	main := identOf(t, c.pid())
	plain, bare := identOf(t, c.started[0]), identOf(t, c.started[1])
	claim := Claim{Owner: testOwner, UID: os.Geteuid(), Key: testKey, Instance: id, Main: main}
	with := func(change func(*Claim)) Claim {
		other := claim
		change(&other)
		return other
	}
	stranger := start(t, "sleep", nil)
	tests := map[string]struct {
		id    Ident
		claim Claim
		want  Verdict
	}{
		"main":                     {main, claim, Ours},
		"main by handle":           {main, with(func(c *Claim) { c.Handle = true }), Ours},
		"main, verified before":    {main, with(func(c *Claim) { c.Verified = true }), Ours},
		"marked descendant":        {plain, claim, Ours},
		"cleared, in the session":  {bare, claim, Ours},
		"cleared, verified before": {bare, with(func(c *Claim) { c.Main, c.Verified = Ident{}, true }), Ours},
		"cleared, no main known":   {bare, with(func(c *Claim) { c.Main = Ident{} }), CannotTell},
		"another start tick":       {Ident{main.PID, main.Start + 1}, claim, NotOurs},
		"another owner":            {plain, with(func(c *Claim) { c.Owner = "else" }), NotOurs},
		"another instance":         {plain, with(func(c *Claim) { c.Instance, c.Main = "z-1", Ident{} }), NotOurs},
		"another workload":         {plain, with(func(c *Claim) { c.Key.Name = "else" }), CannotTell},
		"another user":             {plain, with(func(c *Claim) { c.UID, c.Main = 4711, Ident{} }), NotOurs},
		"a stranger":               {identOf(t, stranger.pid()), claim, CannotTell},
		"pid 1":                    {Ident{1, 0}, claim, NotOurs},
		"a negative pid":           {Ident{-main.PID, main.Start}, claim, NotOurs},
		"beyond int32":             {Ident{1<<32 + main.PID, main.Start}, claim, NotOurs},
	}
	for name, tt := range tests {
		got, words := Confirm(tt.id, tt.claim)
		if got != tt.want || len(words) == 0 {
			t.Errorf("%s: %v, because %q; want %v", name, got, words, tt.want)
		}
	}
	c.stop()
	if got, words := Confirm(main, claim); got != NotOurs {
		t.Errorf("after its end: %v, because %q", got, words)
	}
}

func TestVerify(t *testing.T) {
	c := start(t, "exit 0", nil)
	id := identOf(t, c.pid())
	if err := Verify(id); err != nil {
		t.Errorf("a process that lives: %v", err)
	}
	for _, other := range []Ident{{id.PID, id.Start + 1}, {0, 0}, {1, 0}, {-1, 0}, {1 << 40, 0}} {
		if err := Verify(other); !errors.Is(err, ErrGone) {
			t.Errorf("%v: %v", other, err)
		}
	}
	_ = c.stdin.Close()
	awaitEnd(t, id.PID)
	if err := Verify(id); !errors.Is(err, ErrGone) {
		t.Errorf("a zombie: %v", err)
	}
}

func TestExitStatus(t *testing.T) {
	tests := map[string]struct {
		end          func(*testing.T, *child)
		code, signal int
	}{
		"exit":   {func(t *testing.T, c *child) { _ = c.stdin.Close() }, 7, 0},
		"signal": {func(t *testing.T, c *child) { kill(t, c.pid()) }, -1, int(unix.SIGKILL)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := start(t, "exit 7", nil)
			id := identOf(t, c.pid())
			fd, err := unix.PidfdOpen(c.pid(), 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fd)
			if e, err := ExitStatus(fd, id); err == nil {
				t.Errorf("status of a process that lives: %+v", e)
			}
			tt.end(t, c)
			awaitEnd(t, id.PID)
			check := func(when string) {
				e, err := ExitStatus(fd, id)
				if err != nil || !e.Known || e.Code != tt.code || e.Signal != tt.signal || e.Ident != id || e.Message != "" {
					t.Errorf("%s: %+v, %v", when, e, err)
				}
			}
			check("zombie")
			_ = c.cmd.Wait()
			info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
			if err := unix.IoctlPidfdInfo(fd, &info); err != nil || info.Mask&unix.PIDFD_INFO_EXIT == 0 {
				t.Skip("this kernel does not keep exit statuses (needs Linux 6.15)")
			}
			check("reaped")
		})
	}
}

func TestReadProcess(t *testing.T) {
	id, c := spawn(t, "sleep")
	p, err := ReadProcess(c.pid())
	if err != nil {
		t.Fatal(err)
	}
	if p.PID != c.pid() || p.PPID != os.Getpid() || p.SID != p.PID || p.Markers.Instance != id || p.Key != testKey {
		t.Errorf("process: %+v", p)
	}
	for _, pid := range []int{-1, 0, 1, 1 << 30, 1 << 40} {
		if _, err := ReadProcess(pid); !errors.Is(err, ErrGone) {
			t.Errorf("pid %d: %v", pid, err)
		}
	}
}

func TestClock(t *testing.T) {
	before := BootTick()
	c := start(t, "sleep", nil)
	id := identOf(t, c.pid())
	if after := BootTick(); id.Start < before || id.Start > after {
		t.Errorf("a process started at tick %d, between %d and %d", id.Start, before, after)
	}
	if age := time.Since(WallTime(id.Start)); age < -time.Second || age > time.Minute {
		t.Errorf("a process that was started now is %v old", age)
	}
	if BootID() == "" {
		t.Errorf("boot id %q", BootID())
	}
	if !IdentitySupported() {
		t.Error("identity is not supported here")
	}
}

func TestListeners(t *testing.T) {
	c := start(t, "listen", nil)
	other := start(t, "listen", nil)
	s := newScanner(t)
	port, otherPort := uint16(c.started[0]), uint16(other.started[0])
	c.started, other.started = nil, nil
	found, err := s.Listeners([]uint16{port, otherPort, 1}, []Ident{identOf(t, c.pid())})
	if err != nil || len(found) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	for p, holder := range map[uint16]*child{port: c, otherPort: other} {
		li := found[p]
		want := []Ident{identOf(t, holder.pid())}
		if !slices.Equal(li.Holders, want) || li.Addr != "127.0.0.1" || li.UID != uint32(os.Geteuid()) || li.Command == "" || li.Port != p {
			t.Errorf("port %d: %+v, want holder %v", p, li, want)
		}
	}
	c.stop()
	found, err = s.Listeners([]uint16{port}, nil)
	if err != nil || len(found) != 0 {
		t.Errorf("after its end: %+v, %v", found, err)
	}
}

// A child has the sockets of its parent open until it executes its program, and
// may have the lower pid: the parent is the holder that is named.
func TestListenersNameTheOldestHolder(t *testing.T) {
	root := fakeProc(t)
	files := map[string]string{
		"self/net/tcp": "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
			"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  4123456789        0 77 1 0 100 0 0 10 0\n",
		"2001/stat": "2001 (child) S 2002 2001 2001 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9000 0\n",
		"2002/stat": "2002 (server) S 1 2002 2002 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5000 0\n",
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, pid := range []string{"2001", "2002"} {
		fd := filepath.Join(root, pid, "fd", "3")
		if err := errors.Join(os.Mkdir(filepath.Dir(fd), 0o755), os.Symlink("socket:[77]", fd)); err != nil {
			t.Fatal(err)
		}
	}
	s := newScanner(t)
	s.table.root = root
	found, err := s.Listeners([]uint16{8080}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Listener{
		Port: 8080, Listening: true, Addr: "127.0.0.1", UID: 4123456789, User: "4123456789", Command: "server",
		Holders: []Ident{{PID: 2002, Start: 5000}, {PID: 2001, Start: 9000}},
	}
	if diff := cmp.Diff(want, found[8080]); diff != "" {
		t.Error(diff)
	}
}

func TestOwnerAlive(t *testing.T) {
	owner := spec.Owner(fmt.Sprint("observe-test-", os.Getpid()))
	if pid, alive, known := OwnerAlive(os.Geteuid(), owner); pid != 0 || alive || !known {
		t.Errorf("nobody listens: %d, %v, %v", pid, alive, known)
	}
	l, err := net.Listen("unix", "@"+spec.LockAddress(os.Geteuid(), owner)[1:])
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if pid, alive, known := OwnerAlive(os.Geteuid(), owner); pid != os.Getpid() || !alive || !known {
		t.Errorf("we listen: %d, %v, %v", pid, alive, known)
	}
	guard, err := net.Listen("unix", "@"+spec.LockAddress(os.Geteuid(), owner+"-guard")[1:])
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close()
	go func() {
		if conn, err := guard.Accept(); err == nil {
			fmt.Fprintln(conn, "reaping 3 processes")
			conn.Close()
		}
	}()
	if pid, alive, known := OwnerAlive(os.Geteuid(), owner+"-guard"); pid != 0 || alive || !known {
		t.Errorf("the guard of a dead controller listens: %d, %v, %v", pid, alive, known)
	}
	squatted, err := net.Listen("unix", "@"+spec.LockAddress(os.Geteuid()+1, owner)[1:])
	if err != nil {
		t.Fatal(err)
	}
	defer squatted.Close()
	if pid, alive, known := OwnerAlive(os.Geteuid()+1, owner); pid != 0 || alive || known {
		t.Errorf("another user listens: %d, %v, %v", pid, alive, known)
	}
}

func TestScanAll(t *testing.T) {
	id, c := spawn(t, "spawn bare sleep")
	other := start(t, "sleep", markers(testKey, "observe-other-owner", spec.NewInstance("o", BootTick())))
	fake := start(t, "sleep", []string{spec.EnvSubprocess + "=1"})
	all, err := ScanAll(t.Context(), Viewpoint{UID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[int]Seen)
	for _, p := range all {
		if _, twice := seen[p.PID]; twice {
			t.Errorf("pid %d twice", p.PID)
		}
		seen[p.PID] = p
	}
	type told struct {
		owner   spec.Owner
		verdict Verdict
		role    Role
	}
	want := map[int]told{
		c.pid(): {testOwner, Ours, Main}, c.started[0]: {testOwner, Ours, Descendant},
		other.pid(): {"observe-other-owner", Ours, Main}, fake.pid(): {"", NotOurs, NoRole},
	}
	for pid, w := range want {
		p := seen[pid]
		if p.Process == nil || (told{p.Owner, p.Verdict, p.Role}) != w {
			t.Errorf("pid %d: %+v, want %+v", pid, p, w)
		}
	}
	if p := seen[c.pid()]; p.Process != nil && p.Instance != id {
		t.Errorf("instance %v, want %v", p.Instance, id)
	}
}

// TestHiddenTable runs a scan of its own below a /proc that hides processes.
func TestHiddenTable(t *testing.T) {
	if os.Getenv("OBSERVE_TEST_HIDDEN") != "" {
		s := newScanner(t)
		snap := s.Scan(t.Context(), nil, Full)
		if !errors.Is(snap.Err, ErrHidden) || snap.Complete {
			t.Errorf("a scan of a table that hides processes: complete %v, error %v", snap.Complete, snap.Err)
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a /proc that hides processes")
	}
	self := copyOfSelf(t)
	script := `mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$0" -test.run '^TestHiddenTable$' -test.v`
	cmd := exec.Command("unshare", "-m", "sh", "-c", script, self)
	cmd.Env = append(os.Environ(), "OBSERVE_TEST_HIDDEN=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestHiddenTable") {
		t.Errorf("%v\n%s", err, out)
	}
}
