package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// running is a workload that is as it should be.
func running(kind spec.Kind, name string, pid int, age time.Duration) api.Object {
	o := api.Object{Kind: kind, Metadata: spec.Metadata{Name: name}, Spec: &spec.Spec{}}
	o.Status.Phase, o.Status.Reason, o.Status.PID, o.Status.Hash = spec.PhaseRunning, spec.ReasonRunning, pid, "9c1e"
	o.Status.Instances = []spec.InstanceStatus{{Instance: "k7f3-881", PID: pid, StartedAt: now.Add(-age), Ready: true, Scope: "off"}}
	o.Status.Source = &api.Source{File: "/m/" + name + ".yaml", Line: 1}
	return o
}

func checkTable(t *testing.T, got *table, want string) {
	t.Helper()
	var b strings.Builder
	if err := got.write(&b); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.TrimLeft(want, "\n"), b.String()); d != "" {
		t.Errorf("table (-want +got):\n%s", d)
	}
}

func TestTableOfWorkloads(t *testing.T) {
	files := running(spec.KindMCPServer, "files", 4711, 12*time.Second)
	files.Status.Restarts = 3
	checkTable(t, workloadTable(api.NewTable([]api.Object{
		running(spec.KindAgent, "writer", 23, 5*time.Minute), files, running(spec.KindMCPServer, "x", 1234567, 50*time.Hour),
	}, api.TablePlain, now)), `
KIND       NAME    STATUS   READY  PID      RESTARTS  AGE
Agent      writer  Running  1/1    23       0         5m
MCPServer  files   Running  1/1    4711     3         12s
MCPServer  x       Running  1/1    1234567  0         2d2h
`)
}

func TestTableShowsReasonsOnlyWhereOneIsWrong(t *testing.T) {
	crashing := running(spec.KindMCPServer, "crashing", 0, 0)
	crashing.Status.Phase, crashing.Status.Restarts = spec.PhaseBackOff, 4
	crashing.Status.Reason, crashing.Status.Message = spec.ReasonBackOff, "exit code 1: \x1b[31mno such\nfile (for another 8s)"
	crashing.Status.Instances = nil
	stale := running(spec.KindMCPServer, "stale", 7, time.Hour)
	stale.Status.Conditions = []spec.Condition{{Type: spec.CondAccepted, Status: spec.False, Reason: spec.ReasonInvalid, Message: "/m/stale.yaml:3:5: unknown field"}}
	broken := api.Object{Kind: spec.KindAgent, Metadata: spec.Metadata{Name: "broken"}}
	broken.Status.Phase, broken.Status.Reason = spec.PhasePending, spec.ReasonInvalid
	suspended := running(spec.KindAgent, "idle", 0, 0)
	suspended.Spec.Suspend, suspended.Status.Instances = true, nil
	suspended.Status.Phase, suspended.Status.Reason = spec.PhaseSuspended, spec.ReasonSuspended
	two := int32(3)
	replicas := running(spec.KindAgent, "many", 9, time.Minute)
	replicas.Spec.Replicas = &two
	checkTable(t, workloadTable(api.NewTable([]api.Object{broken, suspended, replicas, crashing, stale}, api.TablePlain, now)), `
KIND       NAME      STATUS     READY  PID  RESTARTS  AGE  REASON
Agent      broken    Pending    -      -    0         -    InvalidManifest
Agent      idle      Suspended  0/0    -    0         -    -
Agent      many      Running    1/3    9    0         60s  -
MCPServer  crashing  BackOff    0/1    -    4         -    BackOff: exit code 1: ?[31mno such; file (for another 8s)
MCPServer  stale     Running    1/1    7    0         60m  InvalidManifest: /m/stale.yaml:3:5: unknown field
`)
}

func TestWideTable(t *testing.T) {
	o := running(spec.KindMCPServer, "files", 4711, time.Second)
	o.Status.Ports = spec.PortMap{{Port: 8080}, {Name: "http", Port: 8123}}
	o.Status.Instances = append(o.Status.Instances, spec.InstanceStatus{Instance: "p2-9", Ready: true})
	checkTable(t, workloadTable(api.NewTable([]api.Object{o}, api.TableWide, now)), `
KIND       NAME   STATUS   READY  PID   RESTARTS  AGE  INSTANCE       PORTS           SCOPE  HASH  FILE
MCPServer  files  Running  2/1    4711  0         1s   k7f3-881,p2-9  8080,http=8123  off    9c1e  /m/files.yaml:1
`)
}

