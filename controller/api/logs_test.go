package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/spec"
)

// fixedLogs has the output of one workload. It follows by giving a last line
// once something was handed on.
type fixedLogs struct {
	key   spec.Key
	lines []LogLine
	asked chan LogQuery // holds the last query
}

func (f *fixedLogs) Kept(key spec.Key) bool { return key == f.key }

func (f *fixedLogs) Logs(ctx context.Context, key spec.Key, q LogQuery, idle func(), take func(LogLine) error) error {
	f.asked <- q
	if key != f.key || q.Previous {
		return ErrNoLogs
	}
	for _, l := range f.lines {
		if err := take(l); err != nil {
			return err
		}
	}
	if !q.Follow {
		return nil
	}
	idle()
	<-ctx.Done()
	return nil
}

func serveLogs(t *testing.T) (*Client, *fixedLogs, string) {
	t.Helper()
	logs := &fixedLogs{
		key: spec.Key{Kind: spec.KindAgent, Name: "removed"}, asked: make(chan LogQuery, 1),
		lines: []LogLine{
			{Instance: "k7", Time: time.Unix(1700000000, 0).UTC(), Text: "one <&>"},
			{Instance: "k7", Text: "two", More: true, Skipped: 7},
		},
	}
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}, Logs: logs}})
	return NewClient(path), logs, path
}

func TestLogsOfARemovedWorkload(t *testing.T) {
	c, logs, _ := serveLogs(t)
	want := LogQuery{Tail: 5, Since: time.Unix(1600000000, 5).UTC(), Timestamps: true, AllMembers: true}
	var got []LogLine
	err := c.Logs(t.Context(), logs.key, want, func(l LogLine) error { got = append(got, l); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(logs.lines, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, <-logs.asked); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
	enough := errors.New("enough")
	if err := c.Logs(t.Context(), logs.key, LogQuery{Tail: -1}, func(LogLine) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
}

func TestLogsAreFollowedUntilTheEndOfTheReader(t *testing.T) {
	c, logs, _ := serveLogs(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	err := c.Logs(ctx, logs.key, LogQuery{Tail: -1, Follow: true}, func(LogLine) error {
		if n++; n == len(logs.lines) {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || n != len(logs.lines) {
		t.Errorf("%v after %d lines", err, n)
	}
}

func TestLogsThatThereAreNot(t *testing.T) {
	c, logs, path := serveLogs(t)
	known := spec.Key{Kind: spec.KindMCPServer, Name: "files"}
	none := func(l LogLine) error { return fmt.Errorf("a line: %+v", l) }
	if err := c.Logs(t.Context(), known, LogQuery{Tail: -1}, none); err != nil {
		t.Errorf("of a silent one: %v", err)
	}
	<-logs.asked
	for what, err := range map[string]error{
		"no Agent named files":                     c.Logs(t.Context(), spec.Key{Kind: spec.KindAgent, Name: "files"}, LogQuery{}, none),
		"no former run of MCPServer/files is kept": c.Logs(t.Context(), known, LogQuery{Previous: true}, none),
	} {
		var f *Failure
		if !errors.As(err, &f) || f.Code != http.StatusNotFound || f.Message != what {
			t.Errorf("%v, want %s", err, what)
		}
	}
	for _, bad := range []string{"tail=-2", "tail=x", "since=yesterday", "follow=perhaps"} {
		if code, body := ask(t, path, http.MethodGet, Root+"/agents/removed/logs?"+bad); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", bad, code, body)
		}
	}
	path = socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}}})
	if code, body := ask(t, path, http.MethodGet, Root+"/mcpservers/files/logs"); code != http.StatusNotImplemented {
		t.Errorf("without a state directory: %d %s", code, body)
	}
}
