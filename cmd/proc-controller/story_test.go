package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// checkSheet tells a story for a terminal of so many columns.
func checkSheet(t *testing.T, st *story, columns int, want string) {
	t.Helper()
	s := &sheet{columns: columns}
	st.tell(s)
	var b strings.Builder
	if err := s.write(&b); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.TrimLeft(want, "\n"), b.String()); d != "" {
		t.Errorf("story (-want +got):\n%s", d)
	}
}

func TestStoryOfAServer(t *testing.T) {
	o := running(spec.KindMCPServer, "files", 4711, 12*time.Minute)
	o.Metadata.Labels = map[string]string{"tier": "a", "team": "dev"}
	o.Spec.Command, o.Spec.Args = []string{"npx", "-y"}, []string{"it's"}
	o.Spec.ReadinessProbe = &spec.Probe{HTTPGet: &spec.HTTPGetAction{Path: "/ok"}, PeriodSeconds: 10, TimeoutSeconds: 1, FailureThreshold: 3}
	o.Spec.DependsOn = []spec.Dependency{{Kind: spec.KindAgent, Name: "writer"}, {Kind: spec.KindAgent, Name: "nobody", Condition: spec.DependencyCompleted}}
	o.Status.Ports = spec.PortMap{{Name: "http", Port: 8123}}
	o.Status.Server = &spec.ServerInfo{Name: "everything", Version: "1.2", Tools: 1, ProtocolVersion: "2025-11-25", URL: "http://127.0.0.1:8123/mcp"}
	o.Status.Conditions = []spec.Condition{{Type: spec.CondReady, Status: spec.True, Reason: spec.ReasonRunning, LastTransitionTime: now.Add(-time.Minute)}}
	o.Status.Warnings = []spec.Warning{{Reason: "LooksLikeStdio", Message: "it reads\nend-of-file"}}
	in := &o.Status.Instances[0]
	in.Bridge = &spec.BridgeStatus{ServerPID: 4712, Sessions: 1, Servers: 1}
	in.Members, in.Log, in.Hash, in.Ports = 2, "/s/files.log", "old1", o.Status.Ports
	agent := running(spec.KindAgent, "writer", 7, time.Minute)
	agent.Spec.MCPServers = []spec.ServerRef{{Name: "files"}}
	st := &story{
		Object: &o, all: []api.Object{agent, o}, now: now,
		events:   []controller.Occurrence{{Time: now.Add(-time.Hour), Type: controller.HasStarted, PID: 4711, Reason: "Wanted"}},
		evidence: map[spec.Instance][]string{in.Instance: {"a handle", "its markers"}},
		output:   []string{"listening\x1b[0m", "ready"},
	}
	checkSheet(t, st, 0, `
MCPServer/files
Manifest:     /m/files.yaml:1
Labels:       team=dev
              tier=a
Status:       Running
Command:      npx -y 'it'\''s'
Endpoint:     http://127.0.0.1:8123/mcp
Server:       everything 1.2, 1 tool, MCP 2025-11-25
Ports:        http=8123
Ready:        1/1
Hash:         9c1e
Warning:      LooksLikeStdio: it reads; end-of-file

Conditions:
  TYPE   STATUS  FOR  REASON
  Ready  True    60s  Running

Instances:
  k7f3-881
    Process:      pid 4711 (bridge) and 2 more, started 12m ago, ready
    Bridge:       server pid 4712, 1 session
    Scope:        off
    Ports:        http=8123
    Hash:         old1, which the manifest has no more
    Evidence:     a handle; its markers
    Output:       /s/files.log

Probes:
  Readiness:    HTTP GET 127.0.0.1:its port/ok every 10s, within 1s, fails after 3 in a row

Depends on:
  WORKLOAD      UNTIL      IS
  agent/writer  Ready      Running, 1/1 ready
  agent/nobody  Completed  not there

Needed by:
  agent/writer

Events:
  AGE  WHAT     DETAIL
  60m  Started  pid 4711; Wanted

Last output:
  | listening?[0m
  | ready
`)
}

