package observe

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

func TestScanFindsMainAndDescendants(t *testing.T) {
	id, c := spawn(t, "spawn plain spawn session spawn plain sleep")
	in := only(t, scan(t, newScanner(t), Full))
	if in.ID != id || in.Main == nil || in.Main.PID != c.pid() || in.Main.Role != Main || in.Main.Verdict != Ours {
		t.Fatalf("main process: %+v of %v", in.Main, in.ID)
	}
	if in.Hash != "0123456789abcdef" || in.OnExit != spec.ExitStop || in.LastMain != in.Main.Ident || !in.Child {
		t.Errorf("instance: %+v", in)
	}
	if len(in.Members) != 3 {
		t.Fatalf("%d members, want 3", len(in.Members))
	}
	for _, pid := range c.started {
		p := byPID(in.Members, pid)
		if p == nil || p.Role != Descendant || p.Verdict != Ours || len(p.Evidence) == 0 {
			t.Errorf("descendant %d: %+v", pid, p)
		}
	}
}

func TestScanFindsClearedMembersByWitness(t *testing.T) {
	tests := map[string]struct{ role, evidence string }{
		"in the session":    {"spawn bare sleep", "in the session of the main process"},
		"in its own, alive": {"spawn bare+session sleep", "descends from a verified member"},
		"two below":         {"spawn bare+session spawn session sleep", "descends from a verified member"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, c := spawn(t, tt.role)
			in := only(t, scan(t, newScanner(t), Full))
			if len(in.Members) != len(c.started) {
				t.Fatalf("%d members, want %d", len(in.Members), len(c.started))
			}
			last := byPID(in.Members, c.started[len(c.started)-1])
			if last == nil || last.Verdict != Ours || !slices.Contains(last.Evidence, tt.evidence) {
				t.Errorf("cleared member: %+v", last)
			}
		})
	}
}

func TestScanRemembersOrphanOfClearedEnviron(t *testing.T) {
	_, c := spawn(t, "spawn plain spawn bare+session exit 0")
	s := newScanner(t)
	before := only(t, scan(t, s, Full))
	orphan, parent := c.started[1], c.started[0]
	if byPID(before.Members, orphan) == nil {
		t.Fatalf("the member is not known while its parent lives: %+v", before.Members)
	}
	kill(t, parent)
	awaitEnd(t, parent)
	for _, depth := range []Depth{Look, Resync, Full} {
		p := byPID(only(t, scan(t, s, depth)).Members, orphan)
		if p == nil || p.Verdict != Ours {
			t.Fatalf("depth %d: orphan is not known any more: %+v", depth, p)
		}
	}
}

func TestScanAfterEndOfMain(t *testing.T) {
	_, c := spawn(t, "spawn bare sleep")
	s := newScanner(t)
	s.table.sights.settle = 0 // nothing is read again for being young
	live := only(t, scan(t, s, Full))
	kill(t, c.pid())
	_, _ = c.cmd.Process.Wait()

	left := scan(t, s, Look)
	in := only(t, left)
	if in.Live() || in.EndedAt.IsZero() || in.LastMain != live.LastMain {
		t.Fatalf("ended instance: %+v", in)
	}
	p := byPID(in.Members, c.started[0])
	if p == nil || p.Verdict != Ours {
		t.Fatalf("the member in the session of the dead main process: %+v, doubtful %+v", p, in.Doubtful)
	}
	again := only(t, scan(t, s, Look))
	if !again.EndedAt.Equal(in.EndedAt) {
		t.Errorf("the end moved from %v to %v", in.EndedAt, again.EndedAt)
	}
	kill(t, c.started[0])
	awaitEnd(t, c.started[0])
	if gone := scan(t, s, Look).InstancesOf(testKey); len(gone) != 0 {
		t.Errorf("a Look still shows %+v of an instance that is gone", gone[0])
	}
}

func TestScanProvesTheEndInOneLook(t *testing.T) {
	_, c := spawn(t, "spawn plain sleep")
	s := newScanner(t)
	s.table.sights.settle = 0
	only(t, scan(t, s, Full))
	for _, pid := range []int{c.pid(), c.started[0]} { // the member may stay a zombie
		kill(t, pid)
		awaitEnd(t, pid)
	}
	_, _ = c.cmd.Process.Wait()
	if left := scan(t, s, Look).InstancesOf(testKey); len(left) != 0 {
		t.Errorf("left: %+v", left[0])
	}
}

