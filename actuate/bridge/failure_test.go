//go:build unix

package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// TestFirstStart: a server that does not start ends the bridge with its code.
func TestFirstStart(t *testing.T) {
	for _, sharing := range []spec.Sharing{spec.SharingShared, spec.SharingPerSession} {
		tests := []struct {
			kind  string
			code  int
			words string
		}{
			{"exit=3", 3, "exit code 3"},
			{"exit=0", 0, "exit code 0"},
			{"kill", 137, "signal killed"},
			{"silent", 1, "did not answer initialize within"},
		}
		for _, tt := range tests {
			t.Run(string(sharing)+"/"+tt.kind, func(t *testing.T) {
				t.Parallel()
				g := start(t, tt.kind, func(o *Options, lim *limits) {
					o.Sharing = sharing
					if tt.kind == "silent" {
						lim.greet = 300 * time.Millisecond
					}
				})
				g.awaitEnd()
				err := g.stop()
				var exit *ExitError
				if !errors.As(err, &exit) || exit.Code != tt.code || !strings.Contains(exit.Reason, tt.words) {
					t.Errorf("ended with %+v, want code %d and %q", err, tt.code, tt.words)
				}
			})
		}
	}
}

// TestNoProgram: a program that is not there is said so.
func TestNoProgram(t *testing.T) {
	g := start(t, "", func(o *Options, _ *limits) { o.Command = []string{"/no/such/program"} })
	g.awaitEnd()
	var exit *ExitError
	if err := g.stop(); !errors.As(err, &exit) || exit.Code != 127 || !strings.Contains(exit.Reason, "/no/such/program") {
		t.Errorf("ended with %v", err)
	}
}

