//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// reapedProcess is one line of `reap -o json`.
type reapedProcess struct {
	PID                                 int
	Key, Instance, Role, Action, Result string
}

// reap runs the verb with the rig's paths and wants the exit code.
func (r *rig) reap(code int, args ...string) (rows []reapedProcess, stderr string) {
	r.t.Helper()
	res := r.run("reap", append(args, "-o", "json")...)
	if res.code != code {
		r.t.Fatalf("reap %v: exit code %d, want %d; stdout:\n%s\nstderr:\n%s", args, res.code, code, res.stdout, res.stderr)
	}
	if res.stdout == "" {
		return nil, res.stderr
	}
	if err := json.Unmarshal([]byte(res.stdout), &rows); err != nil {
		r.t.Fatalf("reap %v: %v in %q", args, err, res.stdout)
	}
	return rows, res.stderr
}

func reapedPIDs(rows []reapedProcess) (pids []int) {
	for _, row := range rows {
		pids = append(pids, row.PID)
	}
	slices.Sort(pids)
	return pids
}

// recorderManifest is an agent that is kept and writes down what it is sent.
func (r *rig) recorderManifest(name string) string {
	return manifest("Agent", name, fmt.Sprintf(
		"command: [%s]\nenv: [{name: %s, value: record-signals}, {name: %s, value: %s}]\nonControllerExit: Keep",
		os.Args[0], payloadVariable, recorderVariable, r.file(name+".signals")))
}

// After the crash of a controller its kept workloads are there until somebody
// asks for them to be stopped. Then whole trees go, and nobody else.
func TestReapAfterACrash(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", r.recorderManifest("a"))
	r.write("tree.yaml", manifest("Agent", "tree",
		"command: [sh, -c, 'setsid sleep 1001 & sh -c \"trap : TERM; sleep 1002; sleep 1003\" & wait']\nonControllerExit: Keep\nterminationGracePeriodSeconds: 1"))
	r.start()
	r.running("agent/a")
	r.running("agent/tree")
	r.live(5)
	signals := r.file("a.signals")
	eventually(t, soon, "the recorder is ready", func() error { _, err := os.Stat(signals); return err })
	other := r.pose("record-signals", posedMarkers(r.owner+"-other", "a", "other", "Stop")...)

	if _, stderr := r.reap(1, "--include-keep"); !strings.Contains(stderr, fmt.Sprintf("its controller runs (pid %d)", r.pid())) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("refusal: %q", stderr)
	}
	r.crash()
	before := marked(r.owner)
	if rows, stderr := r.reap(0); len(rows) != 0 || strings.Count(stderr, "is left running: onControllerExit is Keep") != 2 {
		t.Errorf("without --include-keep: %v, %q", rows, stderr)
	}
	plan, _ := r.reap(0, "--include-keep", "--dry-run")
	if got := recorded(t, signals); len(got) > 0 {
		t.Errorf("signals of what signals nothing: %v", got)
	}
	if now := marked(r.owner); len(now) != len(before) || len(now) != 5 {
		t.Errorf("%d processes before, %d after a dry run", len(before), len(now))
	}

	rows, _ := r.reap(0, "--include-keep")
	if !slices.Equal(reapedPIDs(plan), reapedPIDs(rows)) || len(rows) != 5 {
		t.Errorf("planned %v, done %v", plan, rows)
	}
	for _, row := range rows {
		if row.Result != "gone" || row.Action == "none" || row.Key == "" {
			t.Errorf("row %+v", row)
		}
	}
	nothingLeft(t, r.owner)
	if got := recorded(t, signals); !slices.Contains(got, "terminated") {
		t.Errorf("the workload got %v, want its stop signal", got)
	}
	other.untouched(t, "a process of another owner")

	var reaped int
	for _, e := range r.events() {
		if e.Reason == "Reaped" && e.Type == "Signalled" && len(e.Evidence) > 0 {
			reaped++
		}
	}
	if reaped == 0 {
		t.Error("the event log has no signal of the reap")
	}
	r.start() // its lock is back, and it starts what is wanted
	r.running("agent/a")
	r.remove("a.yaml")
	r.remove("tree.yaml")
	nothingLeft(t, r.owner)
}

