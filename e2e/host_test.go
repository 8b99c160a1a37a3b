//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A /proc that begins to hide processes proves nothing: status says so, nothing
// is signalled or started, and all goes on when it shows them again.
func TestHiddenProcesses(t *testing.T) {
	t.Parallel()
	r := newRigAs(t, 54328) // root sees everything all the same
	// The process table is mounted for the controller alone, as root; then it
	// becomes what it is to run as.
	user := fmt.Sprint(r.user.Uid)
	r.user = nil
	r.wrap = []string{
		"unshare", "--mount", "--propagation", "private", "sh", "-c",
		`mount -t proc proc /proc && exec "$@"`, "sh", "setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--",
	}
	// What the main process leaves behind has to be looked for when it ends.
	tree := manifest("Agent", "a", "command: [sh, -c, 'setsid sleep 1001 & exec sleep 1000']")
	r.write("a.yaml", tree)
	r.launch()
	r.saidInLog("ready")
	var left, main proc
	eventually(t, soon, "the tree is up", func() error {
		found := marked(r.owner)
		if len(found) != 2 || found[0].sid == found[1].sid {
			return fmt.Errorf("there are %v", found)
		}
		main, left = found[0], found[1]
		if main.ppid != r.pid() {
			main, left = left, main
		}
		return nil
	})
	r.inside("mount", "-o", "remount,hidepid=2", "/proc")
	end(main)
	r.saidInLog("process table", "hidepid")
	r.write("b.yaml", agent("b"))
	throughout(t, 3*time.Second, "nothing is started or ended", func() error {
		if found := marked(r.owner); len(found) != 1 || found[0].pid != left.pid {
			return fmt.Errorf("there are %v", found)
		}
		return nil
	})
	table := r.asUser(user, "get")
	if line := lineWith(table, []string{"Agent", " a ", "NotObserved", "hidepid"}); line == "" {
		t.Errorf("get does not say why nothing is decided:\n%s", table)
	}
	r.inside("mount", "-o", "remount,hidepid=0", "/proc")
	gone(t, left.pid)
	whole := func() error {
		if found := marked(r.owner); len(found) != 3 {
			return fmt.Errorf("there are %v", found)
		}
		return nil
	}
	eventually(t, soon, "both run", whole)
	throughout(t, time.Second, "each runs once", whole)
}

// asUser runs a verb as another user and gives all that it wrote.
func (r *rig) asUser(user, verb string, args ...string) string {
	argv := append([]string{"--reuid", user, "--regid", user, "--clear-groups", "--", controllerBinary, verb}, r.paths()...)
	cmd := exec.Command("setpriv", append(argv, args...)...)
	cmd.Env = r.env
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// A user manager that goes takes its scopes along. What ran in one is started
// again, without one while there is no manager, and status says so; what
// requires one waits. When a manager is back, so are the scopes.
func TestUserManagerDiesAndComesBack(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to start a systemd user manager apart from the machine's")
	}
	if _, err := exec.LookPath("systemd-run"); err != nil {
		t.Skip("systemd is not installed: install the package systemd")
	}
	r := newRig(t)
	dir := filepath.Join(r.dir, "um")
	script := func(verb string) {
		t.Helper()
		cmd := exec.Command(filepath.Join(projectDir, "hack", "user-manager"), verb, dir)
		cmd.Env = cleanEnvironment()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("user-manager %s: %v\n%s", verb, err, out)
		}
	}
	script("start")
	t.Cleanup(func() { script("stop") })
	r.env = append(r.env, "XDG_RUNTIME_DIR="+dir)
	r.flags = []string{"--scopes=systemd", "--delete-hold=1s"}
	const quick = "backoff: {initial: 100ms, max: 500ms}"
	r.write("a.yaml", agent("a", quick))
	r.write("b.yaml", agent("b", quick, "scope: Required"))
	r.start()
	a, b := r.running("agent/a"), r.running("agent/b")
	unit(t, a)
	unit(t, b)

	script("stop") // and with it everything in its cgroup
	a = r.replaced("agent/a", a)
	if s := a.Status.Instances[0].Scope; !strings.HasPrefix(s, "off: ") || len(s) <= len("off: ") {
		t.Errorf("scope = %q, want off, and why", s)
	}
	r.shown("Agent", " b ", "scope")
	if o, _ := r.get("agent/b"); o.Status.PID != 0 {
		t.Errorf("it runs without the scope that it requires")
	}

	script("start")
	unit(t, r.running("agent/b"))
	r.kept("agent/a", a)
	p, _ := lookup(a.Status.PID)
	end(p)
	unit(t, r.replaced("agent/a", a))
}