func TestScanWithoutMemoryDoubtsSessionOfDeadMain(t *testing.T) {
	id, c := spawn(t, "spawn bare sleep")
	main := identOf(t, c.pid())
	kill(t, c.pid())
	_, _ = c.cmd.Process.Wait()

	w := Witness{Key: testKey, ID: id, Main: main, Ledger: true}
	in := only(t, scan(t, newScanner(t), Full, w))
	if in.Live() || len(in.Members) != 0 || byPID(in.Doubtful, c.started[0]) == nil {
		t.Errorf("members %+v, doubtful %+v", in.Members, in.Doubtful)
	}
}

func TestScanKnowsChildByHandleAlone(t *testing.T) {
	c := start(t, "sleep", nil)
	w := Witness{Key: testKey, ID: spec.NewInstance("h", 1), Main: identOf(t, c.pid()), Handle: true}
	in := only(t, scan(t, newScanner(t), Full, w))
	if in.Main == nil || in.Main.PID != c.pid() {
		t.Errorf("the handle does not count: %+v", in)
	}
}

func TestScanPassesOverLookalikes(t *testing.T) {
	id := spec.NewInstance("look", BootTick())
	full := markers(testKey, testOwner, id)
	without := func(name string) []string {
		return slices.DeleteFunc(slices.Clone(full), func(v string) bool { return strings.HasPrefix(v, name+"=") })
	}
	tests := map[string]struct {
		env      []string
		evidence string
	}{
		"no subprocess marker": {without(spec.EnvSubprocess), spec.EnvSubprocess},
		"subprocess not 1":     {append(without(spec.EnvSubprocess), spec.EnvSubprocess+"=true"), spec.EnvSubprocess},
		"no name":              {without(spec.EnvAgentName), "exactly one of"},
		"both names":           {append(slices.Clone(full), spec.EnvMCPService+"=worker"), "exactly one of"},
		"no owner":             {without(spec.EnvOwner), spec.EnvOwner + " is missing"},
		"another owner":        {append(without(spec.EnvOwner), spec.EnvOwner+"=someone-else"), "someone-else"},
		"marker inside a value": {
			append(without(spec.EnvOwner), "X="+spec.EnvOwner+"="+string(testOwner)),
			spec.EnvOwner + " is missing",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := start(t, "sleep", tt.env)
			snap := scan(t, newScanner(t), Full)
			p := byPID(snap.Others, c.pid())
			if p == nil || p.Verdict != NotOurs || !strings.Contains(strings.Join(p.Evidence, "; "), tt.evidence) {
				t.Errorf("look-alike: %+v", p)
			}
			if len(snap.InstancesOf(testKey)) != 0 {
				t.Error("it was taken for an instance")
			}
		})
	}
}

func TestScanTestsUserAndNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start processes of other users and in other namespaces")
	}
	asNobody := func(c *exec.Cmd) {
		c.Path = copyOfSelf(t)
		c.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	inNamespace := func(c *exec.Cmd) { c.SysProcAttr.Cloneflags = unix.CLONE_NEWPID }
	tests := map[string]struct {
		change   func(*exec.Cmd)
		evidence string
	}{
		"another user":      {asNobody, "runs as uid 65534"},
		"another namespace": {inNamespace, "another PID namespace"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, env := marked(t) // when it began is nothing to them
			c := start(t, "sleep", env, tt.change)
			snap := scan(t, newScanner(t), Full)
			p := byPID(snap.Others, c.pid())
			if p == nil || p.Verdict != NotOurs || !strings.Contains(strings.Join(p.Evidence, "; "), tt.evidence) {
				t.Errorf("process: %+v", p)
			}
		})
	}
	t.Run("namespace below a verified main process", func(t *testing.T) {
		_, c := spawn(t, "spawn session+namespace sleep")
		in := only(t, scan(t, newScanner(t), Full))
		if p := byPID(in.Members, c.started[0]); p == nil || p.Verdict != Ours || p.Role != Descendant {
			t.Errorf("sandboxed member: %+v", p)
		}
	})
}

