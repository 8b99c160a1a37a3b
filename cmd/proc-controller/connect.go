package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/actuate/bridge/door"
	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// newConnect is the verb that connects a client which speaks stdio with a server.
func newConnect(std streams, at *placeFlags) *cobra.Command {
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "connect NAME",
		Short: "Speak with an MCP server over stdin and stdout",
		Long: `Speak with an MCP server that the controller runs, over stdin and stdout: what an
MCP client starts that knows no URLs, or whose configuration is to stay as it is
whatever port the server has. Each line of stdin is a message to the server, and what
it answers is written to stdout. Nothing is started: many clients share one server.

A server that is restarted or replaced is found again, and what the client has told
it (the handshake, the log level, subscriptions) is told again, so that the client
sees no end. A request that cannot have reached the former server is sent again;
one that may have been carried out is answered with an error that says so.

What is wrong is said on stderr, and each request is answered with an error while the
server is not there: it is suspended, say, or no controller runs. It ends when stdin
does, once what was asked is answered.`,
		Example: `  proc-controller connect files
  claude mcp add files -- proc-controller connect files
  echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | proc-controller connect files`,
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := serverKey(cmd, args)
			if err != nil {
				return err
			}
			if patience <= 0 {
				return misused(cmd, "--timeout has to be longer than nothing")
			}
			client, p, err := at.client()
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			signal.Ignore(syscall.SIGPIPE) // a client that has gone is no reason to leave its session behind
			c := &connection{client: client, place: p, key: key}
			return door.Run(ctx, door.Options{
				Endpoint: c.endpoint, In: std.in, Out: std.out, Patience: patience,
				Log: func(format string, args ...any) { std.say(fmt.Errorf(format, args...)) },
			})
		},
	}
	cmd.ValidArgsFunction = completeServers(at)
	cmd.Flags().DurationVar(&patience, "timeout", 30*time.Second, "how long requests wait at most for a server that is away, as `TIME`: 30s, 2m")
	return cmd
}

// serverKey reads the name of a server, with or without its kind.
func serverKey(cmd *cobra.Command, args []string) (spec.Key, error) {
	if len(args) != 1 {
		return spec.Key{}, misused(cmd, "say which MCP server: its name")
	}
	key := spec.Key{Kind: spec.KindMCPServer, Name: args[0]}
	if given, err := spec.ParseKey(args[0]); err == nil {
		key = given
	}
	if key.Kind != spec.KindMCPServer {
		return key, misused(cmd, "%s is no MCP server", shortName(key))
	}
	return key, nil
}

// completeServers offers the names of the servers, if a controller runs.
func completeServers(at *placeFlags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(context.Background(), completeWait)
		defer cancel()
		if client, _, err := at.client(); err == nil && len(args) == 0 {
			objects, _ := client.List(ctx, api.ListOptions{Kind: spec.KindMCPServer})
			for i := range objects {
				words = append(words, objects[i].Metadata.Name)
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// connection finds the server that is meant.
type connection struct {
	client *api.Client
	place  place
	key    spec.Key
	found  bool // at least once
}

// endpoint says where the server is, or what has to be done for it to be there. What
// passes by itself is a *door.Coming: the server is starting, or what was there a
// moment ago (the controller is being restarted) will be again.
func (c *connection) endpoint(ctx context.Context) (door.Endpoint, error) {
	o, err := c.client.Workload(ctx, c.key)
	switch f, missing := errors.AsType[*api.Failure](err); {
	case missing && f.Code == http.StatusNotFound:
		return door.Endpoint{}, c.missing(ctx)
	case errors.Is(err, api.ErrNotRunning) && c.found:
		return door.Endpoint{}, &door.Coming{Cause: c.place.explain(err)}
	case err != nil:
		return door.Endpoint{}, c.place.explain(err)
	}
	c.found = true
	return c.endpointOf(&o)
}

// missing says that there is no such server, and which one may be meant. A controller
// that has not read all manifests yet cannot tell.
func (c *connection) missing(ctx context.Context) error {
	if info, err := c.client.Controller(ctx); err == nil && !info.Ready {
		return &door.Coming{Cause: errors.New("the controller is starting")}
	}
	names, err := c.client.Table(ctx, api.TableNames, "")
	if err != nil {
		return c.place.explain(err)
	}
	keys := names.Keys()
	if slices.Contains(keys, c.key) { // it has come between the two questions
		return &door.Coming{Cause: errors.New("the controller is starting")}
	}
	return noSuch(c.key, keys)
}

// endpointOf gives the endpoint of a server that is ready.
func (c *connection) endpointOf(o *api.Object) (at door.Endpoint, err error) {
	name, st := shortName(o.Key()), &o.Status
	switch {
	case o.Spec == nil:
		return at, fmt.Errorf("%s has no manifest any more, and is being stopped", name)
	case o.Spec.Suspend || st.Phase == spec.PhaseSuspended || !st.SuspendedAt.IsZero():
		return at, fmt.Errorf("%s is suspended; resume it with: %s resume %s%s", name, program, name, c.place.flags.given())
	case st.Phase == spec.PhaseFailed || st.Phase == spec.PhaseCompleted:
		return at, fmt.Errorf("%s has ended (%s): %s", name, st.Phase, st.Message)
	}
	e, ok := o.Spec.MCP.Endpoint(o.Metadata.Name, st.Ports)
	switch {
	case len(o.Spec.Ports) == 0:
		return at, fmt.Errorf("%s declares no port that it could be spoken to on: add spec.ports, or transport: stdio to spec.mcp", name)
	case !ok || !holds(o, spec.CondReady):
		return at, &door.Coming{Cause: fmt.Errorf("%s is not ready: %s", name, notReady(st))}
	}
	at = door.Endpoint{URL: e.URL, SSE: e.Type == spec.TransportSSE}
	at.Token, err = tokenOf(o)
	return at, err
}

// notReady is why a server is not ready, in the words of its status.
func notReady(st *api.Status) string {
	if st.Message != "" {
		return fmt.Sprintf("%s, %s", st.Phase, st.Message)
	}
	return string(st.Phase)
}
