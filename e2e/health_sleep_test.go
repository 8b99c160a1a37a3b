//go:build linux

package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// Time in which the controller did not run is nobody's fault: neither an attempt
// that was under way meanwhile nor a deadline that has passed stops a workload.
// What was not asked is not made up for.
func TestStoppedControllerBlamesNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	steady := r.patient("Agent", "steady", `
readinessProbe: {httpGet: {path: /health}, periodSeconds: 1, failureThreshold: 1}
livenessProbe: {httpGet: {path: /alive}, periodSeconds: 1, failureThreshold: 3}`)
	asked := r.patient("Agent", "asked", `
startupProbe: {httpGet: {path: /health}, periodSeconds: 1}
livenessProbe: {httpGet: {path: /alive}, periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 1}`)
	r.start()
	pids := map[*patient]int{steady: steady.ready().Status.PID}
	asked.ready()
	asked.ails("busy", "")
	before := asked.counted("asked-alive")
	asked.counts("asked-alive", before+1)
	// It comes last: of its eight seconds some have to be left.
	starting := r.patient("Agent", "starting", `startupProbe: {httpGet: {path: /health}, periodSeconds: 1, failureThreshold: 8}`, "sick")
	for _, p := range []*patient{asked, starting} {
		pids[p] = p.lives().Status.PID
	}

	freeze(t, r.pid())
	questions := steady.counted("asked-health") + steady.counted("asked-alive")
	runs := func() error {
		for p, pid := range pids {
			if err := stillRuns(pid); err != nil {
				return fmt.Errorf("%s: %w", p.key, err)
			}
		}
		return nil
	}
	throughout(t, 10*time.Second, "nobody is there to stop them", runs)
	at := time.Now()
	r.signal(syscall.SIGCONT)
	throughout(t, time.Second, "they run on", runs)
	asked.heals("busy") // too late for the attempt that was under way, in time for the next
	throughout(t, 3*time.Second, "they run on", runs)
	took := time.Since(at)
	if n := steady.counted("asked-health") + steady.counted("asked-alive") - questions; n < 2 || n > 2*(int(took/time.Second)+2) {
		t.Errorf("asked %d times in %v after 10 s in which nobody asked; want about %d", n, took, 2*took/time.Second)
	}
	starting.heals("sick")
	for p, pid := range pids {
		if o := p.ready(); o.Status.PID != pid || o.Status.Restarts != 0 {
			t.Errorf("%s is pid %d after %d restarts, was %d", p.key, o.Status.PID, o.Status.Restarts, pid)
		}
	}
}