// TestDeath: what was in flight is answered, the session stays, and the next request
// finds a new server that is set up as the former one was.
func TestDeath(t *testing.T) {
	g := start(t, "")
	c := g.client()
	pid := said(c.call("1", "pid", "", 0).message())
	c.post(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"test://a"}}`)
	c.post(`{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"warning"}}`)
	waiting := make(chan string)
	go func() { waiting <- c.call(`"w"`, "never", "", 0).message() }()
	eventually(t, func() string {
		if notes := said(c.call("4", "notes", "", 0).message()); !strings.Contains(notes, "never:") {
			return notes
		}
		return ""
	})
	if a := c.call("5", "exit", "", 9); !strings.Contains(a.message(), `"id":5,"error":{"code":-32000`) || !strings.Contains(a.message(), "exit code 9") {
		t.Errorf("the call that killed it: %s", a.message())
	}
	if m := <-waiting; !strings.Contains(m, `"id":"w","error":{"code":-32000`) {
		t.Errorf("the call that waited: %s", m)
	}
	next := said(c.call("6", "pid", "", 0).message())
	if _, err := strconv.Atoi(next); err != nil || next == pid {
		t.Errorf("pid %s, then %s", pid, next)
	}
	notes := said(c.call("7", "notes", "", 0).message())
	for _, want := range []string{"initialized", "subscribe:test://a", "level:warning"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the new server has heard %q, without %s", notes, want)
		}
	}
	r := g.report()
	if r.Restarts != 1 || r.Last == nil || r.Last.ExitCode != 9 || r.Last.Signal != 0 || strconv.Itoa(r.PID) != next {
		t.Errorf("report %+v, last %+v", r, r.Last)
	}
	if a := c.call("8", "kill", "", 0); !strings.Contains(a.message(), "signal killed") {
		t.Errorf("killed: %s", a.message())
	}
	if said(c.call("9", "echo", "e", 0).message()) != "e" {
		t.Error("no answer after the second end")
	}
	if r := g.report(); r.Last.Signal != int(syscall.SIGKILL) || r.Last.ExitCode != -1 {
		t.Errorf("last %+v", r.Last)
	}
}

// TestCrashLoop: while the back-off is long, clients are told, and the page says why.
func TestCrashLoop(t *testing.T) {
	once := filepath.Join(t.TempDir(), "once")
	g := start(t, "once="+once, func(o *Options, lim *limits) {
		o.Backoff = spec.Backoff{Initial: spec.Duration(time.Hour), Max: spec.Duration(time.Hour), Factor: 1}
		lim.patience = 2 * time.Second
	})
	c := g.client()
	c.call("1", "exit", "", 4)
	eventually(t, func() string {
		r := g.report()
		if r.Problem == "" || r.NextStart.IsZero() || r.Restarts != 1 {
			return r.Problem
		}
		return ""
	})
	if r := g.report(); !strings.Contains(r.Problem, "exit code 4") || r.PID != 0 || r.Servers != 0 || r.Server == nil {
		t.Errorf("report %+v", r)
	}
	if a := c.call("2", "echo", "", 0); !strings.Contains(a.message(), "exit code 4") || !strings.Contains(a.message(), "started again in") {
		t.Errorf("a call meanwhile: %s", a.message())
	}
	if a := g.request("POST", initBody); a.status != 503 || a.header.Get("Retry-After") == "" {
		t.Errorf("a new client meanwhile: %d %s", a.status, a.message())
	}
}

// TestMisbehaviour: what a server should not do is found, and costs nobody else.
func TestMisbehaviour(t *testing.T) {
	g := start(t, "banner", func(_ *Options, lim *limits) { lim.line = 1 << 20 })
	c := g.client()
	for i, tool := range []string{"junk", "twice"} {
		if got := said(c.call(strconv.Itoa(i+1), tool, "t "+tool, 0).message()); got != "t "+tool {
			t.Errorf("%s: %q", tool, got)
		}
	}
	if got := said(c.call(`"h"`, "huge", "", 50<<20).message()); !strings.Contains(got, "error -32000: the answer of the server has 524") {
		t.Errorf("huge: %q", got)
	}
	if got := said(c.call("3", "echo", "after", 0).message()); got != "after" {
		t.Errorf("after: %q", got)
	}
	if got := said(c.call("4", "half", "", 0).message()); !strings.Contains(got, "exit code 5") {
		t.Errorf("half: %q", got)
	}
	if got := said(c.call("5", "ask", "sampling/createMessage", 0).message()); got != "" && !strings.Contains(got, "null") {
		t.Errorf("ask: %q", got)
	}
	all := strings.Join(g.report().Findings, "\n")
	for _, want := range []string{"no JSON-RPC (", "not asked, or was answered already (3 answers", "too large (1 line", "within a line (1 time)", "asks its client"} {
		if !strings.Contains(all, want) {
			t.Errorf("findings without %q:\n%s", want, all)
		}
	}
	for _, want := range []string{"starting, please wait", "listening on t junk"} {
		if !strings.Contains(g.log.String(), want) {
			t.Errorf("log without %q", want)
		}
	}
}

// TestSlow: a call that takes long holds up no other, and is shown to live.
func TestSlow(t *testing.T) {
	g := start(t, "", func(_ *Options, lim *limits) { lim.quiet, lim.beat = 50*time.Millisecond, 20*time.Millisecond })
	slow, other := g.client(), g.client()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp, err := slow.do(ctx, "POST", callBody("1", "never", "", 0), "Mcp-Session-Id", slow.session)
	if err != nil || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("never: %v %v", resp, err)
	}
	for i := range 20 {
		if got := said(other.call(strconv.Itoa(i), "echo", "e", 0).message()); got != "e" {
			t.Fatalf("meanwhile: %q", got)
		}
	}
	cancel()
	resp.Body.Close()
	// In this era a lost connection cancels nothing; a notification does.
	if notes := said(other.call("n", "notes", "", 0).message()); strings.Contains(notes, "cancelled") {
		t.Errorf("cancelled by a lost connection: %s", notes)
	}
	other.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`) // its own 1 is done
	slow.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}`)
	if notes := said(other.call(`"m"`, "notes", "", 0).message()); strings.Contains(notes, "cancelled") {
		t.Errorf("cancelled by another id: %s", notes)
	}
	slow.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	eventually(t, func() string {
		if notes := said(other.call(`"m"`, "notes", "", 0).message()); !strings.Contains(notes, "cancelled:") {
			return notes
		}
		return ""
	})
}

// TestDoesNotRead: a server that does not read its input costs a bounded amount, and
// who waits for it is told.
func TestDoesNotRead(t *testing.T) {
	g := start(t, "", func(o *Options, lim *limits) {
		lim.outbox, lim.own, lim.quiet, o.Grace = 64<<10, 100*time.Millisecond, 50*time.Millisecond, time.Second
	})
	c := g.client()
	if got := said(c.call("0", "deaf", "d", 0).message()); got != "d" {
		t.Fatalf("deaf: %q", got)
	}
	told := make(chan string, 40)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for i := range cap(told) {
		all.Go(func() {
			resp, err := c.do(ctx, "POST", callBody(strconv.Itoa(i+1), "echo", strings.Repeat("x", 32<<10), 0), "Mcp-Session-Id", c.session)
			if err != nil {
				return
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body) // it is cut off at the end of the test
			told <- string(body)
		})
	}
	if got := <-told; !strings.Contains(got, "does not read its input") {
		t.Errorf("got %.200q", got)
	}
	if r := g.report(); r.Problem == "" || r.PID == 0 {
		t.Errorf("report %+v", r)
	}
}

// TestClosesItsInput: a server that cannot be told anything any more is replaced.
func TestClosesItsInput(t *testing.T) {
	g := start(t, "", func(o *Options, _ *limits) { o.Grace = time.Second })
	c := g.client()
	pid := said(c.call("1", "pid", "", 0).message())
	_ = said(c.call("2", "close", "c", 0).message())
	eventually(t, func() string {
		next := said(c.call("3", "pid", "", 0).message())
		if _, err := strconv.Atoi(next); err != nil || next == pid {
			return next
		}
		return ""
	})
}

// TestKills: whenever the server dies, each call has its own answer, or an error that
// says so, and then there is a server again.
func TestKills(t *testing.T) {
	g := start(t, "")
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			c := g.client()
			for i := range 40 {
				text := fmt.Sprintf("%d of %d", i, n)
				tool := "echo"
				if n == 0 && i%10 == 5 {
					tool = "kill"
				}
				got := said(c.call(strconv.Itoa(i), tool, text, 0).message())
				if got != text && !strings.HasPrefix(got, "error -32000: the server has ended (signal killed)") {
					t.Errorf("%s: got %q", text, got)
				}
			}
		})
	}
	all.Wait()
	if r := g.report(); r.Restarts != 4 || r.Problem != "" {
		t.Errorf("report %+v", r)
	}
}

// TestStop: what does not want to end is killed, with all that it has started.
func TestStop(t *testing.T) {
	for _, kind := range []string{"", "deaf", "silent"} {
		t.Run("kind "+kind, func(t *testing.T) {
			t.Parallel()
			g := start(t, kind, func(o *Options, _ *limits) { o.Grace = 500 * time.Millisecond })
			var pid int
			eventually(t, func() string {
				if pid = g.report().PID; pid == 0 || kind != "silent" && g.report().Problem != "" {
					return "not started"
				}
				return ""
			})
			if err := g.stop(); err != nil {
				t.Errorf("stopped with %v", err)
			}
			if err := syscall.Kill(-pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("its group is still there: %v", err)
			}
		})
	}
}

// TestEraIsRemembered: and forgotten, if it was wrong.
func TestEraIsRemembered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sub", "era")
	remember := func(kind string) string {
		g := start(t, kind, func(o *Options, _ *limits) { o.Memory = file })
		g.client()
		if err := g.stop(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		text, _ := os.ReadFile(file)
		return strings.TrimSpace(string(text))
	}
	if era := remember(""); era != "Legacy" {
		t.Errorf("remembered %q", era)
	}
	if err := os.WriteFile(file, []byte("Modern\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if era := remember(""); era != "Legacy" {
		t.Errorf("remembered %q of a legacy server that was taken for a modern one", era)
	}
}
