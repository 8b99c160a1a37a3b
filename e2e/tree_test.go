//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A stop ends when no member of the tree is left, in each scope mode: whatever
// its processes have done to be hard to find, or to stop.
func TestStopEndsTheWholeTree(t *testing.T) {
	for _, mode := range scopeModes {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			r := mode.rig(t)
			r.start()
			for name, members := range map[string][]string{
				"leader that ends at once": {"deaf+deaf"},
				"sessions and groups":      {"a+session", "b+group", "c+session+deaf", "d+daemon+session", "e+daemon+session+deaf"},
				"no environment":           {"a+bare", "b+bare+session", "c+bare+group+deaf", "d+daemon+bare", "e+title", "f+title+daemon+session"},
				"nothing left to go by":    {"a+daemon+bare+session", "b+daemon+bare+session+deaf"},
				"secrets":                  {"a+secret", "b+secret+session", "c+secret+bare+daemon+session"},
				"stopped":                  {"a+stopped", "b+stopped+session", "c+stopped+daemon+session+bare", "d+stopped+deaf"},
				"namespaces":               {"a+pidns", "b+pidns+session+deaf"},
			} {
				tr := r.plant(strings.ReplaceAll(name, " ", "-"), "leader", members)
				tr.fell(t, len(members)+1)
			}
		})
	}
}

// A member that forks as fast as it can while it is being stopped.
func TestStopOfAForkingTree(t *testing.T) {
	for _, mode := range scopeModes {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			r := mode.rig(t)
			r.start()
			tr := r.plant("forks", "leader", []string{"a+forks", "b+forks+session"})
			tr.fell(t, 3)
			for _, name := range []string{"a.forked", "b.forked"} {
				if tr.pid(name) < 20 {
					t.Errorf("%s: it has not forked as it was told to", name)
				}
			}
		})
	}
}

// What a leader leaves that ends by itself goes before the next one starts.
func TestRemainsOfATree(t *testing.T) {
	for _, mode := range scopeModes {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			r := mode.rig(t)
			r.start()
			members := []string{"a+session", "b+deaf", "c+daemon+bare+session", "d+title+session"}
			tr := r.plant("crash", "leader+crash", members)
			before := tr.members(t, len(members)+1)
			if err := os.WriteFile(filepath.Join(tr.dir, "crash"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			for _, p := range before {
				gone(t, p.pid)
			}
			r.remove(tr.file)
			tr.nothingLeft(t)
		})
	}
}

// tree is one workload of several processes.
type tree struct {
	*rig
	name, file, tag, dir string
}

// plant writes the manifest of a tree and waits until each of its processes
// says that it is what it should be. It is given a second to stop.
func (r *rig) plant(name, leader string, members []string, more ...string) *tree {
	r.t.Helper()
	tr := &tree{rig: r, name: name, file: name + ".yaml", tag: r.owner + "." + name, dir: filepath.Join(r.dir, name)}
	r.mkdir(tr.dir, 0o777)
	r.t.Cleanup(func() {
		for _, p := range tagged(tr.tag) {
			end(p)
		}
	})
	command := []string{strconv.Quote(testBinary(r.t))}
	for _, arg := range append([]string{treePayload, tr.tag, tr.dir, leader}, members...) {
		command = append(command, strconv.Quote(arg))
	}
	body := append([]string{
		"command: [" + strings.Join(command, ", ") + "]", "terminationGracePeriodSeconds: 1", "backoff: {initial: 1h, max: 1h}",
	}, more...)
	r.write(tr.file, manifest("Agent", name, strings.Join(body, "\n")))
	for _, m := range append([]string{leader}, members...) {
		tr.pid(strings.Split(m, "+")[0])
	}
	return tr
}

