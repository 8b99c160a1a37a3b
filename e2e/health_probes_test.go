//go:build linux

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A stopped process still takes connections. It is not ready within two periods,
// and liveness has it started anew.
func TestStoppedServerIsRestarted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const period = 4 * time.Second // three more than an attempt may take
	p := r.patient("MCPServer", "a", `
mcp: {}
readinessProbe: {mcp: {}, periodSeconds: 4, timeoutSeconds: 1, failureThreshold: 1}
livenessProbe: {mcp: {}, periodSeconds: 2, timeoutSeconds: 1, failureThreshold: 3}`)
	r.start()
	o := p.ready()
	at := time.Now()
	freeze(t, o.Status.PID)
	failed := r.awaitEvent("it is not ready", func(e event) bool {
		return e.Type == "ProbeFails" && e.PID == o.Status.PID && strings.HasPrefix(e.Message, "readiness: ")
	})
	if took := failed.Time.Sub(at); took > 2*period {
		t.Errorf("it took %v until that was known, want at most two periods of %v", took, period)
	}
	r.replaced(p.key, o)
	again := p.ready()
	if d := again.Status.LastDeath; d == nil || d.Reason != "LivenessFailed" || d.PID != o.Status.PID || !strings.Contains(d.Probe, "within 1s") {
		t.Errorf("last death: %+v", d)
	}
	if lt := again.Status.LastTermination; again.Status.Restarts != 1 || lt == nil || lt.Reason != "LivenessFailed" {
		t.Errorf("%d restarts, last termination %+v", again.Status.Restarts, lt)
	}
}

// freeze stops a process.
func freeze(t testing.TB, pid int) {
	t.Helper()
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	eventually(t, soon, fmt.Sprintf("pid %d is stopped", pid), func() error {
		if p, _ := lookup(pid); p.state != 'T' {
			return fmt.Errorf("it is %c", p.state)
		}
		return nil
	})
}

// The startup probe holds back liveness, which would not have patience.
func TestSlowStartIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.patient("Agent", "a", `
startupProbe: {httpGet: {path: /health}, periodSeconds: 1, failureThreshold: 60}
readinessProbe: {httpGet: {path: /health}, periodSeconds: 1}
livenessProbe: {httpGet: {path: /alive}, periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 1}`, "shut")
	r.start()
	o := r.until(p.key, "is starting", func(o object) bool { return o.Status.Phase == "Starting" && o.Status.Reason == "ProbeFailed" })
	throughout(t, 3*time.Second, "it may start", func() error { return stillRuns(o.Status.PID) })
	if now, err := r.get(p.key); err != nil || now.ready() {
		t.Errorf("it is ready although nobody listens: %v", err)
	}
	p.heals("shut")
	if now := p.ready(); now.Status.PID != o.Status.PID || now.Status.Restarts != 0 {
		t.Errorf("pid %d, %d restarts; was pid %d", now.Status.PID, now.Status.Restarts, o.Status.PID)
	}
	p.counts("asked-alive", 1)
}

// A server that is busy for longer than a timeout is not ready for that time, and
// is not started anew after one miss.
func TestBusyServerIsNotRestarted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.patient("Agent", "a", `
readinessProbe: {httpGet: {path: /health}, periodSeconds: 1, failureThreshold: 1}
livenessProbe: {httpGet: {path: /alive}, periodSeconds: 1, failureThreshold: 10}`)
	r.start()
	o := p.ready()
	p.ails("busy", "")
	p.counts("missed-alive", 1)
	r.until(p.key, "is not ready", func(o object) bool {
		return !o.ready() && o.Status.Reason == "ProbeFailed" && o.Status.Phase == "Running" && strings.Contains(o.Status.Message, "/health: no answer within 1s")
	})
	p.heals("busy")
	if now := p.ready(); now.Status.PID != o.Status.PID || now.Status.Restarts != 0 {
		t.Errorf("pid %d, %d restarts; was pid %d", now.Status.PID, now.Status.Restarts, o.Status.PID)
	}
}

