package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// dependsOn makes a workload depend on others, by a condition.
func dependsOn(c spec.DependencyCondition, on ...spec.Key) func(*spec.Spec) {
	return func(s *spec.Spec) {
		for _, k := range on {
			s.DependsOn = append(s.DependsOn, spec.Dependency{Kind: k.Kind, Name: k.Name, Condition: c})
		}
	}
}

// restartsWith makes a workload depend on others, and restart with them.
func restartsWith(on ...spec.Key) func(*spec.Spec) {
	return func(s *spec.Spec) {
		dependsOn(spec.DependencyReady, on...)(s)
		for i := range s.DependsOn {
			s.DependsOn[i].OnRestart = spec.OnRestartRestart
		}
	}
}

// agent is what depends on the server files in the tables.
var agent = spec.Key{Kind: spec.KindAgent, Name: "agent"}

func probedBy(s *spec.Spec) {
	s.ReadinessProbe = &spec.Probe{Exec: &spec.ExecAction{Command: []string{"true"}}, PeriodSeconds: 10, FailureThreshold: 3, SuccessThreshold: 1}
}

// passes says that the readiness probe of an instance of files has succeeded.
func passes(in *observe.Instance) []Event {
	return []Event{
		Adopted{Key: in.Key, Instance: recordOf(in, true)},
		ProbeAsked{Key: in.Key, ID: in.ID, Kind: Readiness, At: t0},
		Probed{Key: in.Key, ID: in.ID, Kind: Readiness, Main: in.LastMain, At: t0, Successes: 1, Failures: 3},
	}
}

func fails(in *observe.Instance) []Event {
	return []Event{
		Adopted{Key: in.Key, Instance: recordOf(in, true)},
		ProbeAsked{Key: in.Key, ID: in.ID, Kind: Readiness, At: t0},
		Probed{Key: in.Key, ID: in.ID, Kind: Readiness, Main: in.LastMain, At: t0, Err: "503", Successes: 1, Failures: 3},
	}
}

