package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/actuate"
	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// launcher is a controller without a loop: it has a guard, starts one workload,
// and writes nothing down, as if it stood still in the middle of a start. Its
// arguments are the owner, the value of onControllerExit, and a script.
const launcher = "launcher"

func init() { programs[launcher] = launch }

func launch() {
	if isGuard(os.Args[1:]) {
		main()
		return
	}
	if err := launchOne(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {} // until it is killed
}

func launchOne(owner, onExit, script string) (err error) {
	log := newLogger(os.Stderr, "text", false, fileLook)
	m := &machine{log: log, place: place{owner: spec.Owner(owner), uid: os.Getuid(), manifests: filepath.Dir(script)}}
	if err := m.takeLock(""); err != nil {
		return err
	}
	m.actuator, err = actuate.New(actuate.Options{
		Owner: m.place.owner, UID: m.place.uid, Home: "/nonexistent", Environ: []string{"PATH=/usr/bin:/bin"}, Scopes: scope.Off, Log: log,
	})
	if err != nil {
		return err
	}
	m.postGuard(&runFlags{logFormat: "text"}, "", scope.Off)
	m.actuator.Pause() // what ends from now on is a zombie of ours
	o := &spec.Object{APIVersion: spec.APIVersion, Kind: spec.KindAgent, Metadata: spec.Metadata{Name: "a"}}
	o.Spec = spec.Defaulted(spec.Spec{Command: []string{"/bin/sh", script}, OnControllerExit: spec.OnControllerExit(onExit)})
	_, err = m.actuator.Start(&spec.Entry{Key: o.Key(), Object: o, Hash: "abc123", Dir: filepath.Dir(script)}, "token", nil)
	return err
}

// A controller can be killed so soon after a fork that its ledger knows nothing of
// the instance; and a member can have cleared its environment by then. The guard
// ends it all the same, and leaves what is to be kept.
func TestGuardKnowsWhatNoLedgerDoes(t *testing.T) {
	t.Parallel()
	for n, c := range []struct {
		name   string
		onExit spec.OnControllerExit
		then   string // what the main process does besides
		stays  bool
	}{
		{"Stop", spec.ExitStop, "wait", false},
		{"Stop, its main process is dead", spec.ExitStop, "exit", false},
		{"Keep", spec.ExitKeep, "wait", true},
		{"Keep, its main process is dead", spec.ExitKeep, "exit", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			owner := fmt.Sprintf("launcher-%d-%d", os.Getpid(), n)
			member, said := killedAtLaunch(t, owner, c.onExit, "env -i /bin/sh -c 'echo $$; exec /bin/sleep 1000' >member & "+c.then)
			if gone := observe.Verify(member) != nil; gone == c.stays {
				t.Errorf("after the guard has ended: gone %v, want %v\nit said:\n%s", gone, !c.stays, said)
			}
		})
	}
}

// killedAtLaunch kills a launcher once its workload has a member, which has written
// its pid to a file, and waits for the end of the guard. It gives the member and
// what the guard has said.
func killedAtLaunch(t *testing.T, owner string, onExit spec.OnControllerExit, script string) (member observe.Ident, said string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "script")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { endAll(owner) })
	var stderr bytes.Buffer
	cmd := exec.Command(launcher, owner, string(onExit), file)
	cmd.Stderr = &stderr // shared with the guard: it ends when both have ended
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	member = awaitMember(t, filepath.Join(dir, "member"), ended)
	t.Cleanup(func() { endOne(member) })
	_ = cmd.Process.Kill()
	select {
	case <-ended:
	case <-time.After(40 * time.Second):
		t.Fatal("the guard does not end")
	}
	return member, stderr.String()
}

// awaitMember waits until a member has written its pid.
func awaitMember(t *testing.T, file string, ended <-chan struct{}) observe.Ident {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(20 * time.Second); ; {
		content, _ := os.ReadFile(file)
		if line, _, whole := strings.Cut(string(content), "\n"); whole {
			pid, err := strconv.Atoi(line)
			if err != nil {
				t.Fatal(err)
			}
			p, err := observe.ReadProcess(pid)
			if err != nil {
				t.Fatal(err)
			}
			return p.Ident
		}
		select {
		case <-tick.C:
		case <-ended:
			t.Fatal("the launcher has ended")
		case <-limit:
			t.Fatal("no member is there")
		}
	}
}

// endOne ends a process that is still the same.
func endOne(id observe.Ident) {
	p, err := os.FindProcess(id.PID) // a handle, so what is verified now is what is killed
	if err == nil && observe.Verify(id) == nil {
		_ = p.Kill()
	}
}
