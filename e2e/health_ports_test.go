//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// A server that says that it listens while somebody else has its port is never
// ready, whatever is answered there. The stranger is named, and gets no signal.
// One that has a port of its own again is ready.
func TestReadyOnlyOnItsOwnPort(t *testing.T) {
	t.Parallel()
	for name, allocated := range map[string]bool{"fixed port": false, "allocated port": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			wanted := 0
			if !allocated {
				wanted = unusedPort(t)
			}
			p := r.patient("MCPServer", "a", fmt.Sprintf(`
ports: [{name: http, port: %d}]
readinessProbe: {httpGet: {path: /health}, periodSeconds: 1, failureThreshold: 1}
terminationGracePeriodSeconds: 1`, wanted), "shut")
			r.start()
			o := r.until(p.key, "says that nobody listens", func(o object) bool {
				return len(o.Status.Ports) == 1 && strings.Contains(o.Status.Message, "connection refused")
			})
			port := o.Status.Ports[0].Port
			stranger, signals := r.pretend(t, []string{fmt.Sprintf("LISTEN_ON=127.0.0.1:%d", port)})
			foreign := r.until(p.key, "names the stranger", func(o object) bool { return o.Status.Reason == "ForeignListener" })
			for _, want := range []string{fmt.Sprint("port ", port), fmt.Sprint("pid ", stranger)} {
				if !strings.Contains(foreign.Status.Message, want) {
					t.Errorf("message %q does not name %q", foreign.Status.Message, want)
				}
			}
			throughout(t, time.Second, "it is not ready", func() error {
				if o, err := r.get(p.key); err != nil || o.ready() || o.condition("Available").Status == "True" {
					return fmt.Errorf("%w: %+v", err, o.Status)
				}
				return nil
			})
			p.heals("shut")
			died := r.until(p.key, "has failed on the taken port", func(o object) bool { return o.Status.LastDeath != nil })
			if said := died.Status.LastDeath.Output; !slices.Contains(said, fmt.Sprint("listening on port ", port)) || !strings.Contains(said[len(said)-1], "address already in use") {
				t.Errorf("it said %q", said)
			}
			if !allocated {
				held := r.until(p.key, "waits for its port", func(o object) bool { return o.Status.Reason == "PortHeld" })
				if held.ready() || !strings.Contains(held.Status.Message, fmt.Sprint("pid ", stranger)) {
					t.Errorf("ready: %v, %q", held.ready(), held.Status.Message)
				}
				untouched(t, signals, stranger)
				s, _ := lookup(stranger)
				end(s)
			}
			if o := p.ready(); allocated == (o.Status.Ports[0].Port == port) {
				t.Errorf("ready on port %d, tried %d first", o.Status.Ports[0].Port, port)
			}
			if allocated {
				untouched(t, signals, stranger)
			}
		})
	}
}

// untouched objects if the stranger got any signal.
func untouched(t *testing.T, signals string, stranger int) {
	t.Helper()
	got, err := os.ReadFile(signals)
	if err = errors.Join(err, stillRuns(stranger)); err != nil || len(got) > 0 {
		t.Errorf("the stranger got %q, %v", got, err)
	}
}
