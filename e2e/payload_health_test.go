//go:build linux

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// healthPayload as the first argument makes this test binary a server on
// $HOST:$PORT, and on $PORT_ADMIN where there is that. What ails it say files in
// the directory of the second argument, so that a test can change it at any time:
//
//	shut       it says that it listens, and does so only when the file is gone
//	sick       pages are 503, with what the file says
//	busy       nothing is answered until the file is gone
//
// It writes down there, a byte each, what it was asked (asked-PAGE) and what
// nobody has waited for while it was busy (missed-PAGE).
const healthPayload = "e2e-health"

type healthServer struct {
	dir string
	mcp *mcp.Server // with a handshake, of which the sessions are counted
	// most is the greatest number of sessions at one time.
	most atomic.Int64
}

func health(args []string) int {
	s := &healthServer{dir: args[0], mcp: toolServer()}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	host, port := os.Getenv("HOST"), os.Getenv("PORT")
	if host == "" {
		host = "127.0.0.1"
	}
	fmt.Println("listening on port", port)
	s.until(context.Background(), "shut")
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	go http.Serve(l, s.whenNotBusy(s.pages()))
	if admin := os.Getenv("PORT_ADMIN"); admin != "" {
		l, err := net.Listen("tcp", net.JoinHostPort(host, admin))
		if err != nil {
			fmt.Println(err)
			return 1
		}
		mux := http.NewServeMux()
		mux.HandleFunc("/admin", s.health)
		go http.Serve(l, s.whenNotBusy(mux))
	}
	<-stop
	return 0
}

// toolServer is a server of MCP with two tools.
func toolServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "patient", Version: "1.5"}, nil)
	for _, name := range []string{"time", "echo"} {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		})
	}
	return s
}

// pages are those of a good server, and those of bad ones.
func (s *healthServer) pages() http.Handler {
	modern := toolServer()
	mux := http.NewServeMux()
	mux.HandleFunc("/health", s.health)
	mux.HandleFunc("/alive", s.health)
	mux.Handle("/mcp", s.counting(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, nil)))
	mux.Handle("/modern", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return modern }, &mcp.StreamableHTTPOptions{Stateless: true}))
	mux.Handle("/sse", mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return modern }, nil))
	mux.HandleFunc("/sessions", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, s.sessions(), s.most.Load())
	})
	mux.HandleFunc("/.well-known/agent-card.json", show("CARD"))
	mux.HandleFunc("/.well-known/agent.json", show("OLD_CARD"))

	say := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, text)
		}
	}
	mux.HandleFunc("/locked", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusFound))
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) { endless(w, r, strings.Repeat("x", 4096)) })
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		endless(w, r, ": still thinking\n\n")
	})
	mux.HandleFunc("/garbage", say("\x1b[2J<html>\nnot what you expect"+strings.Repeat("!", 10_000)+"</html>"))
	mux.HandleFunc("/half", say(`{"jsonrpc":"2.0","id":1,"res`))
	mux.HandleFunc("/wrong-id", say(`{"jsonrpc":"2.0","id":4711,"result":{}}`))
	return mux
}

// show gives what a variable says, if it is set.
func show(variable string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if text := os.Getenv(variable); text != "" {
			fmt.Fprint(w, text)
			return
		}
		http.NotFound(w, r)
	}
}

// endless writes the same again and again until nobody reads it any more.
func endless(w http.ResponseWriter, r *http.Request, text string) {
	for r.Context().Err() == nil {
		if _, err := w.Write([]byte(text)); err != nil {
			return
		}
	}
}

func (s *healthServer) health(w http.ResponseWriter, _ *http.Request) {
	if cause, err := os.ReadFile(filepath.Join(s.dir, "sick")); err == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		w.Write(cause)
		return
	}
	fmt.Fprintln(w, "well")
}

// until waits until a file is gone, and says no if nobody waits any more.
func (s *healthServer) until(ctx context.Context, name string) bool {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, err := os.Lstat(filepath.Join(s.dir, name)); err != nil {
			return true
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return false
		}
	}
}

// whenNotBusy answers when it is not, and counts.
func (s *healthServer) whenNotBusy(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := path.Base(r.URL.Path)
		s.note("asked-" + page)
		if !s.until(r.Context(), "busy") {
			s.note("missed-" + page)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func (s *healthServer) note(name string) {
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.WriteString(".")
}

// sessions are those that were initialized: the SDK begins one for each request
// without a session, and ends it with that if it was something else.
func (s *healthServer) sessions() (n int) {
	for session := range s.mcp.Sessions() {
		if session.InitializeParams() != nil {
			n++
		}
	}
	return n
}

// counting notes how many sessions there are after each request.
func (s *healthServer) counting(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		for now := int64(s.sessions()); ; {
			most := s.most.Load()
			if now <= most || s.most.CompareAndSwap(most, now) {
				return
			}
		}
	})
}
