package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/spec"
)

// fakeLog is an EventLog in memory; next gives what Next is to say.
type fakeLog struct {
	past []controller.Occurrence
	next chan any // a []controller.Occurrence or an error
}

func (f *fakeLog) Past(_ context.Context, take func(controller.Occurrence)) (uint64, error) {
	for _, o := range f.past {
		take(o)
	}
	return uint64(len(f.past)), nil
}

func (f *fakeLog) Next(ctx context.Context, from uint64) ([]controller.Occurrence, uint64, error) {
	select {
	case said := <-f.next:
		if err, bad := said.(error); bad {
			return nil, 0, err
		}
		more := said.([]controller.Occurrence)
		return more, from + uint64(len(more)), nil
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// happened makes events of a workload, a minute apart.
func happened(key string, from, count int) (all []controller.Occurrence) {
	for i := range count {
		all = append(all, controller.Occurrence{
			Time: time.Date(2026, 1, 1, 0, from+i, 0, 0, time.UTC), Type: controller.HasStarted, Key: key, PID: from + i,
		})
	}
	return all
}

func serveEvents(t *testing.T, log EventLog) (*Client, string) {
	t.Helper()
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: newWorld(), Events: log}, streams: quick()})
	return NewClient(path), path
}

func TestEventsOfAList(t *testing.T) {
	log := &fakeLog{past: append(happened("MCPServer/files", 0, 5), happened("Agent/a", 5, 3)...)}
	c, _ := serveEvents(t, log)
	files, agents := spec.Key{Kind: spec.KindMCPServer, Name: "files"}, spec.Key{Kind: spec.KindAgent}
	tests := []struct {
		name string
		q    EventQuery
		want string
	}{
		{"all", EventQuery{}, "0 1 2 3 4 5 6 7"},
		{"one workload", EventQuery{Key: files}, "0 1 2 3 4"},
		{"a kind", EventQuery{Key: agents}, "5 6 7"},
		{"the newest", EventQuery{Limit: 2}, "6 7"},
		{"the newest of one", EventQuery{Key: files, Limit: 1}, "4"},
		{"more than there are", EventQuery{Limit: 100}, "0 1 2 3 4 5 6 7"},
		{"since", EventQuery{Since: time.Date(2026, 1, 1, 1, 6, 0, 0, time.FixedZone("", 3600))}, "6 7"},
	}
	for _, tt := range tests {
		var pids []string
		err := c.Events(t.Context(), tt.q, func(o controller.Occurrence) error {
			pids = append(pids, fmt.Sprint(o.PID))
			return nil
		})
		if got := strings.Join(pids, " "); got != tt.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	enough := errors.New("enough")
	if err := c.Events(t.Context(), EventQuery{}, func(controller.Occurrence) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("who has had enough: %v", err)
	}
}

func TestEventsAreFollowed(t *testing.T) {
	log := &fakeLog{past: happened("Agent/a", 0, 3), next: make(chan any)}
	c, _ := serveEvents(t, log)
	heard, ended := make(chan int, 10), make(chan error, 1)
	var running sync.WaitGroup
	running.Go(func() {
		ended <- c.Events(t.Context(), EventQuery{Key: spec.Key{Kind: spec.KindAgent, Name: "a"}, Limit: 1, Follow: true},
			func(o controller.Occurrence) error { heard <- o.PID; return nil })
	})
	want := func(pid int) {
		t.Helper()
		select {
		case got := <-heard:
			if got != pid {
				t.Errorf("heard %d, want %d", got, pid)
			}
		case err := <-ended:
			t.Fatalf("it has ended with %v", err)
		case <-time.After(20 * time.Second):
			t.Fatalf("heard nothing, want %d", pid)
		}
	}
	want(2)
	log.next <- append(happened("Agent/b", 3, 1), happened("Agent/a", 4, 2)...)
	want(4)
	want(5)
	log.next <- ErrFellBehind
	var f *Failure
	if err := <-ended; !errors.As(err, &f) || !strings.Contains(f.Message, "fell behind") {
		t.Errorf("it has ended with %v", err)
	}
	running.Wait()
}

func TestEventsThatAreRefused(t *testing.T) {
	_, path := serveEvents(t, &fakeLog{})
	for query, has := range map[string]string{
		"workload=pods": "unknown kind", "workload=mcp/": "for a name", "since=yesterday": "write a time",
		"limit=-1": "write a number", "limit=x": "write a number", "follow=2": "true or false",
	} {
		code, body := ask(t, path, http.MethodGet, eventsPath+"?"+query)
		if code != http.StatusBadRequest || !strings.Contains(string(body), has) {
			t.Errorf("%s: %d %s, want 400 with %q", query, code, body, has)
		}
	}
	bare := socketPath(t)
	serve(t, Options{Path: bare, Services: Services{Viewer: newWorld()}})
	if code, body := ask(t, bare, http.MethodGet, eventsPath); code != http.StatusNotImplemented {
		t.Errorf("without a log: %d %s", code, body)
	}
}

func TestEventQueryIsReadAsItIsWritten(t *testing.T) {
	q := EventQuery{
		Key: spec.Key{Kind: spec.KindAgent, Name: "a"}, Since: time.Unix(1, 5).In(time.FixedZone("", 7200)), Limit: 7, Follow: true,
	}
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{RawQuery: q.encode()}}
	got, ok := eventQuery(nil, r)
	if d := cmp.Diff(q, got); d != "" || !ok {
		t.Errorf("(-want +got):\n%s", d)
	}
}