func TestScanShowsUnattributed(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	c := start(t, "spawn session+leave sleep", nil)
	awaitEnd(t, c.pid())
	orphan := c.started[0]
	t.Cleanup(func() { // ours now, so ours to reap
		_ = c.stdin.Close()
		var status unix.WaitStatus
		_, _ = unix.Wait4(orphan, &status, 0, nil)
	})
	s := newScanner(t)
	if p := byPID(scan(t, s, Full).Unattributed, orphan); p != nil {
		t.Errorf("a young one may be a start that is under way: %+v", p)
	}
	s.table.sights.settle = 0
	snap := scan(t, s, Full)
	if p := byPID(snap.Unattributed, orphan); p == nil || p.Verdict == Ours || len(p.Evidence) == 0 {
		t.Errorf("orphan: %+v", p)
	}
	w := Witness{Key: testKey, ID: "u-1", Main: identOf(t, orphan), Handle: true}
	if p := byPID(scan(t, s, Look, w).Unattributed, orphan); p != nil {
		t.Errorf("a child with a witness is unattributed: %+v", p)
	}
}

// TestScanByOrdinaryUser runs a scan of its own as another user.
func TestScanByOrdinaryUser(t *testing.T) {
	const others = "OBSERVE_TEST_OTHERS"
	if pid, _ := strconv.Atoi(os.Getenv(others)); pid != 0 {
		_, c := spawn(t, "spawn session sleep")
		s := newScanner(t)
		for _, depth := range []Depth{Full, Look, Resync} {
			snap := scan(t, s, depth)
			if in := only(t, snap); in.Main == nil || in.Main.PID != c.pid() || len(in.Members) != 1 {
				t.Errorf("depth %d: %+v", depth, in)
			}
			if i := find(s.table.rows, int32(pid)); byPID(snap.Others, pid) != nil || i < 0 || s.table.rows[i].environ != environNotRead {
				t.Errorf("depth %d: another user's process was read", depth)
			}
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can start processes of two users")
	}
	_, root := spawn(t, "sleep")
	cmd := exec.Command(copyOfSelf(t), "-test.run", "^TestScanByOrdinaryUser$", "-test.v")
	cmd.Env = append(os.Environ(), fmt.Sprint(others, "=", root.pid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestScanByOrdinaryUser") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestScanIsRightAtEveryDepth(t *testing.T) {
	s := newScanner(t)
	scan(t, s, Full)
	_, c := spawn(t, "spawn plain sleep")
	for _, depth := range []Depth{Look, Look, Resync, Full, Look} {
		in := only(t, scan(t, s, depth))
		if in.Main == nil || in.Main.PID != c.pid() || byPID(in.Members, c.started[0]) == nil {
			t.Fatalf("depth %d: %+v", depth, in)
		}
	}
}

func TestScanKeepsWhatHasNotChanged(t *testing.T) {
	spawn(t, "spawn plain sleep")
	s := newScanner(t)
	a := only(t, scan(t, s, Full))
	b := only(t, scan(t, s, Look))
	if a != b {
		t.Error("a Look of an unchanged table gives a new instance")
	}
}

func TestScanLeavesOurselvesOut(t *testing.T) {
	// The controller may have been started from within a workload of its own.
	id, env := marked(t)
	self := selfSighting(t, env)
	a := attribute(identity{owner: testOwner, uid: uint32(os.Geteuid()), self: os.Getpid()}, []sighting{self}, nil, nil)
	if len(a.findings) != 1 || a.findings[0].verdict != NotOurs {
		t.Errorf("we are taken for a member of %v: %+v", id, a.findings)
	}
}

// selfSighting is this process as it would look with the given environment.
func selfSighting(t *testing.T, env []string) sighting {
	t.Helper()
	m := spec.ParseMarkers([]byte(strings.Join(env, "\x00") + "\x00"))
	return sighting{
		Ident: identOf(t, os.Getpid()), environ: environMarked, state: 'S', threads: 1,
		detail: &detail{markers: m, uid: uint32(os.Geteuid()), euid: uint32(os.Geteuid())},
	}
}

func identOf(t *testing.T, pid int) Ident {
	t.Helper()
	p, err := ReadProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return p.Ident
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if pid <= 1 {
		t.Fatalf("refusing to kill %d", pid)
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// copyOfSelf is the test binary where another user may execute it.
func copyOfSelf(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "observe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := dir + "/child"
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
