//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// given writes a file outside of the manifests, for -f.
func (r *rig) given(name, content string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	must(r.t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

// manifestFile gives the content of a file of the manifest directory.
func (r *rig) manifestFile(name string) string {
	r.t.Helper()
	content, err := os.ReadFile(filepath.Join(r.manifests, name))
	must(r.t, err)
	return string(content)
}

// does runs a verb, wants that exit code and these words in what it says, and
// gives all of that.
func (r *rig) does(code int, words []string, verb string, args ...string) string {
	r.t.Helper()
	res := r.run(verb, args...)
	said := res.stdout + res.stderr
	if res.code != code {
		r.t.Fatalf("%s %q: exit code %d, want %d:\n%s", verb, args, res.code, code, said)
	}
	for _, w := range words {
		if !strings.Contains(said, w) {
			r.t.Errorf("%s %q does not say %q:\n%s", verb, args, w, said)
		}
	}
	return said
}

// What apply says of a change is what happens: the process stays where all of it is
// applied live, and is another one where a field restarts it. With --wait that has
// come true when the command ends.
func TestApplySaysWhatHappens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	document := func(level, limit string) string {
		return "# the agent\n" + agent("a", "env: [{name: LOG_LEVEL, value: "+level+"}] # how loud", "backoff: {max: "+limit+"}")
	}
	other := "# the other one\n" + agent("b")
	path := r.given("both.yaml", document("info", "5m")+"---\n"+other)
	r.does(0, []string{"agent/a created\n", "agent/b created\n", "agent/a is ready\n"}, "apply", "-f", path, "--wait")
	a, err := r.get("agent/a")
	must(t, err)
	b, err := r.get("agent/b")
	must(t, err)

	path = r.given("a.yaml", document("info", "1m"))
	said := r.does(0, []string{"agent/a configured\n    applied live: spec.backoff.max\n"}, "apply", "-f", path, "--wait")
	if strings.Contains(said, "restarts") {
		t.Errorf("a live change restarts something: %s", said)
	}
	now, err := r.get("agent/a")
	must(t, err)
	if now.Status.PID != a.Status.PID || now.Status.Phase != "Running" || now.Spec["backoff"].(map[string]any)["max"] != "1m" {
		t.Errorf("pid %d, %s, %v; want pid %d with the new limit", now.Status.PID, now.Status.Phase, now.Spec["backoff"], a.Status.PID)
	}

	r.does(1, []string{"agent/a differs", "restart  spec.env[LOG_LEVEL].value: \"info\" -> \"debug\""}, "diff", "-f", r.given("a.yaml", document("debug", "1m")))
	r.does(0, []string{"agent/a configured\n    restarts: spec.env[LOG_LEVEL].value\n"}, "apply", "-f", path, "--wait")
	now, err = r.get("agent/a")
	must(t, err)
	p, live := lookup(now.Status.PID)
	if now.Status.PID == a.Status.PID || !live || !p.has("LOG_LEVEL", "debug") {
		t.Errorf("pid %d (live: %v) with %q, want another than %d", now.Status.PID, live, p.env, a.Status.PID)
	}
	gone(t, a.Status.PID)
	r.kept("agent/b", b)
	if want := document("debug", "1m") + "---\n" + other; r.manifestFile("both.yaml") != want {
		t.Errorf("the file is\n%s\nwant\n%s", r.manifestFile("both.yaml"), want)
	}
	r.does(0, []string{"agent/a unchanged\n"}, "apply", "-f", path)
	r.does(0, nil, "diff")
	r.kept("agent/a", now)
}

// Whoever waits is told why it does not come true, at once where it cannot.
func TestApplyWaitsInVain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	deaf := manifest("Agent", "deaf", "command: [sleep, '1000']\nports: [{port: 0}]")
	r.does(1, []string{"agent/deaf created", "agent/deaf is not ready after 300ms: NotListening: it does not listen on port"},
		"apply", "-f", r.given("deaf.yaml", deaf), "--wait", "--timeout", "300ms")
	fails := manifest("Agent", "fails", "command: [sh, -c, 'exit 3']\nrestartPolicy: Never\nports: [{port: 0}]")
	r.does(1, []string{"agent/fails will not be ready: Failed: exit code 3"}, "apply", "-f", r.given("fails.yaml", fails), "--wait", "--timeout", "1m")
	// The former manifest has failed, and this one has not.
	done := manifest("Agent", "fails", "command: [sh, -c, 'exit 0']\nrestartPolicy: Never\nports: [{port: 0}]")
	r.does(0, []string{"agent/fails is completed"}, "apply", "-f", r.given("fails.yaml", done), "--wait")
	// What is invalid on the disk is mended, by what was its last good content.
	r.write("a.yaml", agent("a"))
	before := r.running("agent/a")
	r.write("a.yaml", agent("a", "comand: [x]"))
	r.until("agent/a", "is not accepted", func(o object) bool { return o.condition("Accepted").Status == "False" })
	r.does(1, []string{"agent/a is not taken over", "did you mean command?", "the last good one stays in force"}, "diff")
	r.does(0, []string{"agent/a is ready"}, "apply", "-f", r.given("a.yaml", agent("a")), "--wait")
	r.kept("agent/a", before)
}

