package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// fixedView is a controller that always sees the same.
type fixedView struct{ view controller.View }

func (f fixedView) View(context.Context) (controller.View, error) { return f.view, nil }

// serveView answers for a view until the test ends.
func serveView(t testing.TB, v controller.View) *api.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "get") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "api.sock")
	s, err := api.Listen(api.Options{Path: path, Services: api.Services{Viewer: fixedView{v}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { s.Run(ctx) })
	t.Cleanup(func() { cancel(); done.Wait() })
	return api.NewClient(path)
}

// TestBriefListShowsTheSameTable: what a table shows has to be in the short form
// of the list that it is made from.
func TestBriefListShowsTheSameTable(t *testing.T) {
	three := int32(3)
	workload := func(name string, change func(*spec.Object, *spec.Status)) controller.Workload {
		o := &spec.Object{Kind: spec.KindAgent, Metadata: spec.Metadata{Name: name, Labels: map[string]string{"a": "b"}}, Spec: spec.Spec{Command: []string{"x"}}}
		shown := running(spec.KindAgent, name, 7, time.Hour)
		st := &shown.Status.Status
		change(o, st)
		return controller.Workload{Key: o.Key(), Object: o, Status: *st, File: "/m/" + name, Line: 3}
	}
	unknown := workload("unknown", func(*spec.Object, *spec.Status) {})
	unknown.Object = nil
	client := serveView(t, controller.View{Workloads: []controller.Workload{
		workload("asked", func(_ *spec.Object, st *spec.Status) { st.SuspendedAt = now }),
		workload("broken", func(_ *spec.Object, st *spec.Status) {
			st.Conditions = []spec.Condition{{Type: spec.CondReady, Status: spec.True}, {Type: spec.CondAccepted, Status: spec.False, Reason: spec.ReasonInvalid, Message: "no"}}
		}),
		workload("many", func(o *spec.Object, st *spec.Status) {
			o.Spec.Replicas, st.Restarts, st.Ports = &three, 4, spec.PortMap{{Name: "http", Port: 8080}}
			st.Instances = append(st.Instances, spec.InstanceStatus{Instance: "z-9", Scope: "systemd: a.scope"})
		}),
		unknown,
		workload("waits", func(o *spec.Object, st *spec.Status) {
			o.Spec.Suspend, st.Phase, st.Reason, st.Message, st.Instances = true, spec.PhasePending, "Why", "because", nil
		}),
	}})
	full, err := client.Workloads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	brief, err := client.BriefWorkloads(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if labelled, err := client.BriefWorkloads(t.Context(), "a=b"); err != nil || len(labelled) != 4 {
		t.Errorf("%d with the label, error %v", len(labelled), err)
	}
	var want, got strings.Builder
	for b, objects := range map[*strings.Builder][]api.Object{&want: full, &got: brief} {
		if err := workloadTable(objects, now, true).write(b); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(want.String(), got.String()); d != "" || len(full) != 5 {
		t.Errorf("of %d (-full +brief):\n%s", len(full), d)
	}
	if brief[0].Spec.Command != nil {
		t.Error("it is not brief")
	}
}

// BenchmarkGetOfAThousand is what get costs beside the start of the program: the
// question, the answer, and the table. It has 30 ms altogether.
func BenchmarkGetOfAThousand(b *testing.B) {
	var v controller.View
	for i := range 1000 {
		o := &spec.Object{Kind: spec.KindAgent, Metadata: spec.Metadata{Name: fmt.Sprintf("a%04d", i)}, Spec: spec.Spec{Command: []string{"sleep"}}}
		v.Workloads = append(v.Workloads, controller.Workload{Key: o.Key(), Object: o, Status: running(spec.KindAgent, "", i, time.Hour).Status.Status, File: "/m/a.yaml"})
	}
	client := serveView(b, v)
	for b.Loop() {
		all, err := client.BriefWorkloads(b.Context(), "")
		if err != nil || len(all) != 1000 {
			b.Fatal(len(all), err)
		}
		if err := workloadTable(all, now, false).write(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
