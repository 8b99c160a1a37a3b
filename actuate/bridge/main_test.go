//go:build unix

package bridge

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// role makes the test binary a server of that kind.
const role = "BRIDGE_TEST_SERVER"

func TestMain(m *testing.M) {
	switch kind := os.Getenv(role); kind {
	case "":
		goleak.VerifyTestMain(m)
	case "serve,sdk", "serve,sdk-legacy", "serve,sdk-modern":
		serveSDK(strings.TrimPrefix(kind, "serve,"))
	default:
		serveSwitches(kind)
	}
}

// switches is a server of the legacy era that behaves, and misbehaves, as it is told
// to by the names of its tools.
type switches struct {
	out   sync.Mutex
	mu    sync.Mutex
	tags  []string // what it has heard that leaves no other trace
	asked map[string]json.RawMessage
	// frozen says that it reads no more.
	frozen   bool
	listless string
	inOrder  bool
	picky    bool
	curious  bool // it asks for the roots as soon as it may
	eager    bool // its tools change as soon as it was greeted
	tools    int  // that were added
	brittle  bool // it ends of what it does not know
	mute     bool // it says nothing to that
}

func mark(file string) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString("x")
	}
	if err != nil {
		os.Exit(9)
	}
	f.Close()
}

// serveSwitches serves until its input ends. The kind is a comma separated list of
// how to begin.
func serveSwitches(kind string) {
	s := &switches{asked: map[string]json.RawMessage{}}
	for _, word := range strings.Split(kind, ",") {
		name, value, _ := strings.Cut(word, "=")
		n, _ := strconv.Atoi(value)
		switch name {
		case "exit":
			os.Exit(n)
		case "kill":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case "silent":
			select {}
		case "banner":
			fmt.Println("starting, please wait")
		case "deaf": // ignores the end of input and SIGTERM
			signal.Ignore(syscall.SIGTERM)
			defer func() { select {} }()
		case "picky": // has its own mind about some revisions
			s.picky = true
		case "oneatatime": // reads a message when it is done with the former one
			s.inOrder = true
		case "curious":
			s.curious = true
		case "eager":
			s.eager = true
		case "mark": // adds to a file
			mark(value)
		case "listless": // has a file when it is asked for its tools, which it does not answer
			s.listless = value
		case "once": // starts well once for a file, then ends with 4
			if _, err := os.Stat(value); err == nil {
				os.Exit(4)
			}
			_ = os.WriteFile(value, nil, 0o600)
		}
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		s.mu.Lock()
		frozen := s.frozen
		s.mu.Unlock()
		if frozen {
			select {}
		}
		var m testMessage
		if json.Unmarshal(line, &m) == nil {
			if s.inOrder {
				s.handle(m)
			} else {
				go s.handle(m)
			}
		}
	}
}

type testMessage struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params struct {
		Name      string
		URI       string
		Level     string
		RequestID json.RawMessage `json:"requestId"`
		Arguments struct {
			Text string
			N    int
		}
		Meta struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
		Capabilities json.RawMessage

		ProtocolVersion string
	} `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

func (s *switches) write(format string, args ...any) {
	s.out.Lock()
	defer s.out.Unlock()
	fmt.Fprintf(os.Stdout, format+"\n", args...)
}

func (s *switches) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tags = append(s.tags, fmt.Sprintf(format, args...))
}

func (s *switches) notes() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.tags, " ")
}

func (s *switches) handle(m testMessage) {
	switch m.Method {
	case "":
		s.mu.Lock()
		s.asked[string(m.ID)] = m.Result
		s.mu.Unlock()
	case "initialize":
		s.note("capabilities:%s", m.Params.Capabilities)
		if s.picky && s.picks(m) {
			return
		}
		version := latestLegacy
		if m.Params.ProtocolVersion == batchVersion {
			version = batchVersion
		}
		s.write(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"`+version+`","serverInfo":{"name":"switches","version":"1"},"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{},"tasks":{}}}}`, m.ID)
	case "notifications/initialized":
		s.note("initialized")
		if s.curious {
			s.write(`{"jsonrpc":"2.0","id":"q1","method":"roots/list"}`)
		}
	case "notifications/cancelled":
		s.note("cancelled:%s", m.Params.RequestID)
	case "notifications/roots/list_changed":
		s.note("roots")
	case "resources/subscribe", "resources/unsubscribe":
		s.note("%s:%s", strings.TrimPrefix(m.Method, "resources/"), m.Params.URI)
		s.answer(m, `{}`)
	case "logging/setLevel":
		s.note("level:%s", m.Params.Level)
		s.answer(m, `{}`)
	case "tools/list":
		if s.eager {
			s.list(m)
			return
		}
		if s.listless != "" {
			mark(s.listless)
			return
		}
		s.answer(m, `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"region":{"type":"string","x-mcp-header":"Region"},"o":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}}]}`)
	case "ping":
		s.answer(m, `{}`)
	case "tools/call":
		s.call(m)
	default:
		s.mu.Lock()
		if s.brittle {
			os.Exit(7)
		}
		mute := s.mute
		s.mu.Unlock()
		if m.ID != nil && !mute {
			s.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		}
	}
}