func TestOrderOfStarts(t *testing.T) {
	onFailure := func(s *spec.Spec) { s.RestartPolicy = spec.RestartOnFailure }
	never := func(s *spec.Spec) { s.RestartPolicy = spec.RestartNever }
	suspended := func(s *spec.Spec) { s.Suspend = true }
	started := entry(agent, "x", dependsOn(spec.DependencyStarted, files))
	ready := entry(agent, "x", dependsOn("", files))
	completes := entry(agent, "x", dependsOn(spec.DependencyCompleted, files))
	uses := entry(agent, "x", func(s *spec.Spec) { s.MCPServers = []spec.ServerRef{{Name: "files"}} })
	stopAsked := StopAsked{Key: files, ID: instance(files, "a", 1).ID, Reason: spec.ReasonSpecChanged, At: t0, Policy: usual}
	held := entry(files, "a")
	held.HeldUntil = t0.Add(time.Second)
	refused := Resolved{Key: files, Hash: "b", Reason: spec.ReasonProgramNotFound, Message: "not found", At: t0}

	named := entry(agent, "x", dependsOn("", files))
	named.Order = []spec.Finding{{Reason: spec.ReasonDependencyCycle, Message: "the path"}}

	for _, tt := range []struct {
		name  string
		world World
		start bool
		why   spec.Reason // of the agent, if it is not started
		says  string
	}{
		{"started: it is", world(wants(started, entry(files, "a", probedBy)), runs(instance(files, "a", 1))), true, "", ""},
		{"started: it is not", world(wants(started, entry(files, "a"))), false, spec.ReasonDependencyWait, "waiting for MCPServer/files to be Started: it does not run yet"},
		{"started: it is being stopped", world(wants(started, entry(files, "a")), runs(instance(files, "a", 1)), happened(stopAsked)), false, spec.ReasonDependencyWait, "being stopped"},
		{"started: it has completed", world(wants(started, entry(files, "a", onFailure)), happened(exit(files, "a", 0, time.Hour)...)), true, "", ""},
		{"started: it is on its way", world(wants(started, entry(files, "a")), happened(StartAsked{Key: files, Hash: "a"})), false, spec.ReasonDependencyWait, "being started"},
		{"started: another program runs", world(wants(started, entry(files, "b")), runs(instance(files, "a", 1))), false, spec.ReasonDependencyWait, "about to be replaced"},
		{"started: the former one runs on", world(wants(started, entry(files, "b")), runs(instance(files, "a", 1)), happened(refused)), true, "", ""},
		{"ready: it is, without a probe", world(wants(ready, entry(files, "a")), runs(instance(files, "a", 1))), true, "", ""},
		{"ready: not probed yet", world(wants(ready, entry(files, "a", probedBy)), runs(instance(files, "a", 1))), false, spec.ReasonDependencyWait, "waiting for its readiness probe"},
		{"ready: the probe succeeds", world(wants(ready, entry(files, "a", probedBy)), runs(instance(files, "a", 1)), happened(passes(instance(files, "a", 1))...)), true, "", ""},
		{"ready: a former instance was", world(wants(ready, entry(files, "a", probedBy)), runs(instance(files, "a", 2)), happened(passes(instance(files, "a", 1))...)), false, spec.ReasonDependencyWait, "waiting for its readiness probe"},
		{"ready: it crashed", world(wants(ready, entry(files, "a")), happened(exit(files, "a", 3, 0)...)), false, spec.ReasonDependencyWait, "it does not run: exit code 3"},
		{"ready: it is suspended", world(wants(ready, entry(files, "a", suspended))), false, spec.ReasonDependencyWait, "suspended"},
		{"ready: one of two is", world(wants(ready, entry(files, "a", probedBy)), runs(instance(files, "a", 1), instance(files, "a", 2)), happened(passes(instance(files, "a", 2))...)), true, "", ""},
		{"implied by mcpServers", world(wants(uses, entry(files, "a", probedBy)), runs(instance(files, "a", 1))), false, spec.ReasonDependencyWait, "MCPServer/files to be Ready"},
		{"completed: it is", world(wants(completes, entry(files, "a", onFailure)), happened(exit(files, "a", 0, time.Hour)...)), true, "", ""},
		{"completed: it is, and is suspended", world(wants(completes, entry(files, "a", onFailure, suspended)), happened(exit(files, "a", 0, time.Hour)...)), true, "", ""},
		{"completed: another program has", world(wants(completes, entry(files, "b", onFailure)), happened(exit(files, "a", 0, time.Hour)...)), false, spec.ReasonDependencyWait, "to be Completed"},
		{"completed: it has failed", world(wants(completes, entry(files, "a", never)), happened(exit(files, "a", 3, time.Hour)...)), false, spec.ReasonDependencyWait, "it has failed: exit code 3"},
		{"completed: it runs", world(wants(completes, entry(files, "a", never)), runs(instance(files, "a", 1))), false, spec.ReasonDependencyWait, "still runs"},
		{"completed: it never will", world(wants(completes, entry(files, "a")), runs(instance(files, "a", 1))), false, spec.ReasonDependencyEndless, "restartPolicy is Always"},
		{"missing", world(wants(ready)), false, spec.ReasonDependencyMissing, "MCPServer/files"},
		{"missing, or perhaps not", world(wants(ready), func(w *World) { w.Desired.Doubts = []spec.Doubt{{File: "f.yaml", All: true, Message: "unreadable"}} }), false, spec.ReasonDependencyWait, "f.yaml: unreadable"},
		{"its deletion is held", world(wants(ready, held), runs(instance(files, "a", 1))), false, spec.ReasonDependencyWait, "comes back"},
		{"never accepted", world(wants(ready, &spec.Entry{Key: files, Problems: []spec.Finding{{}}})), false, spec.ReasonDependencyWait, "not valid"},
		{"a circle", world(wants(ready, entry(files, "a", dependsOn("", agent)))), false, spec.ReasonDependencyCycle, "MCPServer/files, which depends on it"},
		{"a circle that the source has named", world(wants(named, entry(files, "a", dependsOn("", agent)))), false, spec.ReasonDependencyCycle, "the path"},
		{"itself", world(wants(entry(agent, "x", dependsOn("", agent)))), false, spec.ReasonDependencyCycle, "Agent/agent"},
		{"a circle that is satisfied", world(wants(ready, entry(files, "a", dependsOn("", agent))), runs(instance(files, "a", 1))), true, "", ""},
		{"behind a circle", world(wants(ready, entry(files, "a", dependsOn("", other)), entry(other, "a", dependsOn("", files)))), false, spec.ReasonDependencyWait, "MCPServer/files"},
		{"a name that is missing is told before a circle", world(wants(entry(agent, "x", dependsOn("", files, other)), entry(files, "a", dependsOn("", agent)))), false, spec.ReasonDependencyMissing, "MCPServer/other"},
		{"a one-shot that has completed does not wait", world(wants(entry(agent, "x", onFailure, dependsOn("", files))), happened(exit(agent, "x", 0, time.Hour)...)), false, spec.ReasonCompleted, ""},
		{"what runs is not stopped for a missing name", world(wants(ready), runs(instance(agent, "x", 1))), false, "", ""},
		{"what runs is not replaced for a missing name", world(wants(ready), runs(instance(agent, "w", 1))), false, spec.ReasonDependencyMissing, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := Decide(tt.world)
			start := false
			for _, a := range p.Actions {
				start = start || a.Type == Start && a.Key == agent
				if a.Key == agent && signalling(a) {
					t.Errorf("%v of the agent", a.Type)
				}
			}
			why := p.Why[agent]
			if start != tt.start || !start && (why.Reason != tt.why || !strings.Contains(why.Detail, tt.says)) {
				t.Errorf("started: %v, want %v; %s: %q, want %s: %q", start, tt.start, why.Reason, why.Detail, tt.why, tt.says)
			}
			Report(tt.world, p) // must cope with each world
		})
	}
}

