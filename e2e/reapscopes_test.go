//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// crashUnguarded kills the guard and then the controller, so that nobody clears
// up. The guard is stopped first: a controller puts another in the place of one
// that has ended.
func (r *rig) crashUnguarded() {
	r.t.Helper()
	g := r.guard()
	if err := syscall.Kill(g.pid, syscall.SIGSTOP); err != nil {
		r.t.Fatal(err)
	}
	r.crash()
	end(g)
	r.unguarded(soon)
}

// scopeDirs are the cgroups of the rig's scopes, in each hierarchy.
func (r *rig) scopeDirs() (dirs []string) {
	list, err := os.ReadFile(filepath.Join(managerDir, ".cgroups"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, root := range strings.Fields(string(list)) {
		_ = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err == nil && strings.Contains(d.Name(), r.owner+":") {
				dirs = append(dirs, path)
			}
			return nil
		})
	}
	return dirs
}

// After the death of controller and guard, reap finds by their scopes also those
// that have cleared their environment and left group and session. Nothing runs
// afterwards, and no scope is left.
func TestReapInScopes(t *testing.T) {
	t.Parallel()
	r := newScopedRig(t)
	seconds, keptSeconds := aNap(), aNap()
	r.write("a.yaml", manyOf("a", seconds, "terminationGracePeriodSeconds: 1"))
	r.write("deaf.yaml", manifest("Agent", "deaf", fmt.Sprintf(
		"command: [sh, -c, 'trap \"\" TERM; (env -i setsid sleep %s &) ; sleep %s; sleep %s']\nterminationGracePeriodSeconds: 1", seconds, seconds, seconds)))
	r.write("kept.yaml", manifest("Agent", "kept", fmt.Sprintf("command: [sleep, '%s']\nonControllerExit: Keep", keptSeconds)))
	r.start()
	up(t, seconds, treeSize+2)
	kept := up(t, keptSeconds, 1)[0]
	units := []string{unit(t, r.running("agent/a")), unit(t, r.running("agent/deaf"))}
	keptUnit := unit(t, r.running("agent/kept"))
	other := r.pose("record-signals", posedMarkers(r.owner+"-other", "a", "other", "Stop")...)
	r.crashUnguarded()
	if left, dirs := sleepers(seconds), r.scopeDirs(); len(left) < 2 || len(dirs) < 3 {
		t.Fatalf("left after the crash: %v in %v, want something to reap", left, dirs)
	}

	rows, _ := r.reap(0)
	for _, row := range rows {
		if row.Result != "gone" || row.PID == kept.pid {
			t.Errorf("row %+v", row)
		}
	}
	if left := sleepers(seconds); len(left) > 0 {
		t.Errorf("left by reap: %v", left)
	}
	if err := stillRuns(kept.pid); err != nil {
		t.Errorf("Keep: %v", err)
	}
	eventually(t, soon, "only the kept scope is left", func() error {
		for _, u := range units {
			if s := property(t, u, "ActiveState"); s != "inactive" {
				return fmt.Errorf("%s is %s", u, s)
			}
		}
		for _, dir := range r.scopeDirs() {
			if filepath.Base(dir) != keptUnit {
				return fmt.Errorf("%s is left", dir)
			}
		}
		return nil
	})
	if rows, _ := r.reap(0, "--include-keep"); !slices.Equal(reapedPIDs(rows), []int{kept.pid}) {
		t.Errorf("with --include-keep: %v, want %d", rows, kept.pid)
	}
	nothingLeft(t, r.owner)
	other.untouched(t, "a process of another owner")
}

// A reap that is killed midway has done no harm: what it had not come to is left,
// nobody else was signalled, and the next one finishes the job at once, though
// the one before held the lock.
func TestReapThatIsKilledMidway(t *testing.T) {
	t.Parallel()
	for _, mode := range scopeModes[:2] {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			r := mode.rig(t)
			seconds := aNap()
			script := "trap : TERM; sleep " + seconds + " & while :; do sleep " + seconds + "; done"
			r.write("deaf.yaml", manifest("Agent", "deaf", fmt.Sprintf(
				"command: [sh, -c, 'trap \"\" TERM; sleep %s; sleep %s']\nonControllerExit: Keep\nterminationGracePeriodSeconds: 60", seconds, seconds)))
			r.write("tree.yaml", manifest("Agent", "tree", fmt.Sprintf(
				"command: [sh, -c, %q]\nonControllerExit: Keep\nterminationGracePeriodSeconds: 60", script)))
			r.write("rec.yaml", r.recorderManifest("rec"))
			r.start()
			for _, key := range []string{"agent/deaf", "agent/tree", "agent/rec"} {
				minds(t, r.running(key).Status.PID, syscall.SIGTERM)
			}
			signals := r.file("rec.signals")
			eventually(t, soon, "the recorder is ready", func() error { _, err := os.Stat(signals); return err })
			other := r.pose("record-signals", posedMarkers(r.owner+"-other", "a", "other", "Stop")...)
			same := r.pose("record-signals", posedMarkers(r.owner, "a", "same", "Stop")[1:]...)
			r.crash()
			r.unguarded(soon)

			first := exec.Command(controllerBinary, append(append([]string{"reap"}, r.paths()...), "--include-keep")...)
			first.Env = r.env
			if err := first.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, soon, "it has signalled", func() error {
				if got := recorded(t, signals); !slices.Contains(got, "terminated") {
					return fmt.Errorf("the recorder got %v", got)
				}
				return nil
			})
			if err := first.Process.Kill(); err != nil { // in the midst of the grace period
				t.Fatal(err)
			}
			_ = first.Wait()
			if left := sleepers(seconds); len(left) == 0 {
				t.Fatal("nothing is left to do for the next one")
			}

			began := time.Now()
			rows, _ := r.reap(0, "--include-keep", "--grace", "300ms")
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			if len(rows) == 0 {
				t.Error("it has reaped nothing")
			}
			for _, row := range rows {
				if row.Result != "gone" {
					t.Errorf("row %+v", row)
				}
			}
			if left := sleepers(seconds); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			eventually(t, soon, "nothing of the owner is left", func() error {
				for _, p := range marked(r.owner) {
					if p.pid != same.pid {
						return fmt.Errorf("left: %v", p)
					}
				}
				return nil
			})
			other.untouched(t, "a process of another owner")
			same.untouched(t, "a process without the whole marker")
		})
	}
}
