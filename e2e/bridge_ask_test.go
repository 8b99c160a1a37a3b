//go:build linux

package e2e

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How many clients are asked at a time, and how often each. Each has a server process
// of its own.
var (
	askedClients   = flag.Int("bridge-asked", 8, "how many clients TestBridgeServersAskTheirClients has")
	questionsToOne = flag.Int("bridge-questions", 50, "how often it has each of them asked")
)

// Servers ask their clients, all with the same ids and the same tokens of progress at
// the same time, and take some questions back: each is answered by the client whose
// server has asked, who tells of its progress to that server alone.
func TestBridgeServersAskTheirClients(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("s.yaml", manifest("MCPServer", "s", mcpServer("stdio", "legacy")+
		fmt.Sprintf("mcp: {transport: stdio, sharing: PerSession, maxSessions: %d}\n", *askedClients)))
	r.start()
	_, port := r.available("mcp/s")
	var all sync.WaitGroup
	for n := range *askedClients {
		all.Go(func() {
			a := newRespondent(t, clockURL(port), n)
			if a == nil {
				return
			}
			defer a.session.Close()
			for i := range *questionsToOne {
				if err := a.oneOfMany(t.Context(), i); err != nil {
					t.Errorf("client %d, question %d: %v", n, i, err)
					return
				}
			}
		})
	}
	all.Wait()
	eventually(t, soon, "the servers of the sessions are gone", func() error {
		if left := marked(r.owner); len(left) != 1 {
			return fmt.Errorf("%v", left)
		}
		return nil
	})
}

// respondent is a client of the Go SDK that answers what it is asked, as client n.
type respondent struct {
	n         int
	session   *mcp.ClientSession
	takenBack chan string // the questions of which it was told so
}

func newRespondent(t *testing.T, url string, n int) *respondent {
	t.Helper()
	a := &respondent{n: n, takenBack: make(chan string, 1)}
	session, err := connectListening(t.Context(), url, "2025-11-25", &mcp.ClientOptions{ElicitationHandler: a.answer})
	if err != nil {
		t.Errorf("client %d: %v", n, err)
		return nil
	}
	a.session = session
	return a
}

// answer tells of progress as often as the question has steps, and waits for the end
// of one that is held, which may come while it still tells.
func (a *respondent) answer(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	for range strings.Count(r.Params.Message, "!") {
		err := a.session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: r.Params.Meta["progressToken"], Progress: 1, Message: r.Params.Message,
		})
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	if strings.HasPrefix(r.Params.Message, "held") {
		select {
		case <-ctx.Done():
			a.takenBack <- r.Params.Message
			return nil, ctx.Err()
		case <-time.After(soon):
			return nil, fmt.Errorf("%q is not taken back", r.Params.Message)
		}
	}
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": fmt.Sprintf("%s: answered by %d", r.Params.Message, a.n)}}, nil
}

// oneOfMany has the client asked for the i-th time: every tenth question is taken back,
// of every third and of those the client tells its progress.
func (a *respondent) oneOfMany(ctx context.Context, i int) error {
	in := echoInput{Text: fmt.Sprintf("question %d of %d", i, a.n)}
	want := fmt.Sprintf("%s: answered by %d", in.Text, a.n)
	switch {
	case i%10 == 9:
		in = echoInput{Text: "held " + in.Text + "!", Steps: 1, Hold: true}
		want = in.Text + ", taken back"
	case i%3 == 0:
		in = echoInput{Text: in.Text + "!!", Steps: 2}
		want = fmt.Sprintf("%[1]s, %[1]s, %[1]s: answered by %[2]d", in.Text, a.n)
	}
	res, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: "ask", Arguments: in})
	if err != nil {
		return err
	}
	if got := textOf(res); got != want {
		return fmt.Errorf("%q, want %q", got, want)
	}
	if !in.Hold {
		return nil
	}
	select {
	case got := <-a.takenBack:
		if got != in.Text {
			return fmt.Errorf("told that %q is taken back, want %q", got, in.Text)
		}
		return nil
	case <-time.After(soon):
		return fmt.Errorf("nobody told that %q is taken back", in.Text)
	}
}
