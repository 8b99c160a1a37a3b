package api

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// fixedMeter always reads the same.
type fixedMeter struct {
	usage []*observe.Usage
	err   error
}

func (f *fixedMeter) Read(context.Context, []*observe.Instance) ([]*observe.Usage, error) {
	return f.usage, f.err
}

func TestUsageOfInstances(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	files := spec.Key{Kind: spec.KindMCPServer, Name: "files"}
	view := sampleView()
	view.Instances = []*observe.Instance{
		{Key: files, ID: "k7-1", Main: &observe.Process{Ident: observe.Ident{PID: 12, Start: 3}}},
		{Key: files, ID: "k8-2"}, // nothing of it runs
		{Key: files, ID: "k9-3"}, // its main process has ended
	}
	m := &fixedMeter{usage: []*observe.Usage{
		{At: at, CPU: 1500 * time.Millisecond, Memory: 4096, Descriptors: 7, Processes: 2, Source: observe.UsageOfCgroup},
		nil,
		{At: at, Descriptors: -1, Processes: 1, Source: observe.UsageOfTree},
	}}
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: view}, Meter: m}})
	got, err := NewClient(path).Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seven := 7
	want := []Usage{
		{Key: "MCPServer/files", Instance: "k7-1", PID: 12, At: at, CPUSeconds: 1.5, MemoryBytes: 4096, Descriptors: &seven, Processes: 2, Source: "Cgroup"},
		{Key: "MCPServer/files", Instance: "k9-3", At: at, Processes: 1, Source: "Tree"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestUsageThatCannotBeTold(t *testing.T) {
	for name, tt := range map[string]struct {
		meter Meter
		code  int
	}{
		"no meter":     {nil, http.StatusNotImplemented},
		"not readable": {&fixedMeter{err: observe.ErrNoUsage}, http.StatusNotImplemented},
		"too slow":     {&fixedMeter{err: context.DeadlineExceeded}, http.StatusServiceUnavailable},
	} {
		path := socketPath(t)
		serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{}, Meter: tt.meter}})
		_, err := NewClient(path).Usage(t.Context())
		var f *Failure
		if !errors.As(err, &f) || f.Code != tt.code {
			t.Errorf("%s: %v, want code %d", name, err, tt.code)
		}
	}
}