// What waits is shown to wait, and what needs a person to be stalled.
func TestWaitIsReported(t *testing.T) {
	for reason, w := range map[spec.Reason]World{
		spec.ReasonDependencyWait:    world(wants(entry(agent, "x", dependsOn("", files)), entry(files, "a"))),
		spec.ReasonDependencyMissing: world(wants(entry(agent, "x", dependsOn("", files)))),
		spec.ReasonDependencyCycle:   world(wants(entry(agent, "x", dependsOn("", agent)))),
	} {
		st := Report(w, Decide(w))[agent]
		if st.Phase != spec.PhasePending || st.Reason != reason || st.Ready || st.Message == "" {
			t.Errorf("%s: %s %s %q, ready: %v", reason, st.Phase, st.Reason, st.Message, st.Ready)
		}
		for _, c := range st.Conditions {
			moving := reason == spec.ReasonDependencyWait
			if c.Type == spec.CondProgressing && (c.Status == spec.True) != moving || c.Type == spec.CondStalled && (c.Status == spec.True) == moving {
				t.Errorf("%s: %s is %s", reason, c.Type, c.Status)
			}
		}
	}
}

func TestRestartWithADependency(t *testing.T) {
	follows := entry(agent, "x", restartsWith(files))
	two := func(s *spec.Spec) { n := int32(2); s.Replicas = &n }
	stopped := StopAsked{Key: files, ID: instance(files, "a", 1).ID, Reason: spec.ReasonNotWanted, At: t0, Policy: usual}
	for _, tt := range []struct {
		name  string
		world World
		want  string // the actions for the agent
	}{
		{"newer", world(wants(follows, entry(files, "a")), runs(instance(agent, "x", 1), instance(files, "a", 2))), "Stop agent#1"},
		{"older", world(wants(follows, entry(files, "a")), runs(instance(agent, "x", 2), instance(files, "a", 1))), ""},
		{"at the same tick", world(wants(follows, entry(files, "a")), runs(instance(agent, "x", 2), instance(files, "a", 2))), ""},
		{"down", world(wants(follows, entry(files, "a")), runs(instance(agent, "x", 1))), ""},
		{"newer, not ready yet", world(wants(follows, entry(files, "a", probedBy)), runs(instance(agent, "x", 1), instance(files, "a", 2))), ""},
		{"one of two is newer", world(wants(follows, entry(files, "a", two)), runs(instance(agent, "x", 2), instance(files, "a", 1), instance(files, "a", 3))), ""},
		{"the older one is being stopped", world(wants(follows, entry(files, "a")), runs(instance(agent, "x", 2), instance(files, "a", 1), instance(files, "a", 3)), happened(stopped)), "Stop agent#2"},
		{"not asked for", world(wants(entry(agent, "x", dependsOn("", files)), entry(files, "a")), runs(instance(agent, "x", 1), instance(files, "a", 2))), ""},
		{"another dependency is down", world(wants(entry(agent, "x", restartsWith(files, other)), entry(files, "a"), entry(other, "a")), runs(instance(agent, "x", 1), instance(files, "a", 2))), ""},
		{"one at a time", world(wants(entry(agent, "x", two, restartsWith(files)), entry(files, "a")), runs(instance(agent, "x", 1), instance(agent, "x", 2), instance(files, "a", 3))), "Stop agent#1"},
		{"the last one is not started again yet", world(wants(entry(agent, "x", two, restartsWith(files)), entry(files, "a")), runs(instance(agent, "x", 2), instance(files, "a", 3))), "Start agent"},
		{"a circle", world(wants(follows, entry(files, "a", restartsWith(agent))), runs(instance(agent, "x", 1), instance(files, "a", 2))), ""},
		{"itself", world(wants(entry(agent, "x", two, restartsWith(agent))), runs(instance(agent, "x", 1), instance(agent, "x", 2))), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := Decide(tt.world)
			p.Actions = slices.DeleteFunc(p.Actions, func(a Action) bool { return a.Key != agent })
			if got := said(p); got != tt.want {
				t.Errorf("%s, want %s (%v)", got, tt.want, p.Why)
			}
			if strings.HasPrefix(tt.want, "Stop") && (p.Actions[0].Reason != spec.ReasonDependencyRenewed || unplanned(p.Actions[0].Reason)) {
				t.Errorf("stopped for %s", p.Actions[0].Reason)
			}
		})
	}
}

