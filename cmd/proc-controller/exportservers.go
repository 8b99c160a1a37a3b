package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/clients"
)

// endpoints asks the controller for the servers that are meant, in the order of
// their names. What cannot be told to anybody yet is named.
func (x *export) endpoints(ctx context.Context, p place) ([]clients.Endpoint, error) {
	client, _, err := x.at.client()
	if err != nil {
		return nil, err
	}
	objects, err := client.Workloads(ctx)
	if err != nil {
		return nil, p.explain(err)
	}
	found, err := x.servers(objects)
	if err != nil {
		return nil, err
	}
	var told []clients.Endpoint
	for _, o := range found {
		e, ok, err := p.endpoint(o)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			fmt.Fprintf(x.std.err, "note: %s is not exported: it has no URL (%s)\n", o.Metadata.Name, oneLine(notRunning(o)))
			x.failed = x.failed || len(x.names) > 0
			continue
		}
		x.moves[e.Name] = !fixedPort(o, e.URL)
		told = append(told, e)
	}
	switch {
	case len(told) == 0 && x.failed:
		return nil, errSaid
	case len(told) == 0:
		return nil, errors.New("there is no MCP server to export: " + program + " get mcp shows what the controller has")
	}
	return told, nil
}

// servers are those that are meant. Where a name is not there, nothing is done.
func (x *export) servers(objects []api.Object) (found []*api.Object, err error) {
	for i := range objects {
		o := &objects[i]
		if o.Kind != spec.KindMCPServer || o.Spec == nil {
			continue
		}
		x.known[o.Metadata.Name] = true
		if x.labels.Matches(labels.Set(o.Metadata.Labels)) && (len(x.names) == 0 || slices.Contains(x.names, o.Metadata.Name)) {
			found = append(found, o)
		}
	}
	for _, name := range x.names {
		if x.known[name] {
			continue
		}
		missing := notFound(spec.Key{Kind: spec.KindMCPServer, Name: name}, objects)
		if c := didYouMean(name, clientNames()); c != "" {
			missing = fmt.Errorf("%s is neither a client nor an MCP server%s", name, c)
		}
		x.std.say(missing)
		err = errSaid
	}
	slices.SortFunc(found, func(a, b *api.Object) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	return found, err
}

// notRunning says why a server has no URL.
func notRunning(o *api.Object) string {
	text := string(o.Status.Phase)
	switch why := whyLeft(o); {
	case why == "", strings.EqualFold(why, text):
		return text
	case strings.HasPrefix(why, text+":"):
		return why // the reason is called as the phase
	default:
		return text + ": " + why
	}
}

// endpoint is what a client is told of a server; false where there is no URL yet.
func (p place) endpoint(o *api.Object) (clients.Endpoint, bool, error) {
	at, ok := o.Spec.MCP.Endpoint(o.Metadata.Name, o.Status.Ports)
	if s := o.Status.Server; s != nil && s.URL != "" {
		at.URL, ok = s.URL, true
	}
	if !ok {
		return clients.Endpoint{}, false, nil
	}
	door, err := p.door(o.Metadata.Name)
	if err != nil {
		return clients.Endpoint{}, false, err
	}
	token, err := p.tokenFile(o)
	if err != nil {
		return clients.Endpoint{}, false, fmt.Errorf("cannot tell where the token of %s is: %w", o.Metadata.Name, err)
	}
	return clients.Endpoint{
		Name: o.Metadata.Name, URL: at.URL, SSE: at.Type == spec.TransportSSE, TokenFile: token, Door: door,
	}, true, nil
}

// tokenFile is the path of the file with a server's token; empty where it wants none.
func (p place) tokenFile(o *api.Object) (string, error) {
	if o.Spec.MCP == nil || o.Spec.MCP.Auth == nil {
		return "", nil
	}
	dir := p.manifests
	if s := o.Status.Source; s != nil && s.File != "" {
		dir = filepath.Dir(s.File)
	}
	return spec.ResolvePath(o.Spec.MCP.Auth.TokenFile, dir, p.host.getenv("HOME"))
}

// fixedPort says that the port of a URL is the one that the manifest names.
func fixedPort(o *api.Object, address string) bool {
	u, err := url.Parse(address)
	return err == nil && slices.ContainsFunc(o.Spec.Ports, func(p spec.Port) bool {
		return p.Port != 0 && strconv.Itoa(int(p.Port)) == u.Port()
	})
}

// door is the command that comes to a server by standard input and output, from
// whatever surroundings: clients pass little of their environment on.
func (p place) door(name string) ([]string, error) {
	binary := programPath()
	if !filepath.IsAbs(binary) {
		return nil, errors.New("cannot tell the path of this program: start it by its path")
	}
	argv := []string{binary, "connect", name}
	for _, f := range []struct{ flag, path string }{{"--manifests", p.flags.manifests}, {"--state-dir", p.flags.stateDir}, {"--socket", p.flags.socket}} {
		if f.path == "" {
			continue
		}
		abs, err := p.host.abs(f.path)
		if err != nil {
			return nil, err
		}
		argv = append(argv, f.flag, abs)
	}
	if p.flags.owner != "" {
		argv = append(argv, "--owner", p.flags.owner)
	}
	socket, err := p.socket()
	if err != nil {
		return nil, err
	}
	if p.flags.socket == "" && socket != p.bareSocket() {
		argv = append(argv, "--socket", socket)
	}
	return argv, nil
}

// bareSocket is where a door would look for the controller that has these flags, and
// of our environment the home directory alone.
func (p place) bareSocket() string {
	bare := p.host
	bare.getenv = func(name string) string {
		if name == "HOME" {
			return p.host.getenv(name)
		}
		return ""
	}
	there, err := p.flags.locate(bare)
	if err != nil {
		return ""
	}
	socket, _ := there.socket()
	return socket
}

// completeExport offers the clients, and the MCP servers of the controller if it
// runs, but for what is named already.
func completeExport(at *placeFlags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
		for _, c := range clients.Catalog {
			if !slices.Contains(args, c.Name) {
				words = append(words, cobra.CompletionWithDesc(c.Name, c.Title))
			}
		}
		if len(args) == 0 {
			return words, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), completeWait)
		defer cancel()
		if client, _, err := at.client(); err == nil {
			names, _ := client.Table(ctx, api.TableNames, "") // none runs: the clients are enough
			for _, k := range names.Keys() {
				if k.Kind == spec.KindMCPServer && !slices.Contains(args, k.Name) {
					words = append(words, k.Name)
				}
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}