// What never comes up is started anew, after its time and with back-off.
func TestStartupThatNeverSucceeds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.patient("Agent", "a", `
startupProbe: {httpGet: {path: /health}, periodSeconds: 1, failureThreshold: 1}
backoff: {initial: 1s, max: 1s}`)
	p.ails("sick", "no database\n")
	r.start()
	o := r.until(p.key, "was started anew twice", func(o object) bool { return o.Status.Restarts >= 2 })
	for _, got := range []string{o.Status.LastTermination.Reason, o.Status.LastDeath.Reason} {
		if got != "StartupFailed" {
			t.Errorf("ended by %s", got)
		}
	}
	if d := o.Status.LastDeath; !strings.Contains(d.Message, "no database") || !strings.Contains(d.Probe, "503") {
		t.Errorf("last death: %+v", d)
	}
	var starts []uint64 // by the kernel: events are noted when there is time
	for _, e := range r.events(p.key) {
		if e.Type == "Started" {
			starts = append(starts, e.StartTick)
		}
	}
	// One second to start in and one of back-off; a fork can come late, on a busy machine.
	for i := range len(starts) - 1 {
		if between := starts[i+1] - starts[i]; between < 150 {
			t.Errorf("%d0 ms between two starts", between)
		}
	}
	p.heals("sick")
	p.ready()
}

// Probes know ports by the names of the manifest.
func TestProbesKnowPortsByName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.patient("Agent", "a", `
ports: [{name: http}, {name: admin}]
startupProbe: {tcpSocket: {port: http}, periodSeconds: 1}
readinessProbe: {httpGet: {path: /admin, port: admin}, periodSeconds: 1, failureThreshold: 1}
livenessProbe: {exec: {command: [sh, -c, 'echo "$PORT_HTTP $PORT_ADMIN" >`+r.file("ports")+`']}, periodSeconds: 1}`)
	r.start()
	o := p.ready()
	numbers := map[string]int{}
	for _, port := range o.Status.Ports {
		numbers[port.Name] = port.Port
	}
	p.counts("asked-admin", 1)
	stamped(t, r.file("ports"), fmt.Sprintf("%d %d", numbers["http"], numbers["admin"]))
	p.ails("sick", "out of order")
	want := fmt.Sprintf("GET http://127.0.0.1:%d/admin: 503 Service Unavailable: out of order", numbers["admin"])
	r.until(p.key, "says "+want, func(o object) bool { return o.Status.Message == want })
}

// The verdict on a process that is gone says nothing of the one that came after
// it, although that is asked the same.
func TestLateVerdict(t *testing.T) {
	t.Parallel()
	var turn atomic.Int64
	asked := []chan struct{}{make(chan struct{}), make(chan struct{})}
	verdict, told := make(chan struct{}), make(chan struct{})
	l, port := holdPort(t)
	judge := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := int(turn.Add(1)) - 1
		if n < len(asked) {
			close(asked[n])
		}
		if n == 0 {
			<-verdict
			w.WriteHeader(http.StatusInternalServerError)
			close(told)
		}
	})}
	go judge.Serve(l)
	t.Cleanup(func() { judge.Close() })

	r := newRig(t)
	r.write("a.yaml", agent("a", fmt.Sprintf(
		"livenessProbe: {httpGet: {port: %d}, periodSeconds: 6, timeoutSeconds: 6, failureThreshold: 1}\nbackoff: {initial: 10ms, max: 10ms}", port)))
	r.start()
	o := r.running("agent/a")
	receive(t, asked[0], "it is asked after")
	p, _ := lookup(o.Status.PID)
	end(p)
	o = r.replaced("agent/a", o)
	receive(t, asked[1], "the next one is asked after")
	close(verdict)
	receive(t, told, "the verdict is given")
	throughout(t, 2*time.Second, "the next one runs on", func() error { return stillRuns(o.Status.PID) })
}

// receive waits for a channel to be closed.
func receive(t *testing.T, from <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-from:
	case <-time.After(2 * soon):
		t.Fatalf("%s: not within %v", what, 2*soon)
	}
}
