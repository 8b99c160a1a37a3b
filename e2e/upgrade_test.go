//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// info is what the API tells of the controller itself.
type info struct {
	PID, Upgrades  int
	Ready          bool
	UpgradeFailure string
	Unattributed   []struct{ PID int }
}

// client asks the socket.
func (r *rig) client(patience time.Duration) *http.Client {
	return &http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", r.socket)
		},
	}}
}

func (r *rig) info() (i info, err error) {
	client := r.client(5 * time.Second)
	resp, err := client.Get("http://controller/apis/proc-controller.dev/v1alpha1/controller")
	if err != nil {
		return i, err
	}
	defer resp.Body.Close()
	return i, json.NewDecoder(resp.Body).Decode(&i)
}

// unattributed counts what the controller shows as nobody's.
func (r *rig) unattributed() int {
	r.t.Helper()
	i, err := r.info()
	if err != nil {
		r.t.Fatal(err)
	}
	return len(i.Unattributed)
}

// ownBinary gives the rig a copy of the binary, reached through a symlink as
// installers make it, and gives a function that puts another one there.
func (r *rig) ownBinary() (install func(content []byte)) {
	r.t.Helper()
	content, err := os.ReadFile(controllerBinary)
	if err != nil {
		r.t.Fatal(err)
	}
	link := filepath.Join(r.dir, "pc")
	n := 0
	install = func(content []byte) {
		n++
		file := filepath.Join(r.dir, fmt.Sprintf("pc-%d", n))
		if err := writeProgram(file, content); err != nil {
			r.t.Fatal(err)
		}
		if err := os.Symlink(file, link+".new"); err != nil {
			r.t.Fatal(err)
		}
		if err := os.Rename(link+".new", link); err != nil {
			r.t.Fatal(err)
		}
		if n > 1 { // the old version is uninstalled
			_ = os.Remove(filepath.Join(r.dir, fmt.Sprintf("pc-%d", n-1)))
		}
	}
	install(content)
	r.binary = link
	return install
}

// upgraded waits until the controller has been replaced n times.
func (r *rig) upgraded(n int) {
	r.t.Helper()
	eventually(r.t, soon, fmt.Sprintf("%d upgrades", n), func() error {
		r.alive()
		i, err := r.info()
		if err == nil && (i.Upgrades != n || !i.Ready || i.PID != r.pid()) {
			err = fmt.Errorf("%+v", i)
		}
		return err
	})
}

// image is the file that a process runs.
func image(t *testing.T, pid int) string {
	t.Helper()
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// An upgrade changes the program and nothing else: pids, descendants, restarts,
// back-off, guard. So does a second one, by signal.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for _, state := range []bool{true, false} {
		t.Run(fmt.Sprintf("state=%v", state), func(t *testing.T) {
			t.Parallel()
			testUpgrade(t, state)
		})
	}
}

func testUpgrade(t *testing.T, state bool) {
	r := newRig(t)
	install := r.ownBinary()
	if !state {
		if err := os.WriteFile(r.state, nil, 0o600); err != nil { // no directory can be there
			t.Fatal(err)
		}
	}
	seconds := aNap()
	r.write("tree.yaml", manyOf("tree", seconds, "backoff: {initial: 10ms, max: 10ms}"))
	r.write("kept.yaml", agent("kept", "onControllerExit: Keep"))
	r.write("crash.yaml", manifest("Agent", "crash", "command: [sh, -c, 'exit 3']\nbackoff: {initial: 300s, max: 300s}"))
	r.write("once.yaml", manifest("Agent", "once", "command: ['true']\nrestartPolicy: Never"))
	r.start()
	first := r.running("agent/tree")
	up(t, seconds, treeSize)
	end(mustLookup(t, first.Status.PID))
	r.until("agent/tree", "was restarted", func(o object) bool { return o.Status.Restarts == 1 && o.Status.PID > 0 })
	sleepers := idents(up(t, seconds, treeSize))
	tree, kept := r.running("agent/tree"), r.running("agent/kept")
	crash := r.until("agent/crash", "is in back-off", func(o object) bool { return o.Status.Phase == "BackOff" })
	r.until("agent/once", "is completed", func(o object) bool { return o.Status.Phase == "Completed" })
	guard := r.guard()
	descriptors := r.settled().descriptors

	content, err := os.ReadFile(controllerBinary)
	if err != nil {
		t.Fatal(err)
	}
	install(content)
	if res := r.run("upgrade"); res.code != 0 || !strings.Contains(res.stdout, fmt.Sprint(r.pid())) {
		t.Fatalf("upgrade: exit code %d: %s%s", res.code, res.stdout, res.stderr)
	}
	r.upgraded(1)
	if exe := image(t, r.pid()); exe != filepath.Join(r.dir, "pc-2") {
		t.Errorf("it runs %s", exe)
	}
	install(content)
	r.signal(syscall.SIGUSR2)
	r.upgraded(2)

	for key, before := range map[string]object{"agent/tree": tree, "agent/kept": kept} {
		after := r.running(key)
		if after.Status.PID != before.Status.PID || after.Status.Restarts != before.Status.Restarts {
			t.Errorf("%s: pid %d, %d restarts; want %d, %d", key, after.Status.PID, after.Status.Restarts, before.Status.PID, before.Status.Restarts)
		}
	}
	if after := idents(up(t, seconds, treeSize)); after != sleepers {
		t.Errorf("the tree is %s, was %s", after, sleepers)
	}
	o := r.until("agent/crash", "is in back-off", func(o object) bool { return o.Status.Phase == "BackOff" })
	if o.Status.Restarts != crash.Status.Restarts || o.Status.LastTermination.ExitCode != 3 {
		t.Errorf("back-off is forgotten: %+v, was %+v", o.Status, crash.Status)
	}
	r.until("agent/once", "is completed", func(o object) bool { return o.Status.Phase == "Completed" })
	if g := r.guard(); g.pid != guard.pid {
		t.Errorf("guard is pid %d, was %d", g.pid, guard.pid)
	}
	if n := r.settled().descriptors; n > descriptors+1 {
		t.Errorf("%d descriptors, were %d", n, descriptors)
	}
	r.afterUpgrade(seconds)
}

