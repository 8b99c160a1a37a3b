package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/store"
)

// exitTrouble is the exit code of diff where it could not compare, as diff(1) has
// it; 1 is for a difference.
const exitTrouble = 2

// newDiff is the verb that compares manifests with what runs.
func newDiff(std streams, at *placeFlags) *cobra.Command {
	var files []string
	var output string
	cmd := &cobra.Command{
		Use:   "diff [-f {FILE|DIR|-}...]",
		Short: "Compare manifests with what runs, field by field",
		Long: `Compare manifests with what runs, field by field.

Each field that differs is marked: live, if it is applied to what runs, or restart,
if the workload has to be restarted for it. Without -f it compares the directory of
the manifests, and shows what the controller has not taken over: manifests with
mistakes, instances of a former manifest, what is suspended at runtime. With -f it
shows what apply would change.

The exit code is 0 where nothing differs, 1 where something does, and 2 where they
could not be compared.`,
		Example: `  proc-controller diff
  proc-controller diff -f ./manifests
  git show main:files.yaml | proc-controller diff -f -
  proc-controller diff -o json | jq '.[] | select(.restarts)'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misused(cmd, "unexpected argument %q: write -f %s for a file", args[0], spec.ShellWord(args[0]))
			}
			if err := oneOf(cmd, "output", output, "json"); err != nil {
				return err
			}
			found, err := compare(cmd.Context(), std, at, files)
			if err == nil {
				err = writeDifferences(std.out, output, found)
			}
			if err != nil {
				return &codedError{err, exitTrouble}
			}
			if len(found) > 0 {
				return errSaid
			}
			return nil
		},
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions // files go with -f
	addFileFlag(cmd, &files, "what to compare")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FORMAT` of the output: json (default lines for a person)")
	completeWords(cmd, "output", "json")
	return cmd
}

// state is in what way a manifest and what runs differ.
type state string

// The states.
const (
	stateCreate    state = "Create"    // there is a manifest, and the controller knows nothing of it
	stateDelete    state = "Delete"    // there is a workload, and no manifest
	stateChange    state = "Change"    // fields differ
	stateInvalid   state = "Invalid"   // the manifest has mistakes, or cannot be taken over
	stateOutdated  state = "Outdated"  // an instance of a former manifest runs
	stateSuspended state = "Suspended" // at runtime, and not by its manifest
)

// difference is one manifest that differs from what runs.
type difference struct {
	// Key is KIND/NAME; empty where a file cannot be understood at all.
	Key   string `json:"key,omitempty"`
	State state  `json:"state"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	// Restarts says that what runs has to be restarted for it.
	Restarts bool               `json:"restarts"`
	Fields   []spec.FieldChange `json:"fields,omitempty"`
	// Outdated are the main processes that are not of the manifest.
	Outdated []int  `json:"outdatedPIDs,omitempty"`
	Message  string `json:"message,omitempty"`
}

// compare finds the differences, in the order of the keys.
func compare(ctx context.Context, std streams, at *placeFlags, files []string) ([]difference, error) {
	client, p, err := at.client()
	if err != nil {
		return nil, err
	}
	c := comparison{dir: p.manifests, checker: checker{home: os.Getenv("HOME")}}
	if len(files) > 0 {
		g, err := readGiven(std, p, files)
		if err != nil {
			return nil, err
		}
		if there, err := store.Load(p.manifests); err == nil {
			g.beside(there)
		}
		if err := g.mistakes(); err != nil {
			return nil, err
		}
		if err := c.ask(ctx, client); err != nil {
			return nil, p.explain(err)
		}
		for _, d := range g.documents() {
			c.object(d.Object, d.File, d.Line)
		}
		return c.sorted(), nil
	}
	there, err := store.Load(p.manifests)
	if err != nil {
		return nil, err
	}
	if err := c.ask(ctx, client); err != nil {
		return nil, p.explain(err)
	}
	c.directory(there)
	return c.sorted(), nil
}

// comparison collects differences.
type comparison struct {
	checker // for the files that manifests name
	dir     string
	running map[spec.Key]*api.Object
	found   []difference
}

// ask asks the controller what runs.
func (c *comparison) ask(ctx context.Context, client *api.Client) error {
	all, err := client.Workloads(ctx)
	c.running = byKey(all)
	return err
}

func (c *comparison) sorted() []difference {
	slices.SortStableFunc(c.found, func(a, b difference) int { return strings.Compare(a.Key, b.Key) })
	return c.found
}

// add takes a difference in.
func (c *comparison) add(d difference, key spec.Key) {
	if key != (spec.Key{}) {
		d.Key = shortName(key)
	}
	c.found = append(c.found, d)
}

// directory compares all of a directory, and finds what has no manifest in it.
func (c *comparison) directory(there *store.Content) {
	for _, f := range there.Files {
		if f.Err != nil {
			c.add(difference{State: stateInvalid, File: f.Path, Message: "cannot read it: " + cause(f.Err).Error()}, spec.Key{})
		}
		for _, d := range f.Docs() {
			o := c.running[d.Key]
			switch {
			case d.Skipped:
			case d.Object == nil:
				c.add(difference{State: stateInvalid, File: d.File, Line: d.Findings[0].Line, Message: mistake(&d.Findings[0], o)}, d.Key)
			case o != nil && o.Status.Source != nil && o.Status.Source.File != d.File && c.twin(there, d.Key):
				c.add(difference{State: stateInvalid, File: d.File, Line: d.Line, Message: "ignored: " + o.Status.Source.String() + " has that name, too"}, d.Key)
			default:
				c.object(d.Object, d.File, d.Line)
			}
		}
	}
	for k, o := range c.running {
		if !there.Has(k) && there.Unclear(k) == nil {
			c.add(difference{State: stateDelete, Message: "no manifest names it", Restarts: len(o.Status.Instances) > 0}, k)
		}
	}
}

// twin says that several files have a name.
func (c *comparison) twin(there *store.Content, k spec.Key) bool {
	_, _, err := there.Where(k)
	return err != nil
}

// mistake is what is wrong with a manifest, and what that means for what runs.
func mistake(f *spec.Finding, o *api.Object) string {
	text := f.Message
	if o != nil && o.Spec != nil {
		text += "; the last good one stays in force"
	}
	return text
}

// object compares one object with what runs by its name.
func (c *comparison) object(want *spec.Object, file string, line int) {
	d := difference{File: file, Line: line}
	o := c.running[want.Key()]
	switch {
	case o == nil:
		d.State = stateCreate
	case o.Spec == nil:
		d.State, d.Message = stateInvalid, messageOf(o, spec.CondAccepted, "never taken over by the controller")
	default:
		d.Fields = append(spec.Diff(manifestOf(o), want), c.contents(want, o)...)
		d.Restarts = slices.ContainsFunc(d.Fields, func(f spec.FieldChange) bool { return f.Restarts })
		d.judge(o)
	}
	if d.State != "" {
		c.add(d, want.Key())
	}
}

// judge says in what way a workload differs whose fields were compared.
func (d *difference) judge(o *api.Object) {
	for _, in := range o.Status.Instances {
		if in.PID != 0 && (in.Outdated || in.Hash != o.Status.Hash) {
			d.Outdated, d.Restarts = append(d.Outdated, in.PID), true
		}
	}
	if isFalse(o, spec.CondAccepted) {
		d.Message = messageOf(o, spec.CondAccepted, "not taken over by the controller")
	}
	switch {
	case len(d.Fields) > 0:
		d.State = stateChange
	case d.Message != "":
		d.State = stateInvalid
	case len(d.Outdated) > 0:
		d.State = stateOutdated
	case !o.Status.SuspendedAt.IsZero() && !o.Spec.Suspend:
		d.State, d.Message = stateSuspended, "at runtime, and not by its manifest"
	}
}

// contentOf begins the path of a change that is in a file which a manifest names.
const contentOf = "content of "

// contents tells whether the files that an object names have another content than
// it was taken over with. What is in them is never shown.
func (c *comparison) contents(want *spec.Object, o *api.Object) []spec.FieldChange {
	files, names := map[string][]byte{}, []string{}
	for _, f := range want.FileSources() {
		names = append(names, f.Path)
		if content, err := c.envFile(f.Path, c.dir); err == nil {
			files[f.Path] = content
		} else if !f.Optional {
			return nil // the controller has the former content, and says what is wrong
		}
	}
	same := manifestOf(o)
	if len(names) == 0 || spec.HashOf(want, nil) != spec.HashOf(same, nil) || spec.HashOf(want, files) == o.Status.Hash {
		return nil
	}
	return []spec.FieldChange{{Path: contentOf + strings.Join(names, " or "), Restarts: true}}
}

// writeDifferences writes them for a person, or as JSON.
func writeDifferences(w io.Writer, output string, found []difference) error {
	var err error
	if output == "json" {
		err = writeJSON(w, append([]difference{}, found...))
	} else {
		term := terminalOf(w, os.Getenv)
		for i := 0; i < len(found) && err == nil; i++ {
			_, err = io.WriteString(w, found[i].text(term))
		}
	}
	if err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}

// headlines say what a state means.
var headlines = map[state]string{
	stateCreate:    "would be created",
	stateDelete:    "would be deleted",
	stateChange:    "differs",
	stateInvalid:   "is not taken over",
	stateOutdated:  "is outdated",
	stateSuspended: "is suspended",
}

// text is a difference as lines.
func (d *difference) text(term terminal) string {
	var b strings.Builder
	place := ""
	if d.File != "" {
		place = (&api.Source{File: d.File, Line: d.Line}).String()
	}
	switch {
	case d.Key == "":
		b.WriteString(oneLine(place) + " " + headlines[d.State])
	case place == "":
		b.WriteString(d.Key + " " + headlines[d.State])
	default:
		b.WriteString(d.Key + " " + headlines[d.State] + " (" + oneLine(place) + ")")
	}
	if d.Message != "" {
		b.WriteString(": " + oneLine(d.Message))
	}
	b.WriteByte('\n')
	for _, f := range d.Fields {
		mark := "live   "
		if f.Restarts {
			mark = term.paint(yellow, "restart")
		}
		fmt.Fprintf(&b, "    %s  %s%s\n", mark, oneLine(f.Path), oneLine(change(f)))
	}
	if len(d.Outdated) > 0 {
		fmt.Fprintf(&b, "    %s  of a former manifest, or to be restarted: pid %s\n", term.paint(yellow, "restart"), strings.Trim(fmt.Sprint(d.Outdated), "[]"))
	}
	return b.String()
}

// longestValue is how much of a value is shown to a person.
const longestValue = 60

// change says what a field was and is.
func change(f spec.FieldChange) string {
	was, is := excerpts(string(f.Was), string(f.Is))
	switch {
	case was == "" && is == "" && strings.HasPrefix(f.Path, contentOf):
		return ": changed"
	case was == "" && is == "":
		return ": other order"
	case was == "":
		return ": not set -> " + is
	case is == "":
		return ": " + was + " -> not set"
	}
	return ": " + was + " -> " + is
}

// excerpts cuts two values that differ so that what differs is in them.
func excerpts(was, is string) (string, string) {
	a, b := []rune(was), []rune(is)
	if max(len(a), len(b)) <= longestValue {
		return was, is
	}
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	from, before := same-longestValue/3, "…"
	if from <= 1 || len(a) == 0 || len(b) == 0 {
		from, before = 0, ""
	}
	return before + shortened(string(a[from:]), longestValue), before + shortened(string(b[from:]), longestValue)
}
