//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// blueGreen is a server that is replaced beside what runs, with further lines of
// spec; the version makes it another program.
func blueGreen(version string, more ...string) string {
	return manifest("MCPServer", "a", fmt.Sprintf(
		"command: [%s]\nenv: [{name: %s, value: listen}, {name: VERSION, value: '%s'}]\nports: [{name: http, port: 0}]\n"+
			"strategy: {type: BlueGreen, progressDeadlineSeconds: 60}\n%s",
		os.Args[0], payloadVariable, version, strings.Join(more, "\n")))
}

// client asks a server again and again, at the port that the status shows.
type client struct {
	at              atomic.Pointer[address]
	asked, answered atomic.Int64
	mu              sync.Mutex
	failures        []string
	pids            map[string]bool
}

// address is where a server was when the controller was asked for it.
type address struct {
	port  int
	asked time.Time
}

// drain is how long a former version is still there after the address has changed. Who
// has asked for it longer ago, as on a busy machine, may find nobody there.
const drain = time.Second

func newClient(port int) *client {
	c := &client{pids: map[string]bool{}}
	c.at.Store(&address{port, time.Now()})
	return c
}

// follow keeps a client busy until the test or ctx ends: one goroutine follows
// the endpoint, the other one uses it.
func (r *rig) follow(ctx context.Context, name string, c *client) *sync.WaitGroup {
	var running sync.WaitGroup
	api := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", r.socket)
		},
	}}
	each := func(d time.Duration, do func()) {
		running.Go(func() {
			for t := time.NewTicker(d); ; {
				do()
				select {
				case <-t.C:
				case <-ctx.Done():
					t.Stop()
					return
				}
			}
		})
	}
	each(50*time.Millisecond, func() {
		asked := time.Now()
		if p := endpoint(api, name); p > 0 {
			c.at.Store(&address{p, asked})
		}
	})
	plain := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	each(10*time.Millisecond, func() { c.ask(plain) })
	return &running
}

// ask makes one call.
func (c *client) ask(with *http.Client) {
	c.asked.Add(1)
	at := c.at.Load()
	res, err := with.Get(fmt.Sprintf("http://127.0.0.1:%d/", at.port))
	var pid []byte
	if err == nil {
		pid, err = io.ReadAll(res.Body)
		res.Body.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if time.Since(at.asked) < drain {
			c.failures = append(c.failures, err.Error())
		}
		return
	}
	c.answered.Add(1)
	c.pids[strings.TrimSpace(string(pid))] = true
}

// endpoint asks the controller for the first port of a server; 0 for none.
func endpoint(api *http.Client, name string) int {
	res, err := api.Get("http://controller/apis/proc-controller.dev/v1alpha1/mcpservers/" + name)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	var o object
	if json.NewDecoder(res.Body).Decode(&o) != nil || len(o.Status.Ports) == 0 {
		return 0
	}
	return o.Status.Ports[0].Port
}

// A client that follows the endpoint does not notice that the program is
// replaced, twice.
func TestBlueGreenUnderAClient(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", blueGreen("1"))
	r.start()
	o, port := r.available("mcp/a")
	c := newClient(port)
	ctx, cancel := context.WithCancel(t.Context())
	running := r.follow(ctx, "a", c)
	for _, version := range []string{"2", "3"} {
		r.write("a.yaml", blueGreen(version))
		o = r.replaced("mcp/a", o)
		before := c.answered.Load()
		eventually(t, soon, "the client goes on", func() error {
			c.mu.Lock()
			defer c.mu.Unlock()
			if !c.pids[strconv.Itoa(o.Status.PID)] || c.answered.Load() < before+20 {
				return fmt.Errorf("%d calls, %v have answered", c.answered.Load(), c.pids)
			}
			return nil
		})
	}
	cancel()
	running.Wait()
	if len(c.failures) > 0 || len(c.pids) != 3 {
		t.Errorf("%d of %d calls failed, the first with %q; %v have answered, want three", len(c.failures), c.asked.Load(), c.failures[:min(1, len(c.failures))], c.pids)
	}
	if n := len(marked(r.owner)); n != 1 {
		t.Errorf("%d processes of the owner, want 1", n)
	}
	if got, _ := r.available("mcp/a"); got.condition("Progressing").Status != "False" {
		t.Errorf("still at work: %+v", got.condition("Progressing"))
	}
}

