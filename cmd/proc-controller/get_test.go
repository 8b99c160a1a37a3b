package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// TestTheControllersTableIsTheSame: the controller makes the rows that are made here
// of one object alone, and of what a watch tells.
func TestTheControllersTableIsTheSame(t *testing.T) {
	three, at := int32(3), time.Now()
	workload := func(name string, change func(*spec.Object, *spec.Status)) controller.Workload {
		o := &spec.Object{Kind: spec.KindAgent, Metadata: spec.Metadata{Name: name, Labels: map[string]string{"a": "b"}}, Spec: spec.Spec{Command: []string{"x"}}}
		shown := running(spec.KindAgent, name, 7, now.Sub(at.Add(-90*time.Minute))) // the controller has a clock of its own
		st := &shown.Status.Status
		change(o, st)
		return controller.Workload{Key: o.Key(), Object: o, Status: *st, File: "/m/" + name, Line: 3}
	}
	unknown := workload("unknown", func(*spec.Object, *spec.Status) {})
	unknown.Object = nil
	client := serveView(t, controller.View{Ready: true, Workloads: []controller.Workload{
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
	for _, form := range []api.TableForm{api.TablePlain, api.TableWide, api.TableNames} {
		got, err := client.Table(t.Context(), form, "")
		if err != nil {
			t.Fatal(err)
		}
		if got.Controller == nil || !got.Controller.Ready {
			t.Errorf("%s: beside the table stands %+v", form, got.Controller)
		}
		got.Controller = nil
		if d := cmp.Diff(api.NewTable(full, form, at), got); d != "" || len(full) != 5 {
			t.Errorf("%s of %d (-full +table):\n%s", form, len(full), d)
		}
	}
	labelled, err := client.Table(t.Context(), api.TableNames, "a=b")
	if err != nil || len(labelled.Rows) != 4 {
		t.Errorf("%d with the label, error %v", len(labelled.Rows), err)
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
		all, err := client.Table(b.Context(), api.TablePlain, "")
		if err != nil || len(all.Rows) != 1000 {
			b.Fatal(len(all.Rows), err)
		}
		if err := workloadTable(all).write(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
