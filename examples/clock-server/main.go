package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// drainTimeout is how long open requests have once a stop was asked for. It is
// well within the default grace period of a manifest (10 s).
const drainTimeout = 3 * time.Second

func main() {
	log.SetFlags(0)
	log.SetPrefix("clock-server: ")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := serve(ctx, os.Getenv("PORT")); err != nil {
		log.Fatal(err)
	}
}

// serve answers on 127.0.0.1:port until ctx is done, then lets open requests
// end for at most drainTimeout.
func serve(ctx context.Context, port string) error {
	if port == "" {
		return errors.New("cannot listen: PORT is not set")
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	log.Printf("listening on http://%s/mcp", l.Addr())

	srv := &http.Server{Handler: handler(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("cannot serve: %w", err)
	case <-ctx.Done():
	}
	log.Print("stopping")
	return drain(srv)
}

// drain closes the server. A client's event stream stays open for as long as
// the client likes, so what is left after drainTimeout is cut off.
func drain(srv *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	err := srv.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return srv.Close()
	}
	return err
}

// handler serves MCP at /mcp and nothing else.
func handler() http.Handler {
	s := newServer(time.Now)
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	return mux
}