func (s *switches) picks(m testMessage) bool {
	switch m.Params.ProtocolVersion {
	case "refuse", "refuse and end", "refuse and say no more":
		s.mu.Lock()
		s.brittle = m.Params.ProtocolVersion == "refuse and end"
		s.mute = m.Params.ProtocolVersion == "refuse and say no more"
		s.mu.Unlock()
		s.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such revision","data":{"supported":["2025-11-25"]}}}`, m.ID)
	case "end":
		os.Exit(7)
	}
	return strings.HasPrefix(m.Params.ProtocolVersion, "refuse") || m.Params.ProtocolVersion == "silent"
}

// list answers with all tools, and says then that one more has come, while there are
// less than three.
func (s *switches) list(m testMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools < 3 {
		s.tools++
		s.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	}
	s.answer(m, `{"tools":[`+strings.Join(slices.Repeat([]string{`{"name":"t","inputSchema":{}}`}, s.tools), ",")+`]}`)
}

func (s *switches) answer(m testMessage, result string) {
	s.write(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (s *switches) text(m testMessage, text string) {
	q, _ := json.Marshal(text)
	s.answer(m, `{"content":[{"type":"text","text":`+string(q)+`}]}`)
}

func (s *switches) call(m testMessage) {
	a := m.Params.Arguments
	switch m.Params.Name {
	case "echo":
		s.text(m, a.Text)
	case "slow":
		<-time.After(time.Duration(a.N) * time.Millisecond)
		s.text(m, a.Text)
	case "progress":
		for i := range a.N {
			s.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":%q}}`, m.Params.Meta.ProgressToken, i+1, a.Text)
		}
		s.text(m, a.Text)
	case "never":
		s.note("never:%s", m.ID)
	case "notes":
		s.text(m, s.notes())
	case "pid":
		s.text(m, strconv.Itoa(os.Getpid()))
	case "exit":
		os.Exit(a.N)
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "deaf":
		s.text(m, a.Text)
		s.mu.Lock()
		s.frozen = true
		s.mu.Unlock()
	case "close":
		os.Stdin.Close()
		s.text(m, a.Text)
	case "junk":
		s.write("listening on %s", a.Text)
		s.text(m, a.Text)
	case "twice":
		s.text(m, a.Text)
		s.text(m, "again")
		s.write(`{"jsonrpc":"2.0","id":987654321,"result":{}}`)
		s.write(`{"jsonrpc":"2.0","id":"nobody","result":{}}`)
	case "half":
		s.out.Lock()
		fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"resu`, m.ID)
		os.Exit(5)
	case "huge":
		s.out.Lock()
		defer s.out.Unlock()
		fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
		_, _ = io.Copy(os.Stdout, io.LimitReader(endless{}, int64(a.N)))
		fmt.Fprintf(os.Stdout, "\"}]}}\n")
	case "flood":
		for i := range a.N {
			s.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":"%d %s"}}`, i, strings.Repeat("x", 500))
		}
		s.text(m, a.Text)
	case "changed":
		s.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		s.write(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q}}`, a.Text)
		s.text(m, a.Text)
	case "log":
		s.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":%q,"data":"hello"}}`, a.Text)
		s.text(m, a.Text)
	case "asks": // and waits for no answer
		for i := range a.N {
			s.write(`{"jsonrpc":"2.0","id":"many%d","method":"sampling/createMessage","params":{"messages":[]}}`, i)
		}
	case "ask", "told":
		if m.Params.Name == "ask" {
			s.write(`{"jsonrpc":"2.0","id":"q1","method":%q,"params":{"messages":[]}}`, a.Text)
		}
		for range 1000 {
			s.mu.Lock()
			result, ok := s.asked[`"q1"`]
			s.mu.Unlock()
			if ok {
				s.text(m, string(result))
				return
			}
			<-time.After(5 * time.Millisecond)
		}
	default:
		s.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such tool"}}`, m.ID)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
