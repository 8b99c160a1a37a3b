package source

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

func TestHoldUntil(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, tc := range []struct {
		h          hold
		deleteHold time.Duration
		want       time.Duration
	}{
		{hold{now, false}, 5 * time.Second, time.Second},
		{hold{now, true}, 5 * time.Second, 5 * time.Second},
		{hold{now, false}, 200 * time.Millisecond, 200 * time.Millisecond},
		{hold{now, false}, 0, 0},
		{hold{now, true}, 0, 0},
	} {
		if got := tc.h.until(tc.deleteHold).Sub(now); got != tc.want {
			t.Errorf("%+v with %v: %v, want %v", tc.h, tc.deleteHold, got, tc.want)
		}
	}
}

// The catalogue is driven with made-up readings and times: what vanishes when
// is all that matters.
func TestHolds(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	fill := func(names ...string) *catalog {
		c := newCatalog(places{dir: "/m"}, noMemory{}, 5*time.Second)
		for _, n := range names {
			c.apply(reads(n+".yaml", n), start)
		}
		c.begin(start)
		c.settle(start)
		c.set()
		return c
	}
	vanish := func(c *catalog, when time.Time, names ...string) {
		var gone []*file
		for _, n := range names {
			gone = append(gone, c.files[n+".yaml"])
		}
		c.vanish(gone, when)
		c.settle(when)
	}
	want := func(t *testing.T, c *catalog, until map[string]time.Time) {
		t.Helper()
		s := c.set()
		for _, e := range s.Entries {
			if !e.HeldUntil.Equal(until[e.Key.Name]) {
				t.Errorf("%v is held until %v, want %v", e.Key, e.HeldUntil, until[e.Key.Name])
			}
		}
	}
	t.Run("one of several", func(t *testing.T) {
		c := fill("a", "b")
		vanish(c, at(10), "a")
		want(t, c, map[string]time.Time{"a": at(11)})
	})
	t.Run("the only one", func(t *testing.T) {
		c := fill("a")
		vanish(c, at(10), "a")
		want(t, c, map[string]time.Time{"a": at(11)})
	})
	t.Run("all in one step", func(t *testing.T) {
		c := fill("a", "b")
		vanish(c, at(10), "a", "b")
		want(t, c, map[string]time.Time{"a": at(15), "b": at(15)})
	})
	t.Run("all, one by one", func(t *testing.T) {
		c := fill("a", "b", "c")
		vanish(c, at(10), "a")
		vanish(c, at(10.2), "b")
		vanish(c, at(10.4), "c")
		want(t, c, map[string]time.Time{"a": at(15), "b": at(15.2), "c": at(15.4)})
	})
	t.Run("the rest after a hold that is over", func(t *testing.T) {
		c := fill("a", "b")
		vanish(c, at(10), "a")
		vanish(c, at(12), "b")
		want(t, c, map[string]time.Time{"a": at(11), "b": at(13)})
	})
	t.Run("back within the hold", func(t *testing.T) {
		c := fill("a", "b")
		vanish(c, at(10), "a", "b")
		c.apply(reads("a.yaml", "a"), at(12))
		c.settle(at(12))
		want(t, c, map[string]time.Time{"b": at(15)})
	})
	t.Run("pruned only when over", func(t *testing.T) {
		c := fill("a", "b")
		vanish(c, at(10), "a")
		c.prune(at(10.9))
		if s := c.set(); len(s.Entries) != 2 {
			t.Fatalf("pruned too early: %s", show(s))
		}
		c.prune(at(11))
		if s := c.set(); len(s.Entries) != 1 {
			t.Errorf("not pruned: %s", show(s))
		}
	})
	t.Run("suspended", func(t *testing.T) {
		c := fill("a", "b", "c")
		vanish(c, at(10), "a")
		c.suspend(func(*file) bool { return true })
		c.prune(at(100))
		want(t, c, nil)
		c.resume(at(200))
		want(t, c, map[string]time.Time{"a": at(205)})
	})
	t.Run("unknown keys after the first read", func(t *testing.T) {
		c := newCatalog(places{dir: "/m"}, noMemory{}, 5*time.Second)
		c.begin(start)
		s := c.set()
		if proven, _, until := s.Absence(server("x"), at(4)); proven || !until.Equal(at(5)) {
			t.Errorf("proven %v, until %v", proven, until)
		}
		if proven, why, _ := s.Absence(server("x"), at(5)); !proven {
			t.Errorf("not proven: %s", why)
		}
	})
}

// reads is the reading of a file that holds the named servers.
func reads(file string, names ...string) *reading {
	rd := &reading{name: file}
	for i, n := range names {
		d := spec.Decode("/m/"+file, []byte(manifest(n, "1")))[0]
		d.Line = 1 + 7*i
		rd.docs = append(rd.docs, document{Document: d, hash: spec.HashOf(d.Object, nil)})
	}
	return rd
}

// git checkout between two branches, for real: what both have is never gone
// for longer than its hold, what one has not is held and then gone.
func TestGitCheckout(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := newDir(t)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	put := func(name, content string) { replace(t, filepath.Join(dir, name), content) }
	git("init", "-q", "-b", "one")
	put("a.yaml", manifest("a", "1"))
	put("b.yaml", manifest("b", "1"))
	put("c.yaml", manifest("c", "1"))
	git("add", ".")
	git("commit", "-qm", "one")
	git("checkout", "-qb", "two")
	put("a.yaml", manifest("a", "2"))
	must(t, os.Remove(filepath.Join(dir, "c.yaml")))
	put("d.yaml", manifest("d", "1"))
	git("add", "-A")
	git("commit", "-qm", "two")

	r := start(t, dir)
	r.wants("a", "b", "d")
	never := func(s *spec.Set, names ...string) {
		for _, n := range names {
			if proven, why, _ := s.Absence(server(n), time.Now()); proven {
				t.Fatalf("%s is believed to be gone (%s): %s", n, why, show(s))
			}
		}
	}
	for _, branch := range []struct {
		name, arg string
		want      []string
	}{
		{"one", "1", []string{"a", "b", "c"}},
		{"two", "2", []string{"a", "b", "d"}},
	} {
		git("checkout", "-q", branch.name)
		s := r.until(branch.name, func(s *spec.Set) bool {
			never(s, "a", "b")
			return slices.Equal(wanted(s), branch.want) && s.Lookup(server("a")).Object.Spec.Command[1] == branch.arg
		})
		if len(s.Doubts) > 0 || len(s.Notices) > 0 {
			t.Errorf("%s: %s", branch.name, show(s))
		}
	}
}