// A new version that never listens, or that ends, costs the former one nothing
// and is tried no more, not by the next controller either; a good one goes
// through.
func TestBlueGreenWithABadVersion(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{"never ready": "[sleep, '1000']", "exits": "[sh, -c, 'echo no luck >&2; exit 3']"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			keep := "onControllerExit: Keep"
			r.write("a.yaml", blueGreen("1", keep))
			r.start()
			before, port := r.available("mcp/a")
			r.write("a.yaml", manifest("MCPServer", "a", "command: "+command+"\nports: [{name: http, port: 0}]\n"+
				"strategy: {type: BlueGreen, progressDeadlineSeconds: 3}\nbackoff: {initial: 100ms, max: 1s}\n"+keep))
			gaveUp := func(o object) bool {
				p := o.condition("Progressing")
				return p.Status == "False" && p.Reason == "ProgressDeadlineExceeded" && p.Message != "" && len(o.Status.Instances) == 1
			}
			o := r.until("mcp/a", "gives up", gaveUp)
			if name == "exits" && !strings.Contains(o.condition("Progressing").Message, "no luck") {
				t.Errorf("message %q does not say why", o.condition("Progressing").Message)
			}
			served := func() error {
				all := marked(r.owner)
				if len(all) != 1 || all[0].pid != before.Status.PID {
					return fmt.Errorf("%v run, want pid %d alone", all, before.Status.PID)
				}
				return nil
			}
			eventually(t, soon, "the former one runs alone", served)
			throughout(t, 4*time.Second, "no second try", served)
			r.crash()
			r.start()
			r.until("mcp/a", "knows", gaveUp)
			throughout(t, 2*time.Second, "no second try after a restart", served)
			o, _ = r.available("mcp/a")
			if o.Status.PID != before.Status.PID || o.Status.Ports[0].Port != port {
				t.Errorf("pid %d, ports %v; want %d, %d", o.Status.PID, o.Status.Ports, before.Status.PID, port)
			}

			r.write("a.yaml", blueGreen("2", keep))
			o = r.replaced("mcp/a", o)
			r.available("mcp/a")
			wantEnvironment(t, o, "VERSION", "2")
			r.remove("a.yaml")
			nothingLeft(t, r.owner)
		})
	}
}

// The controller is killed while the new version is beside the former one: the
// next one finds both, and goes on.
func TestBlueGreenAcrossACrash(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	keep := "onControllerExit: Keep"
	r.write("a.yaml", blueGreen("1", keep))
	r.start()
	r.stamped("mcp/a")
	before, _ := r.available("mcp/a")
	gate := r.dir + "/gate"
	both := func(o object) bool { return len(o.Status.Instances) == 2 && o.Status.PID == before.Status.PID }
	var next instance
	for try := range 20 {
		former := next.PID
		r.write("a.yaml", manifest("MCPServer", "a", fmt.Sprintf(
			"command: [sh, -c, 'until [ -e %s ]; do sleep 0.1; done; exec %s']\nenv: [{name: %s, value: listen}, {name: TRY, value: '%d'}]\nports: [{name: http, port: 0}]\n"+
				"strategy: {type: BlueGreen, progressDeadlineSeconds: 600}\n%s", gate, os.Args[0], payloadVariable, try, keep)))
		o := r.until("mcp/a", "has another one beside", func(o object) bool {
			return both(o) && o.Status.Instances[1].PID > 0 && o.Status.Instances[1].PID != former
		})
		if next = o.Status.Instances[1]; !r.late(next) { // only the ledger would know a late one
			break
		}
	}
	r.crash()
	r.forget()
	r.start()
	r.until("mcp/a", "has both again", both)
	must(t, os.WriteFile(gate, nil, 0o644))
	if o := r.replaced("mcp/a", before); o.Status.PID != next.PID {
		t.Errorf("pid %d, want %d, which was started before the crash", o.Status.PID, next.PID)
	}
	r.remove("a.yaml")
	nothingLeft(t, r.owner)
}

// A port that was allocated stays over a crash of the workload, an edit, and an
// adoption, although it is not the first that would be tried.
func TestPortsAreKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server := func(version string) string {
		return strings.Replace(blueGreen(version, "onControllerExit: Keep", "backoff: {initial: 10ms, max: 10ms}"), "BlueGreen, progressDeadlineSeconds: 60", "Recreate", 1)
	}
	r.write("a.yaml", blueGreen("1", "onControllerExit: Keep", "backoff: {initial: 10ms, max: 10ms}"))
	r.start()
	o, first := r.available("mcp/a")
	r.write("a.yaml", blueGreen("2", "onControllerExit: Keep", "backoff: {initial: 10ms, max: 10ms}"))
	o = r.replaced("mcp/a", o)
	_, port := r.available("mcp/a")
	if port == first {
		t.Fatalf("both had port %d", port)
	}
	kept := func(after string) {
		t.Helper()
		o = r.replaced("mcp/a", o)
		if _, got := r.available("mcp/a"); got != port {
			t.Errorf("port %d after %s, was %d", got, after, port)
		}
	}
	p, _ := lookup(o.Status.PID)
	end(p)
	kept("a crash")
	r.write("a.yaml", server("3"))
	kept("an edit")
	r.crash()
	r.start()
	if _, got := r.available("mcp/a"); got != port {
		t.Errorf("port %d after an adoption, was %d", got, port)
	}
	p, _ = lookup(o.Status.PID)
	end(p)
	kept("an adoption and a crash")
	r.remove("a.yaml")
	nothingLeft(t, r.owner)
}
