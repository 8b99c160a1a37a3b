package spec

import (
	"testing"
	"time"
)

// stdioManifest is that of a stdio server, with the lines that follow.
func stdioManifest(mcp string, more ...string) string {
	m := "apiVersion: proc-controller.dev/v1alpha1\nkind: MCPServer\nmetadata: {name: memory}\nspec:\n  command: [memory]\n  mcp: " + mcp + "\n"
	for _, line := range more {
		m += "  " + line + "\n"
	}
	return m
}

func TestStdioNeedsNothingElse(t *testing.T) {
	o := decodeOne(t, stdioManifest("{transport: stdio}"))
	s := &o.Spec
	if len(s.Ports) != 1 || s.Ports[0] != (Port{Name: "http"}) {
		t.Errorf("the ports are %v", s.Ports)
	}
	m := *s.MCP
	want := MCP{
		Transport: TransportStdio, Port: "http", Path: "/mcp", Protocol: ProtocolAuto,
		Sharing: SharingShared, IdleTimeout: Duration(30 * time.Minute),
	}
	if m != want {
		t.Errorf("spec.mcp is %+v", m)
	}
	for name, p := range map[string]*Probe{"startup": s.StartupProbe, "readiness": s.ReadinessProbe, "liveness": s.LivenessProbe} {
		if p == nil || !p.MCP.IsStdio() || p.MCP.Port != "http" || p.MCP.Sharing != "" {
			t.Errorf("the %s probe is %+v", name, p)
		}
	}
	if again := Defaulted(*s); HashOf(&Object{Spec: again}, nil) != HashOf(o, nil) || *again.MCP != want {
		t.Errorf("filled in twice it is %+v", again.MCP)
	}
}

func TestStdioPort(t *testing.T) {
	for mcp, want := range map[string]Port{
		"{transport: stdio, port: 8123}":   {Name: "http", Port: 8123},
		`{transport: stdio, port: "8123"}`: {Name: "http", Port: 8123},
	} {
		o := decodeOne(t, stdioManifest(mcp))
		if len(o.Spec.Ports) != 1 || o.Spec.Ports[0] != want {
			t.Errorf("%s declares %v", mcp, o.Spec.Ports)
		}
		if n, ok := o.Spec.MCP.PortNumber(NewPortMap(NamedPort{"http", 8123})); !ok || n != 8123 {
			t.Errorf("%s is at %d, %v", mcp, n, ok)
		}
	}
	o := decodeOne(t, stdioManifest("{transport: stdio, port: web}", "ports: [{port: 0}, {name: web, port: 0}]"))
	if len(o.Spec.Ports) != 2 || o.Spec.MCP.Port != "web" {
		t.Errorf("ports that are declared become %v, with %q for MCP", o.Spec.Ports, o.Spec.MCP.Port)
	}
}

func TestStdioPerSession(t *testing.T) {
	if m := decodeOne(t, stdioManifest("{transport: stdio, sharing: PerSession}")).Spec.MCP; m.MaxSessions != 16 {
		t.Errorf("at most %d sessions", m.MaxSessions)
	}
	if m := decodeOne(t, stdioManifest("{transport: stdio, sharing: PerSession, maxSessions: 2, idleTimeout: 1m}")).Spec.MCP; m.MaxSessions != 2 || m.IdleTimeout != Duration(time.Minute) {
		t.Errorf("what is written becomes %+v", m)
	}
}

// A bridge takes in spec.mcp when it starts: a change of it restarts, and what is
// the default restarts nothing.
func TestHashOfStdio(t *testing.T) {
	base := HashOf(decodeOne(t, stdioManifest("{transport: stdio}")), nil)
	for _, same := range []string{
		"{transport: stdio, sharing: Shared}", "{transport: stdio, path: /mcp}", "{transport: stdio, port: http}",
		"{transport: stdio, protocol: Auto}", "{transport: stdio, idleTimeout: 30m0s}",
	} {
		if HashOf(decodeOne(t, stdioManifest(same)), nil) != base {
			t.Errorf("%s changes the hash", same)
		}
	}
	if HashOf(decodeOne(t, stdioManifest("{transport: stdio}", "ports: [{name: http, port: 0}]")), nil) != base {
		t.Error("the port that is implied changes the hash when it is written")
	}
	seen := map[Hash]string{
		base: "all defaults", HashOf(decodeOne(t, stdioManifest("{transport: http}", "ports: [{name: http, port: 0}]")), nil): "http",
	}
	for _, other := range []string{
		"{transport: stdio, sharing: PerSession}", "{transport: stdio, sharing: PerSession, maxSessions: 2}",
		"{transport: stdio, path: /x}", "{transport: stdio, port: 8123}", "{transport: stdio, protocol: Legacy}", "{transport: stdio, protocol: Modern}",
		"{transport: stdio, idleTimeout: 1m}", "{transport: stdio, auth: {tokenFile: a}}", "{transport: stdio, auth: {tokenFile: b}}",
	} {
		h := HashOf(decodeOne(t, stdioManifest(other)), nil)
		if twin, is := seen[h]; is {
			t.Errorf("%s has the hash of %s", other, twin)
		}
		seen[h] = other
	}
	if HashOf(decodeOne(t, stdioManifest("{transport: stdio, sharing: PerSession, maxSessions: 16}")), nil) != HashOf(decodeOne(t, stdioManifest("{transport: stdio, sharing: PerSession}")), nil) {
		t.Error("the default of maxSessions changes the hash when it is written")
	}
}

func TestHashOfOthersDoesNotSeeMCP(t *testing.T) {
	ports := "ports: [{port: 0}]"
	if HashOf(decodeOne(t, stdioManifest("{}", ports)), nil) != HashOf(decodeOne(t, stdioManifest("{transport: sse, path: /events}", ports)), nil) {
		t.Error("how a server is spoken to is in its hash")
	}
}