func TestOrderOfStops(t *testing.T) {
	suspended := func(s *spec.Spec) { s.Suspend = true }
	shutdown := func(w *World) { w.Shutdown = ShutdownGraceful }
	both := runs(instance(agent, "x", 1), instance(files, "a", 2))
	noted := PolicyNoted{Key: agent, Policy: usual, DependsOn: []spec.Key{files}}
	kept := instance(agent, "x", 1)
	kept.OnExit = spec.ExitKeep
	stop := func(in *observe.Instance, reason spec.Reason, kills int) (es []Event) {
		es = []Event{StopAsked{Key: in.Key, ID: in.ID, Reason: reason, At: t0.Add(-2 * time.Second), Policy: usual}}
		for range kills {
			es = append(es, StopAsked{Key: in.Key, ID: in.ID, Kill: true, Reason: reason, At: t0, Policy: usual})
		}
		return append(es, Signalled{Key: in.Key, ID: in.ID})
	}
	depends := entry(agent, "x", dependsOn("", files))
	held := entry(agent, "x", dependsOn("", files))
	held.HeldUntil = t0.Add(time.Second)
	spares := entry(agent, "x", dependsOn("", files), func(s *spec.Spec) { s.KillMode = spec.KillGroup })

	for _, tt := range []struct {
		name  string
		world World
		want  string
		waits bool // the server, for the agent
	}{
		{"shutdown", world(wants(depends, entry(files, "a")), both, shutdown), "Stop agent#1", true},
		{"shutdown, the dependent is being stopped", world(wants(depends, entry(files, "a")), both, shutdown, happened(stop(instance(agent, "x", 1), spec.ReasonShutdown, 0)...)), "", true},
		{"shutdown, its members linger", world(wants(depends, entry(files, "a")), runs(endedInstance(agent, "x", 1, t0.Add(-2*time.Second), process(3)), instance(files, "a", 2)), shutdown, happened(stop(instance(agent, "x", 1), spec.ReasonShutdown, 0)...)), "Look, Stop agent#1", true},
		{"shutdown, the dependent is gone", world(wants(depends, entry(files, "a")), runs(instance(files, "a", 2)), shutdown), "Stop files#2", false},
		{"shutdown, the dependent is on its way", world(wants(depends, entry(files, "a")), runs(instance(files, "a", 2)), shutdown, happened(StartAsked{Key: agent, Hash: "x"})), "", true},
		{"shutdown, the dependent stays", world(wants(depends, entry(files, "a")), runs(kept, instance(files, "a", 2)), shutdown), "Stop files#2", false},
		{"shutdown, what the kill mode spares", world(wants(spares, entry(files, "a")), runs(endedInstance(agent, "x", 1, t0.Add(-2*time.Second), process(3)), instance(files, "a", 2)), shutdown), "Stop files#2", false},
		{"shutdown, the dependent refuses SIGKILL", world(wants(depends, entry(files, "a")), both, shutdown, happened(stop(instance(agent, "x", 1), spec.ReasonShutdown, refusals)...)), "Look, Stop files#2", false},
		{"shutdown, what is left cannot be told", world(wants(depends, entry(files, "a")), runs(doubtful(agent, "x", 1), instance(files, "a", 2)), shutdown), "Stop files#2", false},
		{"a second signal", world(wants(depends, entry(files, "a")), both, func(w *World) { w.Shutdown = ShutdownNow }), "Kill agent#1, Kill files#2", false},
		{"a reap", world(both, shutdown, happened(noted), func(w *World) { w.Reap = &Reap{} }), "Stop agent#1, Stop files#2", false},
		{"a circle", world(wants(depends, entry(files, "a", dependsOn("", agent))), both, shutdown), "Stop agent#1, Stop files#2", false},
		{"both removed", world(both, happened(noted)), "Stop agent#1", true},
		{"both removed, nothing noted", world(both), "Stop agent#1, Stop files#2", false},
		{"shutdown, the dependent has a hook", world(wants(entry(agent, "x", hooked, dependsOn("", files)), entry(files, "a")), both, shutdown), "PreStop agent#1", true},
		{"shutdown, the dependency has a hook", world(wants(depends, entry(files, "a", hooked)), both, shutdown), "Stop agent#1", true},
		{"shutdown, both have a hook", world(wants(entry(agent, "x", hooked, dependsOn("", files)), entry(files, "a", hooked)), both, shutdown), "PreStop agent#1", true},
		{"both suspended", world(wants(entry(agent, "x", suspended, dependsOn("", files)), entry(files, "a", suspended)), both), "Stop agent#1", true},
		{"the dependency alone is suspended", world(wants(depends, entry(files, "a", suspended)), both), "Stop files#2", false},
		{"the dependent is held a little longer", world(wants(held), both), "", true},
		{"the dependent may be in a broken file", world(both, happened(noted), func(w *World) { w.Desired.Doubts = []spec.Doubt{{Names: []string{"agent"}}} }), "Stop files#2", false},
		{"a new program waits for nobody", world(wants(entry(agent, "x", suspended, dependsOn("", files)), entry(files, "b")), both, happened(Resolved{Key: files, Hash: "b", At: t0})), "Stop agent#1, Stop files#2", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := Decide(tt.world)
			if got := said(p); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			why := p.Why[files]
			if waits := why.Reason == spec.ReasonDependentsFirst && strings.Contains(why.Detail, "Agent/agent"); waits != tt.waits {
				t.Errorf("the server: %s %q, want it to wait: %v", why.Reason, why.Detail, tt.waits)
			}
			st := Report(tt.world, p)[files]
			if tt.waits && st.Phase != spec.PhaseStopping {
				t.Errorf("phase %s while it waits", st.Phase)
			}
		})
	}
}

