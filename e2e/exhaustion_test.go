//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Whatever runs out, the controller goes on, says in status what is wrong, and
// recovers by itself when there is enough again.

// shown waits until get shows a line with all words: in the table or below it.
func (r *rig) shown(words ...string) {
	r.t.Helper()
	eventually(r.t, soon, fmt.Sprintf("get shows a line with %q", words), func() error {
		r.alive()
		all := r.table()
		if lineWith(all, words) == "" {
			return fmt.Errorf("no such line in\n%s", all)
		}
		return nil
	})
}

// shownNoMore waits until get shows no line with all words.
func (r *rig) shownNoMore(words ...string) {
	r.t.Helper()
	eventually(r.t, soon, fmt.Sprintf("get shows no line with %q", words), func() error {
		r.alive()
		if line := lineWith(r.table(), words); line != "" {
			return fmt.Errorf("it shows %s", line)
		}
		return nil
	})
}

func (r *rig) table() string {
	res := r.run("get")
	return res.stdout + res.stderr
}

func lineWith(text string, words []string) string {
lines:
	for line := range strings.Lines(text) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue lines
			}
		}
		return line
	}
	return ""
}

// limit sets a soft limit of the controller, "nofile" or "nproc", and gives the
// function that lifts it again as far as it may be.
func (r *rig) limit(resource string, soft uint64) (lift func()) {
	r.t.Helper()
	set := func(soft string) {
		r.t.Helper()
		cmd := exec.Command("prlimit", "--pid", strconv.Itoa(r.pid()), "--"+resource+"="+soft+":")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: r.user} // not every root may do it to others
		if out, err := cmd.CombinedOutput(); err != nil {
			r.t.Fatalf("prlimit: %v\n%s", err, out)
		}
	}
	set(strconv.FormatUint(soft, 10))
	return func() { r.t.Helper(); set("1024") }
}

// roomFor is the limit on descriptors that leaves the controller n to open.
func (r *rig) roomFor(n int) (limit uint64) {
	for ; n > 0; limit++ {
		if _, err := os.Lstat(fmt.Sprintf("/proc/%d/fd/%d", r.pid(), limit)); err != nil {
			n--
		}
	}
	return limit
}

// Without descriptors nothing can be started. What runs is not taken for gone
// because its files in /proc cannot be opened.
func TestOutOfDescriptors(t *testing.T) {
	t.Parallel()
	for name, room := range map[string]int{"none at all": 0, "too few for a start": 2} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			r, unharmed := bystander(t)
			r.write("a.yaml", agent("a", "backoff: {initial: 100ms, max: 100ms}"))
			a := r.running("agent/a")
			lift := r.limit("nofile", r.roomFor(room))
			p, _ := lookup(a.Status.PID)
			end(p)
			r.write("b.yaml", agent("b", "backoff: {initial: 100ms, max: 100ms}"))
			if room > 0 { // else nobody can be answered either
				r.shown("Agent", " a ", "too many open files")
			}
			unharmed()
			if n := len(marked(r.owner)); n != 1 {
				t.Errorf("%d processes run, want the bystander alone", n)
			}
			lift()
			r.running("agent/a")
			r.running("agent/b")
			unharmed()
			if n := len(marked(r.owner)); n != 3 {
				t.Errorf("%d processes run, want 3", n)
			}
		})
	}
}

// Where a user may have no more processes, fork(2) fails, and so does every
// thread that the runtime might want: with many starts and many questions at
// once it wants some.
func TestOutOfProcesses(t *testing.T) {
	t.Parallel()
	const uid, workloads, questions = 54329, 30, 40
	r := newRigAs(t, uid) // whose processes are these alone
	for i := range workloads {
		name := fmt.Sprintf("w%d", i)
		r.write(name+".yaml", agent(name, "backoff: {initial: 100ms, max: 100ms}"))
	}
	r.start()
	allRun := func() {
		t.Helper()
		eventually(t, soon, "all run", func() error {
			r.alive()
			if n := len(marked(r.owner)); n != workloads {
				return fmt.Errorf("%d of %d", n, workloads)
			}
			return nil
		})
	}
	allRun()
	lift := r.limit("nproc", 1)
	for _, p := range marked(r.owner) {
		end(p)
	}
	var asked sync.WaitGroup
	for range questions {
		asked.Go(func() { r.run("get") })
	}
	for i := range workloads {
		r.shown("Agent", fmt.Sprintf(" w%d ", i), "resource temporarily unavailable")
	}
	asked.Wait()
	lift()
	allRun()
}

// A disk that fills up while the controller runs costs what cannot be written,
// and is told of until it has room again.
func TestDiskFillsUp(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a file system")
	}
	for _, tt := range []struct{ name, mount, spoil, mend string }{
		{"full", "size=1m", "head -c 8000000 /dev/zero >$0/filler", "rm $0/filler"},
		// What has been opened for writing forbids to make it so later.
		{"read-only", "size=1m,ro", "", "mount -o remount,rw $0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.mkdir(r.state, 0o700)
			r.wrap = []string{
				"unshare", "--mount", "--propagation", "private", "sh", "-c",
				`mount -t tmpfs -o mode=700,` + tt.mount + ` tmpfs "$1"; shift; exec "$@"`, "sh", r.state,
			}
			r.write("a.yaml", agent("a"))
			r.start()
			a := r.running("agent/a")
			r.inside("sh", "-c", tt.spoil+" 2>/dev/null", r.state)
			b := a
			for i := range 20 { // what a file has been given already it can still fill
				r.write("a.yaml", agent("a", fmt.Sprintf("env: [{name: EDITED, value: '%d'}]", i)))
				b = r.replaced("agent/a", b)
				if lineWith(r.table(), []string{"note", r.state}) != "" {
					break
				}
			}
			r.shown("note", r.state, "cannot write")
			r.inside("sh", "-c", tt.mend, r.state)
			r.shownNoMore("note", r.state)
			r.running("agent/a")
			if o, _ := r.get("agent/a"); o.Status.PID != b.Status.PID {
				t.Errorf("it was restarted meanwhile")
			}
			ledger, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(r.pid()), "root", r.state, "ledger.jsonl"))
			if err != nil || !strings.Contains(string(ledger), b.Status.Instances[0].Instance) {
				t.Errorf("the ledger does not know the instance that was started meanwhile (%v)", err)
			}
		})
	}
}

// Where the kernel gives no inotify watch, changes are found by looking.
func TestOutOfWatches(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"max_inotify_watches", "max_inotify_instances"} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.wrap = []string{
				"unshare", "--user", "--map-root-user", "sh", "-c",
				"echo 0 >/proc/sys/user/" + limit + ` && exec "$@"`, "sh",
			}
			r.start()
			r.shown("note", "polling", "raise fs.inotify."+strings.Replace(limit, "inotify", "user", 1))
			r.write("a.yaml", agent("a"))
			r.running("agent/a")
			r.remove("a.yaml")
			nothingLeft(t, r.owner)
		})
	}
}
