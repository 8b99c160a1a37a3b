package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/clients"
)

// exportFlags say what is told to whom, and how.
type exportFlags struct {
	write, dryRun, remove, force, connect bool
	file, selector                        string
}

// newExport is the verb that tells clients where the MCP servers are.
func newExport(std streams, at *placeFlags) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export CLIENT... [NAME...]",
		Short: "Tell Claude, Cursor, VS Code and other clients where the MCP servers are",
		Long: `Tell clients where the MCP servers are that the controller runs: all of them, or
those that are named, or whose labels match. The clients are:

` + clientTable() + `
Without --write the entries are printed. With it they are put into the client's file:
the one of the user, or with --file another, as that of a project. What else is in
the file stays as it is, to the byte; an entry that is not of ours is never touched,
and one of ours that somebody has changed only with --force. The file before the
first write is kept beside it, as FILE` + backupSuffix + `. --remove takes our entries out
again, and needs no controller.

A client is given the URL of a server where it can use one, and else the command
"` + program + ` connect NAME", as with --connect every client. A token is never
written into a file: the client takes it from a variable, which a note names, or comes
by way of connect.

--dry-run shows the difference that --write or --remove would make, and writes nothing.
Its exit code is 0 where there is none, 1 where there is one, and 2 where that cannot
be told.`,
		Example: `  proc-controller export cursor                      # print what it would be told
  proc-controller export cursor claude-desktop --dry-run
  proc-controller export cursor claude-desktop --write
  proc-controller export vscode files --write --file .vscode/mcp.json
  proc-controller export codex -l team=dev --write
  proc-controller export cursor --remove`,
		RunE: func(cmd *cobra.Command, args []string) error {
			x, err := f.parse(cmd, std, at, args)
			if err != nil {
				return err
			}
			if err = x.run(cmd.Context()); err != nil && f.dryRun && exitCode(err) == exitFailed && !errors.Is(err, errDiffers) {
				return &codedError{err, exitTrouble}
			}
			return err
		},
	}
	cmd.ValidArgsFunction = completeExport(at)
	flags := cmd.Flags()
	flags.BoolVar(&f.write, "write", false, "put the entries into the files of the clients")
	flags.BoolVar(&f.remove, "remove", false, "take our entries out of the files of the clients")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show what would change in the files, as a diff")
	flags.StringVarP(&f.selector, "selector", "l", "", "only servers whose labels match `SELECTOR`: team=dev,tier!=test")
	flags.StringVar(&f.file, "file", "", "the `PATH` of the client's file (default that of the user)")
	flags.BoolVar(&f.connect, "connect", false, "have the clients start \""+program+" connect\" rather than use URLs")
	flags.BoolVar(&f.force, "force", false, "write over, or remove, entries of ours that somebody has changed")
	return cmd
}

// clientTable lists the clients for the help.
func clientTable() string {
	var b strings.Builder
	for _, c := range clients.Catalog {
		fmt.Fprintf(&b, "  %-16s%s\n", c.Name, c.Title)
	}
	return b.String()
}

// export is one call of the verb.
type export struct {
	exportFlags
	std     streams
	at      *placeFlags
	clients []*clients.Client
	names   []string        // of servers; none for all
	labels  labels.Selector // of servers
	known   map[string]bool // all servers that there are
	moves   map[string]bool // those whose port is not fixed
	urls    map[string]bool // those that a client was told the URL of
	failed  bool            // something that was asked for was not done, and that was said
}

// errDiffers ends a dry run that has shown what would change.
var errDiffers = &codedError{errSaid, exitFailed}