// Which workloads are in one circle is what a search from each of them finds.
func TestCirclesAreThoseOfASearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 7
		edges := map[spec.Key][]spec.Key{}
		var keys []spec.Key
		for i := range n {
			keys = append(keys, spec.Key{Kind: spec.KindAgent, Name: string(rune('a' + i))})
		}
		for _, k := range keys {
			for range rapid.IntRange(0, 2).Draw(t, "dependencies") {
				edges[k] = append(edges[k], rapid.SampledFrom(keys).Draw(t, "on"))
			}
		}
		reaches := func(a, b spec.Key) bool {
			seen, queue := map[spec.Key]bool{}, []spec.Key{a}
			for ; len(queue) > 0; queue = queue[1:] {
				for _, d := range edges[queue[0]] {
					if d == b {
						return true
					}
					if !seen[d] {
						seen[d] = true
						queue = append(queue, d)
					}
				}
			}
			return false
		}
		g := newDependencyGraph(func(k spec.Key) []spec.Key { return edges[k] })
		for _, a := range keys {
			for _, b := range keys {
				if got, want := g.circular(a, b), a == b || reaches(a, b) && reaches(b, a); got != want {
					t.Errorf("%v and %v are circular: %v, want %v (%v)", a, b, got, want, edges)
				}
				deeper := reaches(a, b) && !g.circular(a, b)
				if deeper && g.node(a).circle.depth <= g.node(b).circle.depth {
					t.Errorf("%v depends on %v and is at depth %d, the other at %d", a, b, g.node(a).circle.depth, g.node(b).circle.depth)
				}
			}
		}
	})
}
