package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/spec"
)

// operations is an Operator that notes what it was asked for.
type operations struct {
	did []string
	err error
}

func (o *operations) Restart(_ context.Context, k spec.Key) error {
	o.did = append(o.did, "restart "+k.String())
	return o.err
}

func (o *operations) Suspend(_ context.Context, k spec.Key, suspend bool) error {
	o.did = append(o.did, fmt.Sprintf("suspend %v %v", k, suspend))
	return o.err
}

func (o *operations) Down(context.Context) error {
	o.did = append(o.did, "down")
	return o.err
}

var filesKey = spec.Key{Kind: spec.KindMCPServer, Name: "files"}

func TestActionsAreHandedOn(t *testing.T) {
	o := &operations{}
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}, Operator: o}})
	c := NewClient(path)
	got, err := c.Restart(t.Context(), filesKey)
	if err != nil || got.Key() != filesKey || got.Status.PID != 12 {
		t.Errorf("restart: %+v, %v", got, err)
	}
	for _, suspend := range []bool{true, false} {
		if err := c.SetSuspended(t.Context(), filesKey, suspend); err != nil {
			t.Errorf("suspended %v: %v", suspend, err)
		}
	}
	if err := c.Down(t.Context()); err != nil {
		t.Errorf("down: %v", err)
	}
	want := []string{"restart MCPServer/files", "suspend MCPServer/files true", "suspend MCPServer/files false", "down"}
	if !slices.Equal(o.did, want) {
		t.Errorf("did %q, want %q", o.did, want)
	}
}

// What is refused has a code for programs and words for people.
func TestActionsAreRefusedInWords(t *testing.T) {
	for _, c := range []struct {
		err     error
		code    int
		message string
		about   *Details
	}{
		{
			fmt.Errorf("%w: as it happens", controller.ErrNoWorkload), http.StatusNotFound, "no MCPServer named files",
			&Details{Name: "files", Group: spec.Group, Kind: "MCPServer"},
		},
		{
			controller.ErrNotPossible, http.StatusConflict, "not possible now",
			&Details{Name: "files", Group: spec.Group, Kind: "MCPServer"},
		},
		{
			controller.ErrShutDown, http.StatusConflict, "the controller is being shut down",
			&Details{Name: "files", Group: spec.Group, Kind: "MCPServer"},
		},
		{controller.ErrStopped, http.StatusServiceUnavailable, "the controller gave no answer: the controller has stopped", nil},
		{controller.ErrNotReady, http.StatusServiceUnavailable, "the controller gave no answer: the controller is not ready yet", nil},
	} {
		path := socketPath(t)
		serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}, Operator: &operations{err: c.err}}})
		_, err := NewClient(path).Restart(t.Context(), filesKey)
		f, ok := errors.AsType[*Failure](err)
		switch {
		case !ok || f.Code != c.code || f.Message != c.message:
			t.Errorf("%v: got %v, want %d %q", c.err, err, c.code, c.message)
		case (f.Details == nil) != (c.about == nil), c.about != nil && *f.Details != *c.about:
			t.Errorf("%v: about %+v, want %+v", c.err, f.Details, c.about)
		}
	}
}

// A workload that went between the demand and the answer, a kind that does not
// exist, and a controller without anybody who could do it.
func TestActionsWithoutAnObject(t *testing.T) {
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}, Operator: &operations{}}})
	for _, k := range []spec.Key{{Kind: spec.KindAgent, Name: "left"}, {Kind: "Nothing", Name: "files"}, {Name: "files"}} {
		if _, err := NewClient(path).Restart(t.Context(), k); err == nil {
			t.Errorf("%v is restarted", k)
		}
		if err := NewClient(path).SetSuspended(t.Context(), k, true); err == nil {
			t.Errorf("%v is suspended", k)
		}
	}
	path = socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}}})
	for what, err := range map[string]error{
		"suspend": NewClient(path).SetSuspended(t.Context(), filesKey, true),
		"down":    NewClient(path).Down(t.Context()),
	} {
		if f, ok := errors.AsType[*Failure](err); !ok || f.Code != http.StatusNotImplemented {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A workload is only asked for something by POST.
func TestActionsAreAskedForByPost(t *testing.T) {
	o := &operations{}
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}, Operator: o}})
	for _, below := range []string{"/mcpservers/files/restart", "/agents/a/suspend", "/agents/a/resume", "/controller/down"} {
		if code, _ := ask(t, path, http.MethodGet, Root+below); code != http.StatusMethodNotAllowed {
			t.Errorf("GET %s gives %d", below, code)
		}
	}
	if len(o.did) > 0 {
		t.Errorf("did %q", o.did)
	}
}
