package scope

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// A unit name that is taken is a failed start that says so. The program has not
// run, and what has the name is left alone.
func TestUnitNameIsTaken(t *testing.T) {
	env := managed(t)
	s := newScopes(t, Systemd)
	r := request(t, env)
	first, second := prepared(t, s, r), prepared(t, s, r)
	holder := launch(t, first, env, "/bin/sleep", "60")
	sc, err := first.Verify(t.Context(), holder.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	cmd := launch(t, second, env, "/bin/sh", "-c", "echo ran >"+ran)
	if _, err := second.Verify(t.Context(), cmd.Process.Pid); !errors.Is(err, ErrNotInside) {
		t.Errorf("Verify: %v, want %v", err, ErrNotInside)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program ran outside of a scope of its own")
	}
	if members, err := s.Members(sc); err != nil || len(members) != 1 || members[0] != holder.Process.Pid {
		t.Errorf("members of the first: %v, %v", members, err)
	}
	r.Instance = request(t, env).Instance // the next start has another name
	third := prepared(t, s, r)
	again := launch(t, third, env, "/bin/sleep", "60")
	if _, err := third.Verify(t.Context(), again.Process.Pid); err != nil {
		t.Errorf("the next start: %v", err)
	}
}

// The same for a cgroup: it is not used, and not removed.
func TestCgroupNameIsTaken(t *testing.T) {
	own := ownCgroup(t)
	d := delegated{cgroup: "/" + filepath.Base(own.Name()), dir: own.Name(), mu: new(sync.Mutex)}
	taken := filepath.Join(own.Name(), observe.ScopeName(testOwner, spec.NewInstance("x", 1)))
	if err := os.Mkdir(taken, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(taken) })
	f := &Fence{}
	if why := d.child(f, filepath.Base(taken)); !strings.Contains(why, "exists") {
		t.Errorf("says %q", why)
	}
	if _, ok := f.CgroupFD(); ok {
		t.Error("a child would go into a cgroup that is another's")
	}
	f.Close()
	if !isFile(filepath.Join(taken, "cgroup.procs")) {
		t.Error("the other's cgroup is gone")
	}
}

// nobodyAsked fails the test when a helper is run.
type nobodyAsked struct{ t *testing.T }

func (r nobodyAsked) Run(_ context.Context, argv, _ []string, _ string) (int, string, error) {
	r.t.Errorf("it runs %q", argv)
	return 0, "", nil
}

// Our user manager cannot start a process as another user, and is not asked.
func TestAnotherUserHasNoUserManager(t *testing.T) {
	s, err := New(Options{Mode: Systemd, Owner: testOwner, UID: os.Getuid(), Run: nobodyAsked{t}, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, []string{"XDG_RUNTIME_DIR=/run/user/0"})
	r.OtherUser = true
	f, err := s.Prepare(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if sc, err := f.Verify(t.Context(), os.Getpid()); err != nil || sc.Mode != observe.ScopeOff || !strings.Contains(sc.Note, "another user") {
		t.Errorf("scope %+v, %v: want none, and why", sc, err)
	}
	r.Policy = spec.ScopeRequired
	if _, err := s.Prepare(t.Context(), r); !errors.Is(err, ErrRequired) {
		t.Errorf("a scope that is required: %v, want %v", err, ErrRequired)
	}
}
