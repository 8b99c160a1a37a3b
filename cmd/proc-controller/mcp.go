package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// mcpPath is where MCP is spoken on a port.
const mcpPath = "/mcp"

// mcpIdle is how long a session is kept whose client says nothing more.
const mcpIdle = time.Hour

// mcpDrain is how long requests have to end once a stop was asked for.
const mcpDrain = 2 * time.Second

// mcpFlags say how MCP is served, and what may be done with it.
type mcpFlags struct {
	portFlags
	allowChanges bool
}

// newMCP is the verb that is an MCP server.
func newMCP(std streams, at *placeFlags) *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let an agent look at the controller: an MCP server over stdio or a port",
		Long: `Let an agent look at a running controller: an MCP server with the tools
list_workloads, describe_workload, logs, events and wait. With --allow-changes
there are restart, suspend and resume, too.

It speaks over stdin and stdout, as an MCP client starts it, or with --listen on a
port of this machine, at /mcp (Streamable HTTP). There other users of the machine
can ask, too, unless --token-file says what they have to show; with --allow-changes
a token is required.

The same flags that "run" was given find the controller; a workload that runs this
without any of them asks the controller that it is run by. No controller has to run
when it starts, and one that is restarted is found again.`,
		Example: `  proc-controller mcp
  proc-controller mcp --allow-changes
  proc-controller mcp --listen 127.0.0.1:8090
  proc-controller mcp --listen 127.0.0.1:8090 --allow-changes --token-file ~/.config/token`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			t, err := newTools(at, os.Getenv)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			server := t.server(f.allowChanges)
			if f.listen == "" {
				return serveStdio(ctx, std, server)
			}
			return f.serve(ctx, std, server)
		},
	}
	flags := cmd.Flags()
	f.addTo(flags, "speak on `ADDRESS` instead", "(default none is asked for)")
	flags.BoolVar(&f.allowChanges, "allow-changes", false, "offer the tools that change something: restart, suspend, resume")
	return cmd
}

func (f *mcpFlags) check(cmd *cobra.Command) error {
	if err := f.portFlags.check(cmd); err != nil {
		return err
	}
	if f.allowChanges && f.listen != "" && f.token == "" {
		return misused(cmd, "--allow-changes with --listen would let every user of this machine in: say with --token-file what has to be shown")
	}
	return nil
}

// newTools finds the controller. A workload of one, to which no flag says
// otherwise, means that.
func newTools(at *placeFlags, getenv func(string) string) (*tools, error) {
	own := spec.Owner(getenv(spec.EnvOwner))
	if own != "" && getenv(spec.EnvSubprocess) != "" && at.given() == "" && getenv("PROC_CONTROLLER_SOCKET") == "" {
		named := placeFlags{owner: string(own)}
		client, p, err := named.client()
		return &tools{client: client, explain: func(err error) error {
			if errors.Is(err, api.ErrNotRunning) {
				return fmt.Errorf("the controller of %s does not answer: %w; if it was given a --socket, this needs the same", p.owner, err)
			}
			return err
		}}, err
	}
	client, p, err := at.client()
	return &tools{client: client, explain: p.explain}, err
}

// serveStdio speaks until the client closes stdin. Nothing else may be written to
// stdout.
func serveStdio(ctx context.Context, std streams, server *mcp.Server) error {
	err := server.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(std.in), Writer: neverClosed{std.out}})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// neverClosed is a stream that stays open for others.
type neverClosed struct{ io.Writer }

func (neverClosed) Close() error { return nil }

// serve speaks on a port until ctx is done.
func (f *mcpFlags) serve(ctx context.Context, std streams, server *mcp.Server) error {
	var handler http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{SessionTimeout: mcpIdle})
	mux := http.NewServeMux()
	mux.Handle(mcpPath, handler)
	handler = mux
	if f.token != "" {
		token, err := api.Token(f.token)
		if err != nil {
			return err
		}
		handler = api.RequireToken(token, "", handler)
	}
	port, err := api.ListenLoopback(f.listen)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: port.Guard(handler), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(port) }()
	fmt.Fprintf(std.err, "%s: MCP at %s%s\n", program, port.URL(), mcpPath)
	select {
	case err := <-failed:
		return fmt.Errorf("cannot serve: %w", err)
	case <-ctx.Done():
	}
	drained, cancel := context.WithTimeout(context.Background(), mcpDrain)
	defer cancel()
	if srv.Shutdown(drained) != nil {
		_ = srv.Close() // a client's stream stays open for as long as it likes
	}
	return nil
}