// parse tells clients from servers: a word that is both is the client, and the server
// is mcp/WORD.
func (f *exportFlags) parse(cmd *cobra.Command, std streams, at *placeFlags, args []string) (x *export, err error) {
	x = &export{exportFlags: *f, std: std, at: at, labels: labels.Everything(), known: map[string]bool{}, moves: map[string]bool{}, urls: map[string]bool{}}
	for _, arg := range args {
		c := clients.Named(arg)
		switch {
		case c != nil && !slices.Contains(x.clients, c):
			x.clients = append(x.clients, c)
		case c == nil:
			name, err := serverName(cmd, arg)
			if err != nil {
				return nil, err
			}
			x.names = append(x.names, name)
		}
	}
	switch {
	case len(x.clients) == 0 && len(args) > 0:
		return nil, misused(cmd, "no client is called %q%s: use %s", args[0], didYouMean(args[0], clientNames()), alternatives(clientNames()))
	case len(x.clients) == 0:
		return nil, misused(cmd, "say for which client: %s", alternatives(clientNames()))
	case f.file != "" && len(x.clients) > 1:
		return nil, misused(cmd, "--file is the file of one client, and not of %d", len(x.clients))
	case f.remove && f.write:
		return nil, misused(cmd, "--write and --remove exclude one another")
	case f.selector != "" && (f.remove || len(x.names) > 0):
		return nil, misused(cmd, "-l goes neither with names nor with --remove")
	}
	if f.selector != "" {
		if x.labels, err = labels.Parse(f.selector); err != nil {
			return nil, misused(cmd, "cannot read the selector %q: %v", f.selector, err)
		}
	}
	return x, nil
}

func clientNames() (names []string) {
	for _, c := range clients.Catalog {
		names = append(names, c.Name)
	}
	return names
}

// serverName reads NAME or mcp/NAME.
func serverName(cmd *cobra.Command, arg string) (string, error) {
	if !strings.Contains(arg, "/") {
		return arg, nil
	}
	k, err := spec.ParseKey(arg)
	if err != nil {
		return "", misused(cmd, "%v", err)
	}
	if k.Kind != spec.KindMCPServer {
		return "", misused(cmd, "%s is no MCP server: clients are told of those alone", shortName(k))
	}
	return k.Name, nil
}

// run does what is asked for, for one client after the other. What goes wrong with
// one does not hinder the others.
func (x *export) run(ctx context.Context) error {
	p, err := x.at.locate(thisHost())
	if err != nil {
		return err
	}
	var told []clients.Endpoint
	if !x.remove {
		if told, err = x.endpoints(ctx, p); err != nil {
			return err
		}
		if !x.write && !x.dryRun {
			return x.print(told)
		}
	}
	state, err := p.stateDir()
	if err != nil {
		return err
	}
	differs := false
	for _, c := range x.clients {
		changed, err := x.one(ctx, c, state, told)
		differs = differs || changed
		if err != nil {
			x.std.say(err)
			x.failed = true
		}
	}
	x.tellMoving()
	switch {
	case x.failed:
		return errSaid
	case x.dryRun && differs:
		return errDiffers
	}
	return nil
}

// one puts entries into the file of one client, or takes them out. It says whether
// the file is another one after that, or would be.
func (x *export) one(ctx context.Context, c *clients.Client, state string, told []clients.Endpoint) (changed bool, err error) {
	path, err := x.path(c)
	if err != nil {
		return false, err
	}
	f := &clientFile{client: c, path: path, given: x.file != "", exports: exportsDir(state)}
	var entries []clients.Entry
	for _, e := range told {
		entries = append(entries, c.Entry(e, x.connect))
	}
	change := func(data []byte, r *clients.Record) (*clients.Change, error) {
		if x.remove {
			return c.Strip(data, r, x.names, x.force)
		}
		return c.Merge(data, r, entries, x.force)
	}
	if x.dryRun {
		done, err := f.preview(change)
		if err != nil {
			return false, err
		}
		x.tell(c, f, done, entries, told)
		if err = f.diff(x.std.out, done); err == nil && f.differs(done) {
			err = f.changeable()
		}
		return f.differs(done), err
	}
	done, err := f.apply(ctx, change)
	if err != nil {
		return false, err
	}
	x.tell(c, f, done, entries, told)
	return f.differs(done), x.report(c, f, done)
}

// path is that of the file of a client.
func (x *export) path(c *clients.Client) (string, error) {
	if x.file != "" {
		return thisHost().abs(x.file)
	}
	places, err := clientPlaces(c)
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.Title, err)
	}
	for _, p := range places {
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return places[0], nil
}
