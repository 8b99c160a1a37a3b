//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recorder is a server that writes down when it got its stop signal.
func recorder(name, stamps, more string) string {
	return manifest("Agent", name, fmt.Sprintf(
		"command: [sh, -c, 'trap \"echo TERM >>%s; exit 0\" TERM; echo up >>%s; while :; do sleep 0.05; done']\n%s", stamps, stamps, more))
}

// stamped waits until the file has a line.
func stamped(t *testing.T, path, line string) string {
	t.Helper()
	var content []byte
	eventually(t, soon, path+" has "+line, func() (err error) {
		if content, err = os.ReadFile(path); err == nil && !strings.Contains(string(content), line+"\n") {
			err = fmt.Errorf("it has %q", content)
		}
		return err
	})
	return string(content)
}

// The hook comes before the signal, whatever the stop is for.
func TestPreStopComesBeforeTheSignal(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(r *rig, hook string){
		"removed": func(r *rig, _ string) { r.remove("a.yaml") },
		"suspended": func(r *rig, hook string) {
			r.write("a.yaml", recorder("a", filepath.Join(r.dir, "stamps"), hook+"\nsuspend: true"))
		},
		"shutdown": func(r *rig, _ string) { r.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			stamps := filepath.Join(r.dir, "stamps")
			hook := "lifecycle: {preStop: {exec: {command: [sh, -c, 'echo begins >>" + stamps + "; sleep 0.3; echo ends >>" + stamps + "']}}}"
			r.write("a.yaml", recorder("a", stamps, hook))
			r.start()
			o := r.running("agent/a")
			stamped(t, stamps, "up")
			stop(r, hook)
			gone(t, o.Status.PID)
			if got, want := stamped(t, stamps, "TERM"), "up\nbegins\nends\nTERM\n"; got != want {
				t.Errorf("%q, want %q", got, want)
			}
			nothingLeft(t, r.owner)
		})
	}
}

// A hook that hangs is cut off at the end of the grace period, and nothing of it
// or of the workload is left. One that fails is told of, and stops no stop.
func TestPreStopThatHangsOrFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stamps, other := filepath.Join(r.dir, "stamps"), filepath.Join(r.dir, "other")
	r.write("a.yaml", recorder("a", stamps, "terminationGracePeriodSeconds: 2\nlifecycle: {preStop: {exec: {command: [sh, -c, 'echo begins >>"+stamps+"; sleep 1001']}}}"))
	r.write("b.yaml", recorder("b", other, "lifecycle: {preStop: {exec: {command: [sh, -c, 'echo out of luck; exit 3']}}}"))
	r.start()
	a, b := r.running("agent/a"), r.running("agent/b")
	stamped(t, stamps, "up")
	stamped(t, other, "up")
	began := time.Now()
	r.remove("a.yaml")
	stamped(t, stamps, "begins")
	gone(t, a.Status.PID)
	if took := time.Since(began); took < 2*time.Second || took > 8*time.Second {
		t.Errorf("the stop took %v, want about the 2 s of the grace period and the hold", took)
	}
	if got := stamped(t, stamps, "begins"); strings.Contains(got, "TERM") {
		t.Errorf("%q: the stop signal came although the hook took all the time", got)
	}
	r.remove("b.yaml")
	gone(t, b.Status.PID)
	stamped(t, other, "TERM")
	eventually(t, soon, "the failure is in the event log", func() error {
		if out := r.run("events").stdout; !strings.Contains(out, "PreStopFailed") || !strings.Contains(out, "out of luck") {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
	nothingLeft(t, r.owner)
}
