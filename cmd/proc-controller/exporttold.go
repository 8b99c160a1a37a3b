package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/clients"
)

// print shows what the clients would be told, each as a file with nothing else in it.
func (x *export) print(told []clients.Endpoint) error {
	var b bytes.Buffer
	for i, c := range x.clients {
		var entries []clients.Entry
		for _, e := range told {
			entries = append(entries, c.Entry(e, x.connect))
		}
		done, err := c.Merge(nil, &clients.Record{}, entries, false)
		if err != nil {
			return err
		}
		path, err := x.path(c)
		if err != nil {
			path = "its file"
		}
		if len(x.clients) > 1 {
			if i > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "%s %s: %s\n", c.Comment(), c.Title, path)
		} else {
			fmt.Fprintf(x.std.err, "note: --write puts this into %s\n", oneLine(path))
		}
		b.Write(done.Text)
		x.tellEntries(c, entries, told)
	}
	x.tellMoving()
	if _, err := x.std.out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	if x.failed {
		return errSaid
	}
	return nil
}

// note says something of a client on standard error.
func (x *export) note(c *clients.Client, format string, args ...any) {
	fmt.Fprintf(x.std.err, "note: %s: %s\n", c.Title, oneLine(fmt.Sprintf(format, args...)))
}

// tellEntries says how a client comes to the servers, where that is not by a URL alone.
func (x *export) tellEntries(c *clients.Client, entries []clients.Entry, told []clients.Endpoint) {
	whys := map[string][]string{}
	for i, e := range entries {
		x.urls[e.Name] = x.urls[e.Name] || !e.Door
		if e.Why != "" {
			whys[e.Why] = append(whys[e.Why], e.Name)
		}
		if e.Variable != "" {
			x.note(c, "%s wants a token: start %s with %s=\"$(cat %s)\" in its environment, or use --connect",
				e.Name, c.Title, e.Variable, spec.ShellWord(told[i].TokenFile))
		}
	}
	for _, why := range sortedKeys(whys) {
		x.note(c, "%s: by way of \"%s connect\": %s", strings.Join(whys[why], ", "), program, why)
	}
}

// tellMoving names the servers whose URL may be another one some day, once for all
// clients that were told it.
func (x *export) tellMoving() {
	var names []string
	for _, name := range sortedKeys(x.urls) {
		if x.urls[name] && x.moves[name] {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(x.std.err, "note: %s: %s, or use --connect\n", strings.Join(names, ", "), plural(len(names),
			"its port is picked by the controller, and may be another one some day: fix it in spec.ports",
			"their ports are picked by the controller, and may be others some day: fix them in spec.ports"))
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// tell says what was not done, and what there is to know of the rest. What was asked
// for by name and not done fails the verb.
func (x *export) tell(c *clients.Client, f *clientFile, done *clients.Change, entries []clients.Entry, told []clients.Endpoint) {
	for _, name := range sortedKeys(done.Outcomes) {
		switch done.Outcomes[name] {
		case clients.Foreign:
			x.note(c, "an entry %s is in %s that is not of ours: it stays as it is", name, f.path)
		case clients.Edited:
			x.note(c, "the entry %s of ours in %s was changed by somebody: it stays as it is; --force has it %s", name, f.path, x.what())
		default:
			continue
		}
		x.failed = x.failed || slices.Contains(x.names, name)
	}
	kept := slices.DeleteFunc(slices.Clone(entries), func(e clients.Entry) bool {
		return done.Outcomes[e.Name] == clients.Foreign || done.Outcomes[e.Name] == clients.Edited
	})
	endpoints := slices.DeleteFunc(slices.Clone(told), func(e clients.Endpoint) bool {
		return done.Outcomes[e.Name] == clients.Foreign || done.Outcomes[e.Name] == clients.Edited
	})
	x.tellEntries(c, kept, endpoints)
	if x.remove || len(x.names) > 0 || x.selector != "" {
		return
	}
	for _, name := range done.Record.Names() {
		if !x.known[name] {
			x.note(c, "the entry %s of ours leads nowhere any more; to remove it: %s export%s %s %s --remove", name, program, x.at.given(), c.Name, name)
		}
	}
}

// what is done with force to entries that were edited.
func (x *export) what() string {
	if x.remove {
		return "removed"
	}
	return "written over"
}

// report says what was done.
func (x *export) report(c *clients.Client, f *clientFile, done *clients.Change) error {
	words := map[clients.Outcome]string{
		clients.Added: "added to", clients.Updated: "updated in", clients.Same: "unchanged in", clients.Removed: "removed from",
	}
	var b strings.Builder
	for _, name := range sortedKeys(done.Outcomes) {
		switch word := words[done.Outcomes[name]]; {
		case word == "":
		case x.remove && done.Outcomes[name] == clients.Same:
			fmt.Fprintf(&b, "%s is not in %s\n", name, f.path)
		default:
			fmt.Fprintf(&b, "%s %s %s\n", name, word, f.path)
		}
	}
	if x.remove && len(done.Outcomes) == 0 {
		fmt.Fprintf(&b, "nothing of ours is in %s\n", f.path)
	}
	if _, err := x.std.out.Write([]byte(b.String())); err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	if c.After != "" && f.differs(done) {
		x.note(c, "for this to take effect, %s", c.After)
	}
	return nil
}

// oursIn are the names of the entries in a file that export has put there.
func oursIn(at *placeFlags, file string, data []byte) map[string]bool {
	p, err := at.locate(thisHost())
	if err != nil {
		return nil
	}
	state, err := p.stateDir()
	if err != nil {
		return nil
	}
	target, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil
	}
	for _, c := range clients.Catalog {
		f := clientFile{client: c, target: target, exports: exportsDir(state)}
		if _, err := os.Stat(f.recordPath()); err != nil {
			continue
		}
		if r, err := readRecord(f.recordPath()); err == nil {
			return r.Ours(data)
		}
	}
	return nil
}
