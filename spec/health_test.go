package spec

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// healthy is a manifest with more in its spec, in flow style.
func healthy(more string) string {
	return "{apiVersion: proc-controller.dev/v1alpha1, kind: MCPServer, metadata: {name: a}, spec: {command: [a], " + more + "}}"
}

func agent(more string) string {
	return strings.Replace(healthy(more), "MCPServer", "Agent", 1)
}

const (
	httpPort = "ports: [{name: http, port: 0}], "
	httpMCP  = `{"transport":"http","port":"http","path":"/mcp","protocol":"Auto"}`
)

// What is left out is filled in by Decode, once and for all.
func TestDecodeFillsInHealth(t *testing.T) {
	for name, c := range map[string]struct{ manifest, want string }{
		"exec": {
			healthy("livenessProbe: {exec: {command: [a]}}"),
			`livenessProbe {"exec":{"command":["a"]},"periodSeconds":10,"timeoutSeconds":1,"successThreshold":1,"failureThreshold":3}`,
		},
		"HTTP": {
			healthy(httpPort + "readinessProbe: {httpGet: {httpHeaders: []}, periodSeconds: 1}"),
			`readinessProbe {"httpGet":{"path":"/","port":"http","host":"127.0.0.1","scheme":"HTTP"},"periodSeconds":1,"timeoutSeconds":1,"successThreshold":1,"failureThreshold":3}`,
		},
		"TCP, the only port": {
			healthy("ports: [{name: db, port: 0}], readinessProbe: {tcpSocket: {}}"),
			`readinessProbe {"tcpSocket":{"port":"db","host":"127.0.0.1"},"periodSeconds":10,"timeoutSeconds":1,"successThreshold":1,"failureThreshold":3}`,
		},
		"a protocol has as long as a client, but no longer than the period": {
			healthy(httpPort + "mcp: {}, livenessProbe: {mcp: {}, periodSeconds: 4}"),
			"mcp " + httpMCP + "\n" + `livenessProbe {"mcp":` + httpMCP + `,"periodSeconds":4,"timeoutSeconds":4,"successThreshold":1,"failureThreshold":3}`,
		},
		"and no longer than ten seconds": {
			healthy(httpPort + "livenessProbe: {mcp: {}, periodSeconds: 60}"),
			`livenessProbe {"mcp":` + httpMCP + `,"periodSeconds":60,"timeoutSeconds":10,"successThreshold":1,"failureThreshold":3}`,
		},
		"mcp implies probes": {
			healthy("ports: [{name: web, port: 0}, {name: http, port: 0}], mcp: {}"),
			"mcp " + httpMCP + "\n" +
				`startupProbe {"mcp":` + httpMCP + `,"periodSeconds":10,"timeoutSeconds":10,"successThreshold":1,"failureThreshold":60}` + "\n" +
				`readinessProbe {"mcp":` + httpMCP + `,"periodSeconds":10,"timeoutSeconds":10,"successThreshold":1,"failureThreshold":1}` + "\n" +
				`livenessProbe {"mcp":` + httpMCP + `,"periodSeconds":10,"timeoutSeconds":10,"successThreshold":1,"failureThreshold":3}`,
		},
		"a startup probe takes the place of one": {
			healthy(httpPort + "mcp: {}, startupProbe: {exec: {command: [a]}}"),
			"mcp " + httpMCP + "\n" +
				`startupProbe {"exec":{"command":["a"]},"periodSeconds":10,"timeoutSeconds":1,"successThreshold":1,"failureThreshold":3}` + "\n" +
				`readinessProbe {"mcp":` + httpMCP + `,"periodSeconds":10,"timeoutSeconds":10,"successThreshold":1,"failureThreshold":1}` + "\n" +
				`livenessProbe {"mcp":` + httpMCP + `,"periodSeconds":10,"timeoutSeconds":10,"successThreshold":1,"failureThreshold":3}`,
		},
		"any other takes the place of all": {
			healthy(httpPort + "mcp: {}, livenessProbe: {exec: {command: [a]}}"),
			"mcp " + httpMCP + "\n" +
				`livenessProbe {"exec":{"command":["a"]},"periodSeconds":10,"timeoutSeconds":1,"successThreshold":1,"failureThreshold":3}`,
		},
		"a2a implies readiness": {
			agent("ports: [{port: 0}], a2a: {}"),
			"a2a {}\n" + `readinessProbe {"a2a":{},"periodSeconds":10,"timeoutSeconds":10,"successThreshold":1,"failureThreshold":1}`,
		},
		"a probe takes what it leaves out from the spec": {
			healthy(httpPort + "mcp: {transport: sse, port: 99, path: /x, protocol: Legacy}, readinessProbe: {mcp: {}}, livenessProbe: {mcp: {path: /y}}"),
			`mcp {"transport":"sse","port":"99","path":"/x","protocol":"Legacy"}` + "\n" +
				`readinessProbe {"mcp":{"transport":"sse","port":"99","path":"/x","protocol":"Legacy"},"periodSeconds":10,"timeoutSeconds":10,"successThreshold":1,"failureThreshold":3}` + "\n" +
				`livenessProbe {"mcp":{"transport":"sse","port":"99","path":"/y","protocol":"Legacy"},"periodSeconds":10,"timeoutSeconds":10,"successThreshold":1,"failureThreshold":3}`,
		},
		"but for the path of another transport": {
			healthy(httpPort + "mcp: {path: /x}, readinessProbe: {mcp: {transport: sse}}"),
			`mcp {"transport":"http","port":"http","path":"/x","protocol":"Auto"}` + "\n" +
				`readinessProbe {"mcp":{"transport":"sse","port":"http","path":"/sse","protocol":"Auto"},"periodSeconds":10,"timeoutSeconds":10,"successThreshold":1,"failureThreshold":3}`,
		},
		"an agent may be asked for MCP": {
			agent(httpPort + "a2a: {path: /card}, readinessProbe: {mcp: {}}, livenessProbe: {a2a: {}}"),
			`a2a {"port":"http","path":"/card"}` + "\n" +
				`readinessProbe {"mcp":` + httpMCP + `,"periodSeconds":10,"timeoutSeconds":10,"successThreshold":1,"failureThreshold":3}` + "\n" +
				`livenessProbe {"a2a":{"port":"http","path":"/card"},"periodSeconds":10,"timeoutSeconds":10,"successThreshold":1,"failureThreshold":3}`,
		},
		"dependencies": {
			healthy("dependsOn: [{kind: Agent, name: b}]"),
			`dependsOn [{"kind":"Agent","name":"b","condition":"Ready","onRestart":"Ignore"}]`,
		},
		"blue-green": {healthy("strategy: {type: BlueGreen}"), `strategy {"type":"BlueGreen","progressDeadlineSeconds":60}`},
		"hooks": {
			healthy(httpPort + "lifecycle: {preStop: {httpGet: {path: /bye}}}"),
			`lifecycle {"preStop":{"httpGet":{"path":"/bye","port":"http","host":"127.0.0.1","scheme":"HTTP"}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := decodeOne(t, c.manifest)
			if diff := cmp.Diff(c.want, strings.Join(health(t, o), "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkRoundTrip(t, o)
			again := o.Spec
			again.complete()
			if diff := cmp.Diff(o.Spec, again); diff != "" {
				t.Errorf("filled in twice (-once +twice):\n%s", diff)
			}
		})
	}
}

// health are the fields about health that are set, as JSON.
func health(tb testing.TB, o *Object) []string {
	tb.Helper()
	s := &o.Spec
	var lines []string
	add := func(name string, v any, set bool) {
		out, err := json.Marshal(v)
		if err != nil {
			tb.Fatal(err)
		}
		if set {
			lines = append(lines, fmt.Sprintf("%s %s", name, out))
		}
	}
	add("mcp", s.MCP, s.MCP != nil)
	add("a2a", s.A2A, s.A2A != nil)
	add("startupProbe", s.StartupProbe, s.StartupProbe != nil)
	add("readinessProbe", s.ReadinessProbe, s.ReadinessProbe != nil)
	add("livenessProbe", s.LivenessProbe, s.LivenessProbe != nil)
	add("dependsOn", s.DependsOn, s.DependsOn != nil)
	add("strategy", s.Strategy, s.Strategy != Strategy{Type: Recreate})
	add("lifecycle", s.Lifecycle, s.Lifecycle != Lifecycle{})
	return lines
}

// A spec that is built in Go gets the same, and what it is built from stays as
// it was.
func TestDefaultedFillsInHealth(t *testing.T) {
	probe := &Probe{HTTPGet: &HTTPGetAction{Path: "/x"}, PeriodSeconds: 3}
	deps := []Dependency{{Kind: KindAgent, Name: "b"}}
	got := Defaulted(Spec{
		Command: []string{"a"}, Ports: []Port{{Name: "http"}}, MCP: &MCP{}, LivenessProbe: probe,
		DependsOn: deps, Strategy: Strategy{Type: BlueGreen},
	})
	want := decodeOne(t, healthy(httpPort+"mcp: {}, livenessProbe: {httpGet: {path: /x}, periodSeconds: 3}, dependsOn: [{kind: Agent, name: b}], strategy: {type: BlueGreen}")).Spec
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-decoded +built):\n%s", diff)
	}
	if probe.TimeoutSeconds != 0 || probe.HTTPGet.Port != "" || deps[0].Condition != "" {
		t.Errorf("what it was built from has changed: %+v %+v %+v", probe, probe.HTTPGet, deps)
	}
}

// How a workload is asked, what it waits for and how it is replaced acts on
// what runs already.
func TestHashDoesNotSeeHealth(t *testing.T) {
	for _, m := range []string{smallManifest, strings.Replace(smallManifest, "MCPServer", "Agent", 1)} {
		want := HashOf(decodeOne(t, m), nil)
		for _, line := range []string{
			"startupProbe: {exec: {command: [a]}}", "readinessProbe: {tcpSocket: {}}", "livenessProbe: {mcp: {}}", "livenessProbe: {httpGet: {port: 1}}",
			"mcp: {}", "mcp: {path: /x}", "a2a: {}", "dependsOn: [{kind: Agent, name: b}]", "strategy: {type: BlueGreen}",
			"lifecycle: {preStop: {exec: {command: [a]}}}", "successExitCodes: [1]", "logs: {maxBytes: 1Mi, keep: 0}",
		} {
			docs := Decode("x.yaml", []byte(m+"  "+line+"\n"))
			switch o := docs[0].Object; {
			case o == nil && (strings.HasPrefix(line, "mcp") || strings.HasPrefix(line, "a2a")): // of the other kind
			case o == nil:
				t.Errorf("%s: %+v", line, docs[0].Findings)
			case HashOf(o, nil) != want:
				t.Errorf("%s changes the hash", line)
			}
		}
	}
}

// The servers of an agent are in its configuration, which it takes in when it
// starts.
func TestHashSeesTheServersOfAnAgent(t *testing.T) {
	seen := map[Hash]string{}
	for _, servers := range []string{"[]", "[{name: b}]", "[{name: c}]", "[{name: b}, {name: c}]"} {
		h := HashOf(decodeOne(t, agent("mcpServers: "+servers)), nil)
		if other, twin := seen[h]; twin {
			t.Errorf("%s has the hash of %s", servers, other)
		}
		seen[h] = servers
	}
}

func TestPortMapResolve(t *testing.T) {
	m := NewPortMap(NamedPort{"http", 8123}, NamedPort{"", 9000})
	for port, want := range map[string]uint16{"http": 8123, "": 9000, "80": 80, "65535": 65535, "admin": 0, "0": 0, "65536": 0, "080": 0, "-1": 0, "+1": 0} {
		if n, ok := m.Resolve(port); n != want || ok != (want > 0) {
			t.Errorf("%q: %d, %v", port, n, ok)
		}
	}
}