// No controller ever ran and there is no state: the processes are enough. Only
// what says that it is to stop does, and look-alikes stay.
func TestReapByMarkersAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.pose("record-signals", posedMarkers(r.owner, "stop", "aaaa", "Stop")...)
	deaf := r.pose("record-signals-deaf", posedMarkers(r.owner, "deaf", "bbbb", "Stop")...)
	keep := r.pose("record-signals", posedMarkers(r.owner, "keep", "cccc", "Keep")...)
	strangers := map[string]*lookalike{
		"without a name":         r.pose("record-signals", slices.Delete(posedMarkers(r.owner, "x", "dddd", "Stop"), 5, 6)...),
		"with both names":        r.pose("record-signals", append(posedMarkers(r.owner, "x", "eeee", "Stop"), "MCP_SERVICE_ID=y")...),
		"without the subprocess": r.pose("record-signals", posedMarkers(r.owner, "x", "ffff", "Stop")[1:]...),
		"in a longer value":      r.pose("record-signals", "X="+strings.Join(posedMarkers(r.owner, "x", "gggg", "Stop"), " ")),
		"of another owner":       r.pose("record-signals", posedMarkers(r.owner+"x", "x", "hhhh", "Stop")...),
	}

	plan, _ := r.reap(0, "--dry-run")
	want := []int{stop.pid, deaf.pid}
	slices.Sort(want)
	if got := reapedPIDs(plan); !slices.Equal(got, want) {
		t.Errorf("planned %v, want %v", got, want)
	}
	for _, l := range []*lookalike{stop, deaf, keep} {
		l.untouched(t, "by a dry run: a process")
	}

	rows, _ := r.reap(0, "--grace", "300ms")
	if got := reapedPIDs(rows); !slices.Equal(got, want) {
		t.Errorf("reaped %v, want %v", got, want)
	}
	for _, l := range []*lookalike{stop, deaf} {
		if p, ok := lookup(l.pid); ok {
			t.Errorf("%v still runs", p)
		}
		if got := recorded(t, l.file); !slices.Contains(got, "terminated") {
			t.Errorf("pid %d got %v, want its stop signal first", l.pid, got)
		}
	}
	keep.untouched(t, "a kept process")
	for what, l := range strangers {
		l.untouched(t, "a process "+what)
	}
	if _, err := os.Stat(r.state); !os.IsNotExist(err) {
		t.Errorf("a state directory was made: %v", err)
	}
	rows, _ = r.reap(0, "--include-keep")
	if got := reapedPIDs(rows); !slices.Equal(got, []int{keep.pid}) {
		t.Errorf("with --include-keep: %v, want %d", got, keep.pid)
	}
	if rows, _ = r.reap(0, "--include-keep"); len(rows) != 0 {
		t.Errorf("what is gone is reaped again: %v", rows)
	}
}

// Where somebody else's process has the name of the lock, whether a controller
// lives cannot be told: nothing is stopped.
func TestReapRefusesWhereItCannotTell(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	t.Parallel()
	r := newRig(t)
	p := r.pose("record-signals", posedMarkers(r.owner, "a", "aaaa", "Stop")...)
	squatter := exec.Command(os.Args[0])
	squatter.Env = append(cleanEnvironment(), runMarker+"="+runID, payloadVariable+"=squat",
		"E2E_ADDRESS=@proc-controller/0/"+r.owner)
	squatter.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := squatter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := copyForOthers(t, squatter); err != nil {
		t.Fatal(err)
	}
	if err := squatter.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = squatter.Process.Kill(); _ = squatter.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the squatter does not listen: %v", err)
	}
	if _, stderr := r.reap(1); !strings.Contains(stderr, "whether its controller lives cannot be told") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("refusal: %q", stderr)
	}
	p.untouched(t, "a process of an owner that cannot be told")
}

// copyForOthers lets a command of this binary be run by another user.
func copyForOthers(t *testing.T, cmd *exec.Cmd) error {
	dir, err := os.MkdirTemp("", "e2e-self")
	if err != nil {
		return err
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	content, err := os.ReadFile(os.Args[0])
	if err != nil {
		return err
	}
	cmd.Path = dir + "/self"
	if err := writeProgram(cmd.Path, content); err != nil {
		return err
	}
	return os.Chmod(dir, 0o755)
}

// Every dead controller's processes, and nobody else's: in a PID namespace of
// its own, where no process of the machine can be seen.
func TestReapOrphaned(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, for a PID namespace")
	}
	t.Parallel()
	r := newRig(t)
	r.write("alive.yaml", agent("alive"))
	script := `
set -e
pc="$1"; shift
mark() { # OWNER NAME ON_EXIT
  env PROC_CONTROLLER_SUBPROCESS=1 PROC_CONTROLLER_OWNER=$1 PROC_CONTROLLER_INSTANCE=$2-1 PROC_CONTROLLER_ON_EXIT=$3 AGENT_NAME=$2 setsid sleep 1000 &
}
mark "$OWNER-one" one Stop
mark "$OWNER-two" two Stop
mark "$OWNER-two" kept Keep
"$pc" run "$@" --scopes=off 2>/dev/null &
controller=$!
n=0
until "$pc" get "$@" agent/alive 2>/dev/null | grep -q Running && [ "$("$pc" ps | grep -c "$OWNER-")" = 3 ]; do
  n=$((n+1)); [ $n -lt 400 ]; timeout 0.05 tail -f /dev/null || true
done
echo dry; "$pc" reap --orphaned --dry-run --grace 2s
echo reap; "$pc" reap --orphaned --grace 2s
echo left; "$pc" ps
kill $controller; wait $controller
`
	cmd := exec.Command("unshare", append([]string{
		"--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script, "sh", controllerBinary,
	}, r.paths()...)...)
	cmd.Env = append(slices.Clone(r.env), "OWNER="+r.owner)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, left, _ := strings.Cut(string(out), "left\n")
	planned, reaped, _ := strings.Cut(text, "reap\n")
	for name, goes := range map[string]bool{"one": true, "two": true, "kept": false, "alive": false} {
		key := "Agent/" + name + " "
		if strings.Contains(planned, key) != goes || strings.Contains(reaped, key) != goes || strings.Contains(left, key) == goes {
			t.Errorf("%s: goes: %v, but\n%s", key, goes, out)
		}
	}
	if strings.Count(reaped, " gone") != 2 {
		t.Errorf("not all is gone:\n%s", reaped)
	}
}
