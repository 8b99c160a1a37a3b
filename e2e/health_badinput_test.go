//go:build linux

package e2e

import (
	"strings"
	"testing"
	"time"
)

// Whatever a server answers, it is a bounded failure with a name, and the
// controller has time for others.
func TestServersThatMisbehave(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	get := func(path string) string {
		return "readinessProbe: {httpGet: {path: " + path + "}, periodSeconds: 1, failureThreshold: 1}"
	}
	ask := func(path string) string {
		return "readinessProbe: {mcp: {path: " + path + "}, periodSeconds: 1, failureThreshold: 1}"
	}
	bad := map[string]struct{ probe, want string }{
		"redirects":   {get("/loop"), "redirects more than 10 times"},
		"endless":     {get("/endless"), "the body does not end"},
		"garbage":     {ask("/garbage"), "no JSON-RPC message: invalid character"},
		"half":        {ask("/half"), "cut off"},
		"wrong-id":    {ask("/wrong-id"), "4711"},
		"stream":      {ask("/stream"), "event stream"},
		"no-protocol": {ask("/health"), "well"},
		"nowhere":     {ask("/nowhere"), "404"},
	}
	for name, c := range bad {
		r.patient("MCPServer", name, c.probe)
	}
	r.start()
	for name, c := range bad {
		o := r.until("mcp/"+name, "says "+c.want, func(o object) bool {
			return o.Status.Reason == "ProbeFailed" && strings.Contains(o.Status.Message, c.want)
		})
		bounded(t, o.Status.Message)
		if o.ready() || o.Status.Restarts > 0 {
			t.Errorf("%s: ready %v, %d restarts", name, o.ready(), o.Status.Restarts)
		}
	}
	at := time.Now()
	r.patient("MCPServer", "good", ask("/mcp"))
	r.until("mcp/good", "is ready", object.ready)
	if took := time.Since(at); took > 10*time.Second {
		t.Errorf("it took %v to start one more", took)
	}
	if kib := residentKiB(t, r.pid()); kib > 200<<10 {
		t.Errorf("the controller has grown to %d KiB", kib)
	}
}
