package main

import (
	"bytes"
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// scripted is a controller that sees one thing after the other, and the last one
// for ever.
type scripted struct {
	mu       sync.Mutex
	views    []controller.View
	restarts int
}

func (s *scripted) View(context.Context) (controller.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[0]
	if len(s.views) > 1 {
		s.views = s.views[1:]
	}
	return v, nil
}

func (s *scripted) Restart(context.Context, spec.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarts++
	return nil
}

func (*scripted) Suspend(context.Context, spec.Key, bool) error { return nil }
func (*scripted) Down(context.Context) error                    { return nil }

// viewOf is what a controller that is ready sees of one workload.
func viewOf(in spec.InstanceStatus) controller.View {
	one := int32(1)
	ready := spec.False
	if in.Ready {
		ready = spec.True
	}
	k := spec.Key{Kind: spec.KindAgent, Name: "a"}
	return controller.View{Ready: true, Workloads: []controller.Workload{{
		Key: k, Object: &spec.Object{Kind: k.Kind, Metadata: spec.Metadata{Name: k.Name}, Spec: spec.Spec{Replicas: &one}},
		Status: spec.Status{
			Phase: spec.PhaseRunning, Instances: []spec.InstanceStatus{in},
			Conditions: []spec.Condition{{Type: spec.CondReady, Status: ready}},
		},
	}}}
}

// Whoever waits for a restart looks at what is true, whatever the controller goes
// through meanwhile.
func TestRestartIsWaitedForAsALevel(t *testing.T) {
	former := viewOf(spec.InstanceStatus{Instance: "a-1", PID: 11, Ready: true})
	asked := viewOf(spec.InstanceStatus{Instance: "a-1", PID: 11, Ready: true, Outdated: true})
	begun := controller.View{} // it has read no manifest yet
	after := viewOf(spec.InstanceStatus{Instance: "a-2", PID: 12, Ready: true})
	notYet := viewOf(spec.InstanceStatus{Instance: "a-2", PID: 12})
	gone := controller.View{Ready: true}
	for name, tt := range map[string]struct {
		then     []controller.View // after the restart was asked for
		restarts int
		code     int
		stdout   string
		stderr   string
	}{
		"at once":                         {[]controller.View{after}, 1, 0, "agent/a restarted (pid 12)\n", ""},
		"it takes its time":               {[]controller.View{asked, notYet, after}, 1, 0, "agent/a restarted (pid 12)\n", "agent/a: running\n"},
		"another controller":              {[]controller.View{begun, begun, begun, begun, after}, 1, 0, "agent/a restarted (pid 12)\n", "agent/a: no manifest names it any more\n"},
		"another one has forgotten of it": {[]controller.View{former, asked, after}, 2, 0, "agent/a restarted (pid 12)\n", "agent/a: running\n"},
		"its manifest is gone":            {[]controller.View{gone}, 1, 1, "", "agent/a: no manifest names it any more\nproc-controller: agent/a will not be ready: no manifest names it any more\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{views: append([]controller.View{former, asked}, tt.then...)}
			path := filepath.Join(t.TempDir(), "sock")
			server, err := api.Listen(api.Options{Path: path, Services: api.Services{Viewer: s, Operator: s}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { server.Run(ctx) })
			t.Cleanup(func() { cancel(); running.Wait() })
			var stdout, stderr bytes.Buffer
			code := execute([]string{"restart", "agent/a", "--socket", path, "--manifests", t.TempDir()}, streams{out: &stdout, err: &stderr})
			if code != tt.code || stdout.String() != tt.stdout || stderr.String() != tt.stderr {
				t.Errorf("exit code %d, %q, %q; want %d, %q, %q", code, &stdout, &stderr, tt.code, tt.stdout, tt.stderr)
			}
			if s.restarts != tt.restarts {
				t.Errorf("%d restarts were asked for, want %d", s.restarts, tt.restarts)
			}
		})
	}
}