// afterUpgrade wants everything to work as before: ends are reported, and the
// death of the controller ends what is to end.
func (r *rig) afterUpgrade(seconds string) {
	t := r.t.(*testing.T)
	before := r.running("agent/tree")
	if err := syscall.Kill(before.Status.PID, syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	after := r.replaced("agent/tree", before)
	if after.Status.Restarts != before.Status.Restarts+1 || after.Status.LastTermination.Signal != "SIGUSR1" {
		t.Errorf("%d restarts, last ended by %q; want %d and SIGUSR1", after.Status.Restarts, after.Status.LastTermination.Signal, before.Status.Restarts+1)
	}
	kept := r.running("agent/kept")
	up(t, seconds, treeSize)
	r.killedWithin(10*time.Second, seconds)
	r.unguarded(soon)
	if err := stillRuns(kept.Status.PID); err != nil {
		t.Errorf("Keep: %v", err)
	}
	end(mustLookup(t, kept.Status.PID))
}

func mustLookup(t *testing.T, pid int) proc {
	t.Helper()
	p, ok := lookup(pid)
	if !ok {
		t.Fatalf("pid %d has ended", pid)
	}
	return p
}

// The parent-death signal of the children is armed after an upgrade as before,
// with no guard to make up for it.
func TestUpgradeKeepsTheDeathSignal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ownBinary()
	r.write("a.yaml", agent("a"))
	r.start()
	o := r.running("agent/a")
	for n := range 3 {
		if res := r.run("upgrade"); res.code != 0 {
			t.Fatalf("upgrade: %s", res.stderr)
		}
		r.upgraded(n + 1)
	}
	if err := stillRuns(o.Status.PID); err != nil {
		t.Fatal(err)
	}
	g := r.guard()
	if err := syscall.Kill(g.pid, syscall.SIGSTOP); err != nil { // it will do nothing
		t.Fatal(err)
	}
	r.crash()
	gone(t, o.Status.PID)
	end(g)
}

// What cannot take over is refused, with words, and changes nothing.
func TestUpgradeRefusesWhatCannotTakeOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	install := r.ownBinary()
	r.write("a.yaml", agent("a"))
	r.start()
	o := r.running("agent/a")
	for what, content := range map[string]string{
		"fails":              "#!/bin/sh\necho broken library >&2\nexit 127\n",
		"is another program": "#!/bin/sh\nexit 0\n",
		"is older":           "#!/bin/sh\necho '{\"version\":\"v0\"}'\n",
		"is no program":      "nonsense",
	} {
		install([]byte(content))
		res := r.run("upgrade")
		if res.code != 1 || !strings.Contains(res.stderr, "cannot upgrade") || strings.Count(res.stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d: %s%s", what, res.code, res.stdout, res.stderr)
		}
		r.alive()
	}
	i, err := r.info()
	if err != nil || i.Upgrades != 0 {
		t.Errorf("%+v, %v", i, err)
	}
	if now := r.running("agent/a"); now.Status.PID != o.Status.PID || now.Status.Restarts != 0 {
		t.Errorf("pid %d, was %d", now.Status.PID, o.Status.PID)
	}
}