func TestStoryOfADeath(t *testing.T) {
	o := running(spec.KindAgent, "writer", 0, 0)
	o.Spec, o.Status.Instances, o.Status.Source, o.Status.Hash = nil, nil, nil, ""
	o.Status.Phase, o.Status.Reason, o.Status.Message = spec.PhaseBackOff, spec.ReasonBackOff, "killed by SIGKILL"
	o.Status.LastDeath = &spec.Dossier{
		Instance: "k7f3-881", PID: 4711, OOMKilled: true, Uptime: spec.Duration(90 * time.Second), NextRetry: now.Add(30 * time.Second),
		Termination: spec.Termination{Signal: "SIGKILL", Reason: spec.ReasonOOMKilled, FinishedAt: now.Add(-2 * time.Minute)},
		Output:      []string{"working", "more"},
		Changes: &spec.Changes{
			LastGood: "j1-2", GoodSince: now.Add(-48 * time.Hour), Spec: []string{"args", "env"}, EnvAdded: []string{"A", "B"},
			Program: &spec.ProgramChange{Was: spec.ProgramFile{Path: "/bin/a"}, Is: spec.ProgramFile{Path: "/bin/b"}},
		},
	}
	when := now.Add(-2 * time.Minute).In(time.Local).Format(eventTime)
	checkSheet(t, &story{Object: &o, now: now}, 0, `
Agent/writer
Manifest:     none; only its processes are known
Status:       BackOff: killed by SIGKILL

Last death:
  Ended:        by SIGKILL (OOMKilled); the kernel has killed a process of it for want of memory
  When:         2m ago, at `+when+`, after 1m30s
  Process:      pid 4711, instance k7f3-881
  Changed:      manifest: args, env
                program: /bin/b, and was /bin/a
                variables added: A, B
                since the last good run, j1-2, started 2d ago
  Next try:     in 30s
  Output:
    | working
    | more
`)
}

func TestStoryInANarrowTerminal(t *testing.T) {
	o := running(spec.KindAgent, "writer", 23, time.Minute)
	o.Status.Phase, o.Status.Reason, o.Status.Message = spec.PhaseFailed, "Gone", "the quick brown fox"
	checkSheet(t, &story{Object: &o, now: now}, 20, `
Agent/writer
Manifest:
  /m/writer.yaml:1
Status:
  Failed, Gone: the
    quick brown fox
Ready:
  1/1
Hash:
  9c1e

Instances:
  k7f3-881
    Process:
      pid 23,
        started 60s
        ago, ready
    Scope:
      off
`)
}

func TestHowItEnded(t *testing.T) {
	for want, d := range map[string]spec.Termination{
		"with exit code 3":                       {ExitCode: 3, Reason: spec.ReasonError},
		"with exit code 0 (Completed)":           {Reason: spec.ReasonCompleted},
		"by SIGTERM (LivenessFailed): timed out": {ExitCode: -1, Signal: "SIGTERM", Reason: spec.ReasonLivenessFailed, Message: "timed out"},
		"in a way that is not known":             {ExitCode: -1, Reason: spec.ReasonUnknown},
	} {
		if got := howEnded(&d); got != want {
			t.Errorf("%+v: %q, want %q", d, got, want)
		}
	}
}

// The phase is said also where its reason begins with the same word.
func TestStatusOfAStory(t *testing.T) {
	for _, tt := range []struct {
		phase  spec.Phase
		reason spec.Reason
		want   string
	}{
		{spec.PhaseBackOff, spec.ReasonBackOff, "BackOff: why"},
		{spec.PhaseSuspended, spec.ReasonSuspendedNow, "Suspended, SuspendedAtRuntime: why"},
	} {
		o := running(spec.KindAgent, "a", 1, time.Second)
		o.Status.Phase, o.Status.Reason, o.Status.Message = tt.phase, tt.reason, "why"
		if got := (&story{Object: &o, now: now}).phase(); got != tt.want {
			t.Errorf("%s for %s: %q, want %q", tt.phase, tt.reason, got, tt.want)
		}
	}
}