func TestNotes(t *testing.T) {
	var b strings.Builder
	c := api.Controller{
		Ready:        true,
		Notices:      []api.Notice{{File: "/m/sub", Message: "subdirectories are not read"}, {File: "/m/a.yaml", Line: 2, Column: 3, Message: "a\nb"}},
		Unattributed: make([]api.Process, 7),
		Blocked:      []int{7, 8},
	}
	c.Unattributed[0].PID, c.Unattributed[0].Command = 4711, "sleep"
	writeNotes(&b, c, true, true, "/m")
	want := `No workloads. Put a manifest into /m to run one.
note: /m/sub: subdirectories are not read
note: /m/a.yaml:2:3: a; b
note: 7 left-over processes of no known workload: pid 4711 (sleep), pid 0 (), pid 0 (), pid 0 (), pid 0 (), 2 more
note: 2 processes cannot be read (stuck in the kernel): pid 7 8
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("notes (-want +got):\n%s", d)
	}
	// What cannot be read is there on most machines: a plain table is not the
	// place for it.
	for wide, want := range map[bool]string{false: "", true: "note: 1 process may not be read, and nothing connects it with a workload\n"} {
		b.Reset()
		writeNotes(&b, api.Controller{Ready: true, Unreadable: 1}, false, wide, "/m")
		if b.String() != want {
			t.Errorf("wide %v: %q, want %q", wide, b.String(), want)
		}
	}
}

func TestObjects(t *testing.T) {
	o := running(spec.KindMCPServer, "files", 4711, time.Second)
	o.APIVersion, o.Spec.Command = spec.APIVersion, []string{"a&b"}
	for name, tt := range map[string]struct {
		format string
		single bool
		items  []api.Object
		has    []string
	}{
		"one":          {"json", true, []api.Object{o}, []string{`"kind": "MCPServer"`, `"a&b"`, `"pid": 4711`, `"file": "/m/files.yaml"`}},
		"a list":       {"json", false, []api.Object{o}, []string{`"kind": "List"`, `"apiVersion": "v1"`, `"items": [`}},
		"nothing":      {"json", false, nil, []string{`"items": []`}},
		"one as yaml":  {"yaml", true, []api.Object{o}, []string{"kind: MCPServer\n", "\n  pid: 4711\n"}},
		"list as yaml": {"yaml", false, nil, []string{"kind: List\n", "items: []\n"}},
	} {
		var b strings.Builder
		if err := writeObjects(&b, tt.format, tt.single, tt.items); err != nil {
			t.Fatal(err)
		}
		for _, has := range tt.has {
			if !strings.Contains(b.String(), has) {
				t.Errorf("%s: no %q in\n%s", name, has, b.String())
			}
		}
	}
}

func TestSelection(t *testing.T) {
	all := []api.Object{
		running(spec.KindAgent, "writer", 1, 0), running(spec.KindMCPServer, "files", 2, 0), running(spec.KindMCPServer, "web", 3, 0),
	}
	cmd := newGet(streams{}, &placeFlags{})
	for args, want := range map[string]string{
		"":                         "agent/writer mcpserver/files mcpserver/web",
		"agents":                   "agent/writer",
		"mcp/web":                  "mcpserver/web",
		"mcp/web agent mcp":        "agent/writer mcpserver/files mcpserver/web",
		"MCPServer/files":          "mcpserver/files",
		"mcp/fils":                 "!no MCPServer named fils (did you mean files?)",
		"agent/files":              "!no Agent named files (did you mean mcpserver/files?)",
		"mcp/quite-something-else": "!no MCPServer named quite-something-else",
		"mcp/nope mcp/web":         "mcpserver/web!no MCPServer named nope",
	} {
		selected, err := parseSelectors(cmd, strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		found, missing := selected.pick(all)
		var names []string
		for _, o := range found {
			names = append(names, shortName(o.Key()))
		}
		got := strings.Join(names, " ")
		for _, m := range missing {
			got += "!" + m.Error()
		}
		if got != want {
			t.Errorf("get %s: %s, want %s", args, got, want)
		}
	}
}