// A stop that is under way goes on across an upgrade: with the grace period that
// has begun, and as no crash.
func TestUpgradeInTheMiddleOfAStop(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ownBinary()
	r.write("a.yaml", manifest("Agent", "slow",
		`command: [sh, -c, 'trap "sleep 2; exit 5" TERM; echo up; while :; do sleep 0.1; done']`))
	r.start()
	before := r.running("agent/slow")
	minds(t, before.Status.PID, syscall.SIGTERM)
	r.write("a.yaml", agent("slow"))
	eventually(t, soon, "it is being replaced", func() error {
		if !strings.Contains(r.proc.stderr.String(), "stopping  ") {
			return errors.New("not yet")
		}
		return nil
	})
	if res := r.run("upgrade"); res.code != 0 {
		t.Fatalf("upgrade: %s", res.stderr)
	}
	after := r.replaced("agent/slow", before)
	if after.Status.Restarts != 0 || after.Status.LastTermination.Reason != "Stopped" {
		t.Errorf("%d restarts, last end %+v; want none, and a planned end", after.Status.Restarts, after.Status.LastTermination)
	}
	r.stop()
}

// What dies while one program follows another has ended by itself, and is told of
// like any other end; a guard that dies then is replaced, and by one.
func TestUpgradeTellsOfWhatDiesInIt(t *testing.T) {
	t.Parallel()
	const rounds = 6
	r := newRig(t)
	r.ownBinary()
	for n := range rounds {
		r.write(fmt.Sprintf("a%d.yaml", n), agent(fmt.Sprintf("a%d", n), "restartPolicy: Never"))
	}
	r.start()
	for n := range rounds {
		key := fmt.Sprintf("agent/a%d", n)
		before, guard := r.running(key), r.guard()
		r.signal(syscall.SIGUSR2)
		eventually(t, soon, "the upgrade has begun", func() error {
			if begun := strings.Count(r.proc.stderr.String(), "upgrading  "); begun != n+1 {
				return fmt.Errorf("%d have begun", begun)
			}
			return nil
		})
		for _, pid := range []int{before.Status.PID, guard.pid} {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		r.upgraded(n + 1)
		after := r.until(key, "has failed, and says how", func(o object) bool {
			return o.Status.Phase == "Failed" && o.Status.LastTermination != nil
		})
		if after.Status.LastTermination.Signal != "SIGKILL" || after.Status.Restarts != 0 {
			t.Errorf("%s: last end %+v, %d restarts", key, after.Status.LastTermination, after.Status.Restarts)
		}
		r.guard(guard.pid)
	}
	r.stop()
}

// An order to end that comes while one program follows the other is not swallowed:
// who caught it obeys it, also if it has almost left.
func TestUpgradeForgetsNoSignal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ownBinary()
	r.write("a.yaml", agent("a"))
	r.write("clock.yaml", manifest("MCPServer", "clock", "command: ["+clockBinary+"]\nmcp: {protocol: Legacy}\nports: [{name: http}]"))
	r.start()
	a := r.running("agent/a")
	o, _ := r.available("mcp/clock")
	if err := syscall.Kill(o.Status.PID, syscall.SIGSTOP); err != nil { // its session takes a second to end
		t.Fatal(err)
	}
	r.signal(syscall.SIGUSR2)
	eventually(t, soon, "the controller stands still", func() error {
		r.alive()
		client := r.client(200 * time.Millisecond)
		resp, err := client.Get("http://controller/apis/proc-controller.dev/v1alpha1/controller")
		if err == nil {
			resp.Body.Close()
			return errors.New("it answers")
		}
		if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() {
			return err
		}
		return nil
	})
	r.signal(syscall.SIGTERM)
	if code := r.exit(soon); code != 0 {
		t.Errorf("exit code %d", code)
	}
	gone(t, a.Status.PID)
	gone(t, o.Status.PID)
}

// What the next program cannot have any more is no reason to end what runs. If it
// has to end all the same, nothing of what ran is left.
func TestUpgradeThatCannotGoOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ownBinary()
	r.flags = append(r.flags, "--listen=127.0.0.1:0")
	seconds := aNap()
	r.write("tree.yaml", manyOf("tree", seconds))
	r.write("kept.yaml", agent("kept", "onControllerExit: Keep"))
	r.start()
	tree, kept := r.running("agent/tree"), r.running("agent/kept")
	before := idents(up(t, seconds, treeSize))
	if err := os.Chmod(filepath.Join(r.state, "token"), 0o644); err != nil { // which is refused
		t.Fatal(err)
	}
	r.signal(syscall.SIGUSR2)
	r.upgraded(1)
	if now := r.running("agent/tree"); now.Status.PID != tree.Status.PID || idents(up(t, seconds, treeSize)) != before {
		t.Errorf("without its port: pid %d, was %d", now.Status.PID, tree.Status.PID)
	}
	for _, err := range []error{os.Remove(r.socket), os.Mkdir(r.socket, 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r.signal(syscall.SIGUSR2)
	if code := r.exit(soon); code != 1 {
		t.Errorf("exit code %d", code)
	}
	r.unguarded(soon)
	up(t, seconds, 0)
	if err := stillRuns(kept.Status.PID); err != nil {
		t.Errorf("Keep: %v", err)
	}
	end(mustLookup(t, kept.Status.PID))
}
