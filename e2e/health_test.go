//go:build linux

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patient is a workload whose health a test can change; see healthPayload.
type patient struct {
	r         *rig
	key, file string
	dir       string
}

// patient writes the manifest of one, with further lines of spec; what ails it
// from the beginning are files with no content.
func (r *rig) patient(kind, name, more string, ails ...string) *patient {
	r.t.Helper()
	p := &patient{r: r, key: "agent/" + name, file: name + ".yaml", dir: r.file(name)}
	if kind == "MCPServer" {
		p.key = "mcp/" + name
	}
	r.mkdir(p.dir, 0o755)
	for _, what := range ails {
		p.ails(what, "")
	}
	spec := fmt.Sprintf("command: [%s, %s, %s]\n%s\n", testBinary(r.t), healthPayload, p.dir, more)
	for field, usual := range map[string]string{"ports:": "[{name: http}]", "backoff:": "{initial: 10ms, max: 10ms}"} {
		if !strings.Contains(more, field) {
			spec += field + " " + usual + "\n"
		}
	}
	r.write(p.file, manifest(kind, name, spec))
	return p
}

// ails has something ail it from now on.
func (p *patient) ails(what, content string) {
	p.r.t.Helper()
	must(p.r.t, os.WriteFile(filepath.Join(p.dir, what), []byte(content), 0o644))
}

// heals has it ail no longer.
func (p *patient) heals(what string) {
	p.r.t.Helper()
	must(p.r.t, os.Remove(filepath.Join(p.dir, what)))
}

// counted is how often it has noted something.
func (p *patient) counted(what string) int {
	st, err := os.Stat(filepath.Join(p.dir, what))
	if err != nil {
		return 0
	}
	return int(st.Size())
}

// counts waits until it has noted something so often.
func (p *patient) counts(what string, least int) {
	p.r.t.Helper()
	eventually(p.r.t, soon, fmt.Sprintf("%s: %d %s", p.key, least, what), func() error {
		if n := p.counted(what); n < least {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
}

// ready waits until it is.
func (p *patient) ready() object {
	p.r.t.Helper()
	return p.r.until(p.key, "is ready", object.ready)
}

// lives waits until its program runs, ready or not.
func (p *patient) lives() object {
	p.r.t.Helper()
	return p.r.until(p.key, "lives", func(o object) bool { return o.Status.PID > 0 })
}

func (o object) ready() bool { return o.condition("Ready").Status == "True" }

const (
	modernCard = `{"name":"mend","description":"mends","version":"1.2","supportedInterfaces":[{"url":"http://127.0.0.1/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{},"skills":[{"id":"a"},{"id":"b"}]}`
	olderCard  = `{"name":"mend","version":"1.2","url":"http://127.0.0.1/old","protocolVersion":"0.3.0","preferredTransport":"JSONRPC","skills":[{"id":"a"}]}`
)

// Each kind of server, and of agent, is ready once it has spoken its protocol,
// and status says what it has said of itself.
func TestWhatServersSayOfThemselves(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	card := func(variable, text string) string {
		return fmt.Sprintf("a2a: {}\nenv: [{name: %s, value: '%s'}]", variable, text)
	}
	for name, more := range map[string]string{
		"legacy": "mcp: {}",
		"modern": "mcp: {path: /modern}",
		"sse":    "mcp: {transport: sse}",
		"locked": "mcp: {path: /locked}",
	} {
		r.patient("MCPServer", name, more)
	}
	r.patient("Agent", "card", card("CARD", modernCard))
	r.patient("Agent", "older-card", card("OLD_CARD", olderCard))
	r.start()
	ready := func(key string) object {
		t.Helper()
		return r.until(key, "is ready and was asked who it is", func(o object) bool {
			return o.ready() && o.condition("Verified").Reason != "Probing"
		})
	}
	for name, want := range map[string]serverInfo{
		"legacy": {Name: "patient", Version: "1.5", ProtocolVersion: "2025-11-25", Era: "Legacy", Tools: 2, URL: "/mcp"},
		"modern": {Name: "patient", Version: "1.5", ProtocolVersion: "2026-07-28", Era: "Modern", Tools: 2, URL: "/modern"},
		"sse":    {Name: "patient", Version: "1.5", ProtocolVersion: "2024-11-05", Era: "Legacy", Tools: 2, URL: "/sse"},
	} {
		o := ready("mcp/" + name)
		want.URL = fmt.Sprintf("http://127.0.0.1:%d%s", o.Status.Ports[0].Port, want.URL)
		if o.condition("Verified").Status != "True" || o.Status.Server == nil || *o.Status.Server != want {
			t.Errorf("%s: %+v, %+v; want %+v", name, o.condition("Verified"), o.Status.Server, want)
		}
	}
	for name, want := range map[string]cardInfo{
		"card":       {Name: "mend", Version: "1.2", URL: "http://127.0.0.1/a2a", Skills: 2},
		"older-card": {Name: "mend", Version: "1.2", URL: "http://127.0.0.1/old", Skills: 1},
	} {
		o := ready("agent/" + name)
		if o.condition("Verified").Status != "True" || o.Status.Card == nil || *o.Status.Card != want {
			t.Errorf("%s: %+v, %+v; want %+v", name, o.condition("Verified"), o.Status.Card, want)
		}
	}
	o := ready("mcp/locked")
	if v := o.condition("Verified"); v.Status != "Unknown" || v.Reason != "Unauthorized" || o.Status.Server != nil {
		t.Errorf("what wants credentials: %+v, %+v", v, o.Status.Server)
	}
	if len(o.Status.Warnings) > 0 {
		t.Errorf("warnings: %+v", o.Status.Warnings)
	}
}

// A server that other machines can reach works, and a person is told.
func TestListensBeyondLoopback(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.patient("MCPServer", "a", "mcp: {}\nenv: [{name: HOST, value: 0.0.0.0}]")
	r.start()
	o := r.until(p.key, "is ready, with a warning", func(o object) bool { return o.ready() && len(o.Status.Warnings) > 0 })
	if w := o.Status.Warnings; len(w) != 1 || w[0].Reason != "ListensBeyondLoopback" || !strings.Contains(w[0].Message, fmt.Sprint(o.Status.Ports[0].Port)) {
		t.Errorf("warnings: %+v", w)
	}
}

// However often a server is asked, and for whatever, it is in one session, and in
// none when the controller has left.
func TestProbesShareOneSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.patient("MCPServer", "a", `
mcp: {}
readinessProbe: {mcp: {}, periodSeconds: 1}
livenessProbe: {mcp: {}, periodSeconds: 1}
onControllerExit: Keep`)
	r.start()
	port := p.ready().Status.Ports[0].Port
	p.counts("asked-mcp", 20)
	if now, most := sessions(t, port); now != 1 || most != 1 {
		t.Errorf("%d sessions, %d at one time, want one", now, most)
	}
	r.stop()
	if now, _ := sessions(t, port); now != 0 {
		t.Errorf("%d sessions of a controller that has ended", now)
	}
}

// sessions asks a patient how many there are, and how many there were at one time.
func sessions(t *testing.T, port int) (now, most int) {
	t.Helper()
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/sessions", port))
	must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	_, err = fmt.Sscan(string(body), &now, &most)
	must(t, err)
	return now, most
}