// Many commands at once lose nothing of one another, in one file.
func TestApplyManyAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const n = 8
	var all []string
	for i := range n {
		all = append(all, agent(fmt.Sprintf("a%d", i)))
	}
	r.write("all.yaml", strings.Join(all, "---\n"))
	r.start()
	r.live(n)
	paths := make([]string, n)
	for i := range n {
		name := fmt.Sprintf("a%d", i)
		paths[i] = r.given(name+".yaml", agent(name, "replicas: 2")+"---\n"+agent("new-"+name))
	}
	results := make([]result, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { results[i] = r.run("apply", "-f", paths[i]) })
	}
	wait.Wait()
	for i, res := range results {
		if res.code != 0 {
			t.Errorf("%d: %s", i, res.stderr)
		}
	}
	r.live(3 * n)
	if entries, err := os.ReadDir(r.manifests); err != nil || len(entries) != n+1 {
		t.Errorf("%d entries in the directory, want %d: %v, %v", len(entries), n+1, entries, err)
	}
}

// When delete ends nothing of the tree is left, and the other document of the file
// runs on.
func TestDeleteWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("both.yaml", agent("stays")+"---\n"+manifest("Agent", "goes", "command: [sh, -c, 'setsid sleep 1001 & exec sleep 1000']"))
	r.start()
	stays := r.running("agent/stays")
	r.running("agent/goes")
	r.live(3)
	r.does(0, []string{"agent/goes deleted\n", "agent/goes is gone\n"}, "delete", "agent/goes")
	if err := r.count(1); err != nil {
		t.Error(err)
	}
	r.kept("agent/stays", stays)
	if got := r.manifestFile("both.yaml"); got != agent("stays") {
		t.Errorf("the file is\n%s", got)
	}
	// Without a controller the file goes all the same, and the next one stops it.
	r.crash()
	r.does(0, []string{"agent/stays deleted\n", "note: no controller runs for"}, "delete", "agent/stays")
	if _, err := os.Stat(filepath.Join(r.manifests, "both.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	r.start()
	nothingLeft(t, r.owner)
}

// A suspension at runtime leaves the manifest alone, outlives the controller, and
// is taken back by resume; one in the manifest leaves no trace in it after.
func TestSuspendAndResume(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := "# about it\n" + agent("a", "# why\nonControllerExit: Stop")
	r.write("a.yaml", text)
	r.start()
	first := r.running("agent/a")

	r.does(0, []string{"agent/a suspended in " + filepath.Join(r.manifests, "a.yaml"), "agent/a is suspended\n"}, "suspend", "agent/a")
	if err := r.count(0); err != nil {
		t.Error(err)
	}
	gone(t, first.Status.PID)
	if !strings.Contains(r.manifestFile("a.yaml"), "spec:\n  suspend: true\n") {
		t.Errorf("the manifest is\n%s", r.manifestFile("a.yaml"))
	}
	r.does(0, []string{"agent/a resumed in ", "agent/a is ready\n"}, "resume", "agent/a")
	if r.manifestFile("a.yaml") != text {
		t.Errorf("the manifest is\n%s\nwant\n%s", r.manifestFile("a.yaml"), text)
	}

	r.does(0, []string{"agent/a suspended at runtime"}, "suspend", "--all", "--runtime")
	if err := r.count(0); err != nil {
		t.Error(err)
	}
	r.stop()
	r.start()
	r.until("agent/a", "is suspended still", func(o object) bool { return o.Status.Phase == "Suspended" })
	r.does(1, []string{"agent/a is suspended", "at runtime, and not by its manifest"}, "diff")
	if r.manifestFile("a.yaml") != text {
		t.Errorf("the manifest is\n%s\nwant\n%s", r.manifestFile("a.yaml"), text)
	}
	r.does(0, []string{"agent/a resumed at runtime", "agent/a is ready\n"}, "resume", "agent/a")
	r.live(1)
}

// A directory that cannot be written is left alone, and that is said in one line
// with what to do: that of another user, and one on a read-only file system.
func TestManifestsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	r := newRootRig(t)
	r.write("a.yaml", agent("a"))
	must(t, os.Chmod(filepath.Join(r.manifests, "a.yaml"), 0o600))
	must(t, os.Chmod(r.manifests, 0o755))
	path := r.given("b.yaml", agent("b"))
	secret := r.given("secret.yaml", agent("c"))
	must(t, os.Chmod(secret, 0o600))

	nobody := *r
	nobody.user = &syscall.Credential{Uid: 65534, Gid: 65534}
	nobody.does(1, []string{"cannot write into " + r.manifests + ": permission denied: it is of uid 0 with mode 0755; act as its owner"}, "apply", "-f", path)
	nobody.does(1, []string{"cannot check " + secret + ": permission denied"}, "apply", "-f", secret)
	nobody.does(1, []string{"cannot write into "}, "delete", "agent/a")
	nobody.does(1, []string{"cannot ask the controller on " + r.socket + ": ", "permission denied"}, "suspend", "agent/a") // at runtime, then
	nobody.does(1, []string{"cannot write into "}, "suspend", "agent/a", "--runtime=false")

	r.start()
	before := r.running("agent/a")
	readOnly := func(code int, words []string, args ...string) {
		t.Helper()
		wrap := []string{
			"unshare", "--mount", "--propagation", "private", "sh", "-ec",
			`mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; shift; exec "$@"`, "sh", r.manifests, controllerBinary,
		}
		argv := append(append(append(wrap, args[0]), r.paths()...), args[1:]...)
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Env = r.env
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("%q: exit code %d, want %d:\n%s", args, got, code, out)
		}
		for _, w := range words {
			if !strings.Contains(string(out), w) {
				t.Errorf("%q does not say %q:\n%s", args, w, out)
			}
		}
	}
	readOnly(1, []string{"cannot write into " + r.manifests + ": read-only file system: change the files where they come from"}, "apply", "-f", path)
	readOnly(0, []string{"agent/a suspended at runtime", "cannot be written into: read-only file system; --runtime=false writes it"}, "suspend", "agent/a")
	gone(t, before.Status.PID)
	readOnly(0, []string{"agent/a resumed at runtime"}, "resume", "agent/a")
	entries, err := os.ReadDir(r.manifests)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	throughout(t, 300*time.Millisecond, "one process", func() error { return r.count(1) })
}
