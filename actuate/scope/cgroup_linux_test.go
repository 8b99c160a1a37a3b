package scope

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// ownCgroup makes a cgroup for a controller to be started in.
func ownCgroup(t *testing.T) *os.File {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: makes a cgroup")
	}
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	top, ok := parseMounts(string(info)).path("/")
	if !ok {
		t.Skip("cgroup v2 is not mounted")
	}
	dir, err := os.MkdirTemp(top, "scope-test-")
	if err != nil {
		t.Skipf("cgroup v2 is not writable: %v", err)
	}
	t.Cleanup(func() {
		_ = writeFile(filepath.Join(dir, "cgroup.kill"), "1")
		eventually(t, "the cgroup can be removed", func() bool {
			_ = unix.Rmdir(filepath.Join(dir, leaf))
			return unix.Rmdir(dir) == nil
		})
	})
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// control runs the test binary as a controller in the cgroup and gives what it
// says.
func control(t *testing.T, in *os.File, role string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), envRole+"="+role)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(in.Fd())}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as %s: %v", role, err)
	}
	return string(out)
}

// playController is the other side of control.
func playController(role string) int {
	mode, _, _ := strings.Cut(role, " ")
	s, err := New(Options{Mode: Mode(mode), Owner: testOwner, UID: os.Getuid(), Log: logr.Discard()})
	if err == nil {
		err = startKillRelease(s, strings.HasSuffix(role, "limited"))
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func startKillRelease(s *Scopes, limited bool) error {
	r := Request{Instance: spec.NewInstance("c", 1), Key: spec.Key{Kind: spec.KindAgent, Name: "a"}}
	if limited {
		r.Limits = spec.Limits{Memory: "64Mi"}
	}
	f, err := s.Prepare(context.Background(), r)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Mode() == observe.ScopeOff {
		fmt.Println("off:", f.scope.Note)
		return nil
	}
	cmd := exec.Command("/bin/sh", "-c", "sleep 60 & exec sleep 60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.SysProcAttr.CgroupFD, cmd.SysProcAttr.UseCgroupFD = f.CgroupFD()
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _ = cmd.Process.Kill() }()
	sc, err := f.Verify(context.Background(), cmd.Process.Pid)
	if err != nil {
		return err
	}
	fmt.Printf("mode %s, below its own: %v, limits applied: %v\n", sc.Mode,
		filepath.Dir(sc.Cgroup) == s.host.own.cgroup, !sc.LimitsNotApplied)
	if members, err := s.Members(sc); err != nil || !slices.Contains(members, cmd.Process.Pid) {
		return fmt.Errorf("members %v, %v", members, err)
	}
	s.Release(sc) // not while something runs
	if members, err := s.Members(sc); err != nil || len(members) == 0 {
		return fmt.Errorf("released while it runs: %v, %v", members, err)
	}
	if err := s.Kill(sc); err != nil {
		return err
	}
	_ = cmd.Wait()
	dir, _ := s.host.tree.ours(sc.Cgroup)
	for range 100_000 { // the other sleep may take a moment to die
		if s.Release(sc); !isFile(filepath.Join(dir, "cgroup.procs")) {
			return nil
		}
	}
	return errors.New("the cgroup cannot be released")
}

func TestCgroupScope(t *testing.T) {
	own := ownCgroup(t)
	if got, want := control(t, own, "cgroup"), "mode cgroup, below its own: true, limits applied: true\n"; got != want {
		t.Errorf("asked for: %q, want %q", got, want)
	}
	// For root a directory of its own says nothing: only the mark counts.
	if got := control(t, own, "auto"); !strings.HasPrefix(got, "off: ") || !strings.Contains(got, "was not delegated") {
		t.Errorf("not delegated: %q", got)
	}
	if err := unix.Setxattr(own.Name(), "trusted.delegate", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	if got, want := control(t, own, "auto"), "mode cgroup, below its own: true, limits applied: true\n"; got != want {
		t.Errorf("delegated: %q, want %q", got, want)
	}
	if entries, _ := filepath.Glob(own.Name() + "/proc-controller*"); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestCgroupLimits(t *testing.T) {
	own := ownCgroup(t)
	controllers, err := os.ReadFile(filepath.Join(own.Name(), "cgroup.controllers"))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("limits applied: %v\n", hasWord(string(controllers), "memory"))
	if got := control(t, own, "cgroup limited"); !strings.HasSuffix(got, want) {
		t.Errorf("says %q, want %q with the controllers %q", got, want, controllers)
	}
}

func TestRootCgroupIsNotDivided(t *testing.T) {
	root := delegated{}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	root = findDelegated(tree{parseMounts(string(info))}, true, os.Getuid())
	dir, ok := parseMounts(string(info)).path(parsePlace(string(self)).unified)
	if ok && !isFile(filepath.Join(dir, "cgroup.type")) && root.dir != "" {
		t.Errorf("children would go into the root cgroup: %+v", root)
	}
	if (root.dir == "") != (root.why != "") {
		t.Errorf("%+v", root)
	}
}

func TestOnlyOurCgroupsAreTouched(t *testing.T) {
	s := newScopes(t, Off)
	ours := observe.ScopeName(testOwner, spec.NewInstance("x", 1))
	for _, cgroup := range []string{"", "/", "/user.slice", "/a/" + ours + "/..", "/a/../" + ours, ours, "/" + ours + "/sub"} {
		sc := observe.Scope{Mode: observe.ScopeCgroup, Cgroup: cgroup}
		if err := s.Kill(sc); !errors.Is(err, ErrForeign) && !errors.Is(err, ErrNoKill) {
			t.Errorf("Kill of %q: %v", cgroup, err)
		}
		s.Release(sc)
		if s.OOMKilled(sc) {
			t.Errorf("an out-of-memory kill in %q", cgroup)
		}
	}
}

func TestParseStat(t *testing.T) {
	for line, want := range map[string]string{
		"11 (systemd-run) S 1 2": "systemd-run S",
		"11 (a) Z) (b) R 1 2":    "a) Z) (b R",
		"11 () Z 1":              " Z",
		"11 (cut":                " \x00",
		"11 (cut)":               " \x00",
		"":                       " \x00",
	} {
		if comm, state := parseStat(line); comm+" "+string(rune(state)) != want {
			t.Errorf("%q is %q %q", line, comm, state)
		}
	}
}

func TestParseMembersAndEvents(t *testing.T) {
	if got := appendPIDs(nil, "12\n0\n34\nx\n"); !slices.Equal(got, []int{12, 34}) {
		t.Errorf("pids %v", got)
	}
	if got := oomKills("low 0\noom 2\noom_kill 3\noom_group_kill 0\n"); got != 3 {
		t.Errorf("%d kills", got)
	}
	if got := oomKills(""); got != 0 {
		t.Errorf("%d kills in nothing", got)
	}
}

func TestLookupEnv(t *testing.T) {
	env := []string{"A=1", "AB=2", "A=3", "=", "A"}
	if got := lookupEnv(env, "A"); got != "3" {
		t.Errorf("A is %q", got)
	}
	if got := lookupEnv(env, "C"); got != "" {
		t.Errorf("C is %q", got)
	}
}
