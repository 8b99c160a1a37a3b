package controller

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

var reader = spec.Key{Kind: spec.KindAgent, Name: "reader"}

// uses makes an agent use servers.
func uses(names ...string) func(*spec.Spec) {
	return func(s *spec.Spec) {
		for _, n := range names {
			s.MCPServers = append(s.MCPServers, spec.ServerRef{Name: n})
		}
	}
}

// at is where an http server with a port is.
func at(name, port string) spec.ServerEndpoint {
	return spec.ServerEndpoint{Name: name, Type: spec.TransportHTTP, URL: "http://127.0.0.1:" + port + "/mcp"}
}

func onPort(in *observe.Instance, port uint16) *observe.Instance {
	in.Ports = spec.PortMap{{Name: "http", Port: port}}
	return in
}

func told(servers ...spec.ServerEndpoint) Event {
	return Published{Key: reader, MCPConfigFile: spec.MCPConfigFile{Path: "p", Servers: servers}, At: t0}
}

// What an agent is to be told, by the state of its servers.
func TestPublishFollowsTheServers(t *testing.T) {
	agent, live := entry(reader, "a", uses("files")), instance(reader, "a", 9)
	probed := func(s *spec.Spec) {
		s.ReadinessProbe = &spec.Probe{PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 1}
	}
	moved := func(s *spec.Spec) { s.MCP = &spec.MCP{Path: "/other"} }
	ready := func(n int) []Event {
		id := instance(files, "", n).ID
		return []Event{
			ProbeAsked{Key: files, ID: id, Kind: Readiness, At: t0.Add(-time.Second)},
			Probed{Key: files, ID: id, Kind: Readiness, At: t0.Add(-time.Second), Successes: 1, Failures: 1},
		}
	}
	server := func(n int, hash spec.Hash, port uint16) *observe.Instance {
		return onPort(instance(files, hash, n), port)
	}
	failed := func(ago time.Duration) Event {
		return Published{Key: reader, Reason: spec.ReasonMCPConfig, Message: "full", At: t0.Add(-ago)}
	}
	unknown := spec.ServerEndpoint{Name: "files"}
	none := []spec.ServerEndpoint(nil)

	for _, tt := range []struct {
		name   string
		server *spec.Entry
		runs   []*observe.Instance
		past   []Event
		want   []spec.ServerEndpoint // nil: nothing is published
	}{
		{"not known yet", entry(files, "a"), []*observe.Instance{server(1, "a", 80)}, nil, []spec.ServerEndpoint{at("files", "80")}},
		{"as it is", entry(files, "a"), []*observe.Instance{server(1, "a", 80)}, []Event{told(at("files", "80"))}, none},
		{"being written", entry(files, "a"), []*observe.Instance{server(1, "a", 80)}, []Event{Publishing{reader}}, none},
		{"another port", entry(files, "a"), []*observe.Instance{server(1, "a", 81)}, []Event{told(at("files", "80"))}, []spec.ServerEndpoint{at("files", "81")}},
		{
			"another path", entry(files, "a", moved),
			[]*observe.Instance{server(1, "a", 80)},
			[]Event{told(at("files", "80"))},
			[]spec.ServerEndpoint{{Name: "files", Type: spec.TransportHTTP, URL: "http://127.0.0.1:80/other"}},
		},
		{"doubted", entry(files, "a"), []*observe.Instance{server(1, "a", 80)}, []Event{told(at("files", "80")), PublicationDoubted{reader}}, []spec.ServerEndpoint{at("files", "80")}},
		{"not ready, not known where it was", entry(files, "a", probed), []*observe.Instance{server(1, "a", 80)}, nil, []spec.ServerEndpoint{unknown}},
		{"not ready, never was", entry(files, "a", probed), []*observe.Instance{server(1, "a", 80)}, []Event{told(unknown)}, none},
		{"restarting", entry(files, "a"), nil, []Event{told(at("files", "80"))}, none},
		{"being stopped", entry(files, "a"), []*observe.Instance{server(1, "a", 81)}, []Event{told(at("files", "80")), StopAsked{Key: files, ID: server(1, "a", 81).ID, At: t0}}, none},
		{"no manifest", nil, []*observe.Instance{server(1, "a", 81)}, []Event{told(at("files", "80"))}, none},
		{"the new one is not ready", entry(files, "b", probed), []*observe.Instance{server(1, "a", 80), server(2, "b", 81)}, append(ready(1), told(at("files", "80"))), none},
		{"the new one is ready", entry(files, "b", probed), []*observe.Instance{server(1, "a", 80), server(2, "b", 81)}, slices.Concat(ready(1), ready(2), []Event{told(at("files", "80"))}), []spec.ServerEndpoint{at("files", "81")}},
		{"the new one has another path, and is not ready", entry(files, "b", probed, moved), []*observe.Instance{server(1, "a", 80), server(2, "b", 81)}, append(ready(1), told(at("files", "80"))), none},
		{"one of two stays", entry(files, "a"), []*observe.Instance{server(1, "a", 80), server(2, "a", 81)}, []Event{told(at("files", "81"))}, none},
		{"failed, a little ago", entry(files, "a"), []*observe.Instance{server(1, "a", 80)}, []Event{failed(900 * time.Millisecond)}, none},
		{"failed, a while ago", entry(files, "a"), []*observe.Instance{server(1, "a", 80)}, []Event{failed(time.Second)}, []spec.ServerEndpoint{at("files", "80")}},
		{"failed twice, a while ago", entry(files, "a"), []*observe.Instance{server(1, "a", 80)}, []Event{failed(2 * time.Second), failed(time.Second)}, none},
	} {
		t.Run(tt.name, func(t *testing.T) {
			entries := []*spec.Entry{agent}
			if tt.server != nil {
				entries = append(entries, tt.server)
			}
			p := Decide(world(wants(entries...), runs(append([]*observe.Instance{live}, tt.runs...)...), happened(tt.past...)))
			got := none
			for _, a := range p.Actions {
				if a.Type == Publish {
					got = a.Servers
				}
				if a.Key == reader && a.Type != Publish {
					t.Errorf("%v of the agent", a.Type)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// A start waits for the file, and so does the stop of the former program.
func TestStartWaitsForTheFile(t *testing.T) {
	server := onPort(instance(files, "a", 1), 80)
	off := func(s *spec.Spec) { s.Suspend = true }
	resolved := Resolved{Key: reader, Hash: "b", At: t0}
	failed := Published{Key: reader, Reason: spec.ReasonMCPConfig, Message: "full", At: t0}
	old := instance(reader, "a", 9)
	for _, tt := range []struct {
		name  string
		agent *spec.Entry
		old   *observe.Instance
		past  []Event
		want  string // the actions for the agent
		why   spec.Reason
	}{
		{"nothing is known", entry(reader, "b", uses("files")), nil, nil, "Publish reader", spec.ReasonChecking},
		{"something else is in it", entry(reader, "b", uses("files")), nil, []Event{told(at("files", "81"))}, "Publish reader", spec.ReasonChecking},
		{"it is in it", entry(reader, "b", uses("files")), nil, []Event{told(at("files", "80"))}, "Start reader", spec.ReasonStarting},
		{"it cannot be written", entry(reader, "b", uses("files")), nil, []Event{failed}, "", spec.ReasonMCPConfig},
		{"it cannot be written for the new program", entry(reader, "b", uses("files")), old, []Event{resolved, failed}, "", spec.ReasonMCPConfig},
		{"it is written for the new program", entry(reader, "b", uses("files")), old, []Event{resolved, told(at("files", "80"))}, "Stop reader#9", spec.ReasonSpecChanged},
		{"it has been looked at before the last end", entry(reader, "b", uses("files")), nil, []Event{told(at("files", "80")), Exited{Key: reader}}, "Publish reader", spec.ReasonChecking},
		{"suspended, no file is made", entry(reader, "b", uses("files"), off), nil, nil, "", ""},
		{"suspended, it stays", entry(reader, "b", uses("files"), off), nil, []Event{told(at("files", "80"))}, "", ""},
		{"deleted, it goes", nil, nil, []Event{told(at("files", "80"))}, "Publish reader", ""},
		{"deleted, of a former controller, it goes", nil, nil, []Event{PublicationFound{reader}}, "Publish reader", ""},
		{"deleted, the agent first", nil, old, []Event{told(at("files", "80"))}, "Stop reader#9", spec.ReasonNotWanted},
		{"none are used any more, it goes", entry(reader, "a"), old, []Event{told(at("files", "80"))}, "Publish reader", ""},
		{"none are used any more, the agent first", entry(reader, "b"), old, []Event{resolved, told(at("files", "80"))}, "Stop reader#9", spec.ReasonSpecChanged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			entries, ins := []*spec.Entry{entry(files, "a")}, []*observe.Instance{server}
			if tt.agent != nil {
				entries = slices.Insert(entries, 0, tt.agent)
			}
			if tt.old != nil {
				ins = slices.Insert(ins, 0, tt.old)
			}
			w := world(wants(entries...), runs(ins...), happened(tt.past...))
			p := Decide(w)
			var got []string
			for _, a := range strings.Split(said(p), ", ") {
				if strings.Contains(a, "reader") {
					got = append(got, a)
				}
			}
			if got := strings.Join(got, ", "); got != tt.want || p.Why[reader].Reason != tt.why {
				t.Errorf("%q because of %q, want %q because of %q", got, p.Why[reader].Reason, tt.want, tt.why)
			}
			Report(w, p)
		})
	}
}

// A server is named as long as an agent that runs may be told of it.
func TestPublishedNamesAnInstance(t *testing.T) {
	server := onPort(instance(files, "a", 1), 80)
	for _, tt := range []struct {
		name string
		runs bool
		past []Event
		want bool
	}{
		{"nothing is known", true, nil, true},
		{"it is named", true, []Event{told(at("files", "80"))}, true},
		{"another is named", true, []Event{told(at("files", "81"))}, false},
		{"another is named, and it is written", true, []Event{told(at("files", "81")), Publishing{reader}}, true},
		{"a port that begins alike", true, []Event{told(at("files", "8080"))}, false},
		{"the agent does not run", false, []Event{told(at("files", "80"))}, false},
	} {
		w := world(wants(entry(reader, "a", uses("files")), entry(files, "a")), happened(tt.past...))
		if tt.runs {
			w.Observed.Instances = []*observe.Instance{instance(reader, "a", 9), server}
		}
		p := planner{w: &w}
		if agent, got := p.published(files, server); got != tt.want || got && agent != reader {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if _, is := p.published(other, server); is {
			t.Errorf("%s: a server that nobody uses is named", tt.name)
		}
	}
}

// An agent is told of each move of its server, and is not restarted for it; the
// next controller goes on where the former has ended.
func TestLoopPublishes(t *testing.T) {
	keep := func(s *spec.Spec) { s.OnControllerExit = spec.ExitKeep }
	agent := entry(reader, "a", uses("files"), keep)
	faults := within(t, 21, func(m *machine, c *Controller) {
		expect := func(what string, want []spec.ServerEndpoint, did ...string) {
			t.Helper()
			wait(time.Minute)
			m.mu.Lock()
			defer m.mu.Unlock()
			if !slices.Equal(m.configs[reader], want) {
				m.fault("%s: the file says %v, want %v", what, m.configs[reader], want)
			}
			var got []string
			for _, d := range m.did {
				if strings.Contains(d, reader.String()) {
					got = append(got, d)
				}
			}
			if m.did = nil; !slices.Equal(got, did) {
				m.fault("%s: did %q, want %q", what, got, did)
			}
		}
		live := func() []spec.ServerEndpoint {
			m.mu.Lock()
			defer m.mu.Unlock()
			for _, p := range m.procs {
				if p.main && p.key == files {
					e, _ := (*spec.MCP)(nil).Endpoint("files", portsOf(p.Ident))
					return []spec.ServerEndpoint{e}
				}
			}
			return nil
		}
		m.publish(setOf(agent, entry(files, "a")))
		wait(time.Minute)
		m.done()
		first := live()
		expect("up", first)
		m.publish(setOf(agent, entry(files, "b")))
		wait(time.Minute)
		second := live()
		expect("moved", second, "publish Agent/reader")
		if slices.Equal(first, second) {
			m.fault("the server has not moved")
		}
		m.publish(setOf(agent, entry(files, "b", func(s *spec.Spec) { s.Suspend = true })))
		expect("suspended", second)
		m.mu.Lock()
		delete(m.configs, reader)
		m.mu.Unlock()
		expect("deleted by somebody", second, "publish Agent/reader")
		if v, err := c.View(context.Background()); err != nil || v.Workloads[0].Status.MCPConfig != "reader.json" {
			m.fault("status: %+v, %v", v.Workloads, err)
		}
		m.mu.Lock()
		m.full = true
		m.mu.Unlock()
		m.publish(setOf(agent, entry(files, "c")))
		expect("full", second)
		v, err := c.View(context.Background())
		if err != nil || len(v.Workloads[0].Status.Warnings) != 1 || !v.Workloads[0].Status.Ready {
			m.fault("no warning of it: %+v, %v", v.Workloads, err)
		}
		m.mu.Lock()
		m.full = false
		m.mu.Unlock()
		wait(time.Minute)
		third := live()
		expect("mended", third, "publish Agent/reader")

		// Another controller, of which the agent is known to nobody else.
		c.Shutdown(false)
		<-c.Done()
		m.done()
		next := m.controller()
		ctx, cancel := context.WithCancel(context.Background()) // of the bubble
		go next.Run(ctx)
		m.publish(setOf(agent))
		expect("adopted", third)
		m.mu.Lock()
		for _, p := range m.procs {
			p.deaf = false // by chance, it would have to be killed
		}
		m.mu.Unlock()
		m.publish(setOf())
		expect("removed", nil, "signal Agent/reader", "withdraw Agent/reader")
		cancel()
		<-next.Done()
	})
	for _, f := range faults {
		t.Error(f)
	}
}

// A file whose agent has gone while no controller ran goes too.
func TestLoopWithdrawsWhatIsFound(t *testing.T) {
	faults := within(t, 22, func(m *machine, _ *Controller) {
		m.publish(setOf(entry(files, "a")))
		wait(time.Minute)
		if left := m.Published(); len(left) > 0 {
			m.fault("left: %v", left)
		}
	}, func(o *Options) { o.Actuator.(*machine).configs[reader] = []spec.ServerEndpoint{at("files", "80")} })
	for _, f := range faults {
		t.Error(f)
	}
}