// testBinary is the path of this program; /proc/self/exe would be another's.
func testBinary(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// pid waits for what the process of that name has written.
func (tr *tree) pid(name string) (pid int) {
	tr.t.Helper()
	eventually(tr.t, soon, tr.name+": "+name+" is ready", func() error {
		data, err := os.ReadFile(filepath.Join(tr.dir, name))
		if err == nil {
			pid, err = strconv.Atoi(string(data))
		}
		return err
	})
	return pid
}

// members waits until so many processes live, and gives them.
func (tr *tree) members(t *testing.T, n int) (found []proc) {
	t.Helper()
	eventually(t, soon, fmt.Sprintf("%s: %d processes live", tr.name, n), func() error {
		if found = tagged(tr.tag); len(found) != n {
			return fmt.Errorf("%v", found)
		}
		return nil
	})
	return found
}

// fell removes the manifest of a tree of n processes and waits until none is
// left. A second of hold, one of grace; the rest is for a busy machine.
func (tr *tree) fell(t *testing.T, n int) {
	t.Helper()
	tr.members(t, n)
	began := time.Now()
	tr.remove(tr.file)
	tr.nothingLeft(t)
	t.Logf("%s: %d processes were gone after %v", tr.name, n, time.Since(began).Round(time.Millisecond))
}

func (tr *tree) nothingLeft(t *testing.T) {
	t.Helper()
	eventually(t, soon, tr.name+": nothing is left", func() error {
		if left := tagged(tr.tag); len(left) > 0 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})
}

// What nothing tells apart is shown, with two workloads that can have been its
// origin; it is left alone while the controller lives, and goes with it.
func TestOrphanOfNobodyKnown(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]bool{"goes with the controller": false, "stays with a Keep workload": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			other := ""
			if keep {
				other = "onControllerExit: Keep"
			}
			r.write("other.yaml", agent("other", other))
			r.start()
			r.running("agent/other")
			tr := r.plant("origin", "leader", []string{"a+daemon+bare+session"})
			orphan := tr.pid("a")
			eventually(t, soon, "it is handed to the controller", func() error {
				if p, ok := lookup(orphan); !ok || p.ppid != r.pid() {
					return fmt.Errorf("%v has parent %d", p, p.ppid)
				}
				return nil
			})
			r.write("look.yaml", agent("look")) // its end makes the controller look
			r.running("agent/look")
			r.remove("look.yaml")
			eventually(t, soon, "it is shown", func() error {
				res := r.run("get")
				if c := r.controller(); len(c.Unattributed) != 1 || c.Unattributed[0].PID != orphan ||
					len(c.Unattributed[0].Evidence) == 0 || !strings.Contains(res.stderr, strconv.Itoa(orphan)) {
					return fmt.Errorf("unattributed: %+v; get says %q", c.Unattributed, res.stderr)
				}
				if at := slices.IndexFunc(r.ps(), func(l listed) bool { return l.PID == orphan }); at < 0 {
					return errors.New("ps does not show it")
				} else if l := r.ps()[at]; l.Owner != r.owner || l.Key != "" || len(l.Evidence) == 0 || !l.OwnerAlive {
					return fmt.Errorf("ps: %+v", l)
				}
				return nil
			})
			r.remove(tr.file)
			eventually(t, soon, "the rest of its tree is gone", func() error {
				if left := tagged(tr.tag); len(left) != 1 || left[0].pid != orphan {
					return fmt.Errorf("%v", left)
				}
				return nil
			})
			r.stop()
			if !keep {
				gone(t, orphan)
			} else if err := stillRuns(orphan); err != nil {
				t.Error(err)
			}
			if !strings.Contains(r.proc.stderr.String(), "orphans") {
				t.Error("the log does not say what became of it")
			}
		})
	}
}

// Children that the controller had before it was one are nobody's: they came
// through an execve(2).
func TestChildrenFromBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tag := r.owner + ".before"
	t.Cleanup(func() {
		for _, p := range tagged(tag) {
			end(p)
		}
	})
	r.wrap = []string{"sh", "-c", `t=$1; shift; env -i setsid sh -c 'sleep 1000; :' "$t" >/dev/null 2>&1 & exec "$@"`, "sh", tag}
	r.write("a.yaml", agent("a"))
	r.start()
	r.running("agent/a")
	before := tagged(tag)
	if len(before) != 1 || before[0].ppid != r.pid() {
		t.Fatalf("%v, want a child of the controller", before)
	}
	r.remove("a.yaml")
	nothingLeft(t, r.owner)
	if c := r.controller(); len(c.Unattributed) != 1 || c.Unattributed[0].Verdict != "CannotTell" {
		t.Errorf("unattributed: %+v", c.Unattributed)
	}
	r.stop()
	if err := stillRuns(before[0].pid); err != nil {
		t.Error(err)
	}
	for _, p := range childrenOf(before[0].pid) {
		end(p)
	}
}