// Who is logged in and does not linger is told at the start what becomes of the
// workloads, and no more once it is mended.
func TestSessionWithoutLingering(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount file systems")
	}
	r := newRig(t)
	r.flags = []string{"--delete-hold=1s"}
	r.env = append(r.env, "XDG_RUNTIME_DIR=/run/user/0")
	// What logind would have made, for the controller alone.
	r.wrap = []string{
		"unshare", "--mount", "--propagation", "private", "sh", "-ec",
		`mount -t tmpfs tmpfs /run; mkdir -p /run/user/0 /run/systemd/users; : >/run/systemd/users/0
		mount -t tmpfs tmpfs /var/lib/systemd; exec "$@"`, "sh",
	}
	r.start()
	r.saidInLog("NoLinger", "enable-linger")
	r.shown("note", "loginctl enable-linger root")
	r.inside("sh", "-c", "mkdir /var/lib/systemd/linger; : >/var/lib/systemd/linger/root")
	r.shownNoMore("note", "linger")
	r.write("a.yaml", agent("a"))
	r.running("agent/a")
}

// A workload that writes as fast as it can costs a bounded piece of the disk,
// and the others nothing that they would notice.
func TestFloodOfOutput(t *testing.T) {
	if raceDetector {
		t.Skip("measures times, which the race detector changes")
	}
	r := newRig(t)
	const quick = "backoff: {initial: 10ms, max: 10ms}"
	r.write("calm.yaml", agent("calm", quick))
	r.start()
	calm := r.running("agent/calm").Status.PID
	r.write("flood.yaml", manifest("Agent", "flood", "command: ['yes', 'a line that nobody will ever read']"))
	flood := r.running("agent/flood")
	log := flood.Status.Instances[0].Log

	largest, slowest := int64(0), time.Duration(0)
	for began := time.Now(); time.Since(began) < 5*time.Second; {
		old, ok := lookup(calm)
		if !ok {
			t.Fatal("the calm one is gone")
		}
		killed := time.Now()
		end(old)
		calm = 0
		eventually(t, soon, "the calm one is back", func() error {
			largest = max(largest, usedBytes(t, log))
			for _, p := range marked(r.owner) {
				if p.has("AGENT_NAME", "calm") && p.pid != old.pid {
					calm = p.pid
					return nil
				}
			}
			return os.ErrNotExist
		})
		slowest = max(slowest, time.Since(killed))
	}
	written := fileSize(t, log)
	t.Logf("%d MB written, at most %d MB kept, slowest restart of another %v", written>>20, largest>>20, slowest)
	if written < 64<<20 {
		t.Errorf("that was no flood: %d bytes", written)
	}
	if largest > 512<<20 {
		t.Errorf("the output took %d MB", largest>>20)
	}
	if slowest > 2*time.Second {
		t.Errorf("a restart took %v", slowest)
	}
	r.remove("flood.yaml")
	gone(t, flood.Status.PID)
	if used := usedBytes(t, log); used > 16<<20 {
		// It is bounded once more when it rests.
		eventually(t, soon, "what is left of the output is bounded", func() error {
			if used := usedBytes(t, log); used > 16<<20 {
				return fmt.Errorf("%d MB", used>>20)
			}
			return nil
		})
	}
}
