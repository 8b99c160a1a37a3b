//go:build linux && amd64

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The wall clock is set back an hour while a back-off, a hold and a grace period
// run. None of them lasts an hour, and what runs is left as it is.
func TestClockSetBackWhileItRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.flags = []string{"--scopes=off", "--delete-hold=3s"}
	deaf := fmt.Sprintf("command: [%s]\nenv: [{name: %s, value: record-signals-deaf}, {name: %s, value: %s}]\nterminationGracePeriodSeconds: 10",
		os.Args[0], payloadVariable, recorderVariable, r.file("signals"))
	r.write("steady.yaml", agent("steady"))
	r.write("crashes.yaml", agent("crashes", "backoff: {initial: 10s, max: 10s}"))
	r.write("stops.yaml", manifest("Agent", "stops", deaf))
	for _, name := range []string{"held-1", "held-2"} {
		r.write(name+".yaml", agent(name))
	}
	r.start()
	steady, crashes, stops := r.running("agent/steady"), r.running("agent/crashes"), r.running("agent/stops")
	held1, held2 := r.running("agent/held-1"), r.running("agent/held-2")
	eventually(t, soon, "the deaf one is deaf", func() error { _, err := os.Stat(r.file("signals")); return err })

	r.write("stops.yaml", manifest("Agent", "stops", deaf+"\nsuspend: true"))
	r.until("agent/stops", "is being stopped", func(o object) bool { return o.Status.Phase == "Stopping" })
	p, _ := lookup(crashes.Status.PID)
	end(p)
	r.until("agent/crashes", "is in back-off", func(o object) bool { return o.Status.Phase == "BackOff" })
	r.remove("held-1.yaml")
	r.remove("held-2.yaml")
	setClockBack(t, r.pid(), time.Hour)
	must(t, stillRuns(stops.Status.PID))
	if o, err := r.get("agent/crashes"); err != nil || o.Status.Phase != "BackOff" {
		t.Fatalf("it is %s, %v", o.Status.Phase, err)
	}

	gone(t, stops.Status.PID)
	gone(t, held1.Status.PID)
	gone(t, held2.Status.PID)
	again := r.replaced("agent/crashes", crashes)
	r.kept("agent/steady", steady)

	started := r.awaitEvent("the restart", func(e event) bool { return e.Type == "Started" && e.PID == again.Status.PID })
	if ago := time.Since(started.Time); ago < 59*time.Minute || ago > 61*time.Minute {
		t.Errorf("the clock of the controller was not set back: it restarted %v ago", ago)
	}
	if n := strings.Count(r.proc.stderr.String(), "started"); n > 7 {
		t.Errorf("%d starts:\n%s", n, r.proc.stderr)
	}
	// And what is new goes on as ever.
	r.write("crashes.yaml", agent("crashes", "env: [{name: A, value: b}]"))
	r.replaced("agent/crashes", again)
	r.remove("steady.yaml")
	gone(t, steady.Status.PID)
}
