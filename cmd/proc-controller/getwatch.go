package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// watch shows what there is, and then what changes, until it is
// interrupted or nobody reads it.
func (g *getting) watch(ctx context.Context) error {
	client, p, err := g.at.client()
	if err != nil {
		return err
	}
	w := &getWatch{getting: g, table: g.watchTable(), last: map[spec.Key]string{}}
	o := api.WatchOptions{Labels: g.labels.String(), Reconnect: true, Lost: w.lost}
	if len(g.want) == 1 {
		o.Key = g.want[0]
	}
	err = client.Watch(ctx, o, w.take)
	if missing, is := errors.AsType[*missingError](err); is {
		return g.missing(ctx, client, missing)
	}
	return p.explain(err)
}

// missing says which names are not there, and which are near.
func (g *getting) missing(ctx context.Context, client *api.Client, missing *missingError) error {
	all, _ := client.Workloads(ctx) // without them nothing is near
	for _, k := range missing.keys {
		g.std.say(notFound(k, all))
	}
	return errSaid
}

// missingError says that a watch was asked for workloads that are not there.
type missingError struct{ keys []spec.Key }

func (e *missingError) Error() string { return fmt.Sprintf("there are no %v", e.keys) }

// getWatch writes what a watch says. The first answer is written whole, as
// without a watch; after it each change for itself.
type getWatch struct {
	*getting
	first  []api.Object
	begun  bool // the first answer is written
	silent bool // the controller does not answer
	table  *table
	last   map[spec.Key]string // the row that was written last, but for its age
}

// take is called for each event.
func (w *getWatch) take(e api.WatchEvent) error {
	switch {
	case e.Type == api.Bookmark && !w.begun:
		return w.begin()
	case e.Type == api.Bookmark:
		return w.found()
	case e.Object == nil || !w.takes(e.Object.Key(), e.Object.Metadata.Labels):
		return nil
	case !w.begun:
		w.first = append(w.first, *e.Object)
		return nil
	}
	return cannotWrite(w.change(e.Type, e.Object))
}

// begin writes all that there is at the start.
func (w *getWatch) begin() error {
	var missing []spec.Key
	for _, k := range w.want {
		if k.Name != "" && !slices.ContainsFunc(w.first, func(o api.Object) bool { return o.Key() == k }) {
			missing = append(missing, k)
		}
	}
	slices.SortFunc(w.first, func(a, b api.Object) int { return a.Key().Compare(b.Key()) })
	for i := range w.first {
		if err := w.change(api.Added, &w.first[i]); err != nil {
			return cannotWrite(err)
		}
	}
	if len(w.first) > 0 && (w.form.table() || w.form.form == formColumns) {
		if err := w.table.write(w.std.out); err != nil {
			return cannotWrite(err)
		}
	}
	w.begun = true
	switch {
	case len(missing) > 0:
		return &missingError{missing}
	case len(w.first) == 0 && w.form.table():
		fmt.Fprintln(w.std.err, "No such workloads yet; each is shown when it comes.")
	}
	w.first = nil
	return nil
}

// lost and found tell of a controller that is being restarted or upgraded.
func (w *getWatch) lost(error) {
	w.silent = true
	fmt.Fprintln(w.std.err, "note: the controller does not answer; waiting for it")
}

func (w *getWatch) found() error {
	if w.silent {
		w.silent = false
		fmt.Fprintln(w.std.err, "note: the controller answers again")
	}
	return nil
}

// change writes one workload as it is now.
func (w *getWatch) change(kind string, o *api.Object) error {
	documents := w.form.form == formJSON || w.form.form == formYAML
	switch {
	case kind == api.Deleted && !w.withType && !w.form.table():
		delete(w.last, o.Key())
		return nil // its last state would pass for one that it is in
	case w.form.table(), w.form.form == formColumns:
		return w.row(kind, o)
	case documents && w.withType:
		return w.document(api.WatchEvent{Type: kind, Object: o})
	case documents:
		return w.document(o)
	case w.withType:
		fmt.Fprintf(w.std.out, "%-8s  ", kind)
	}
	if err := w.form.write(w.std.out, true, true, []api.Object{*o}); err != nil {
		return err
	}
	if w.form.form == formPath { // a line each, or nobody could tell them apart
		_, err := fmt.Fprintln(w.std.out)
		return err
	}
	return nil
}

// document writes one of several: a line of JSON, or YAML after a line of dashes.
func (w *getWatch) document(v any) error {
	if w.form.form == formJSON {
		enc := json.NewEncoder(w.std.out)
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	}
	text, err := yaml.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.std.out, "---\n%s", text)
	return err
}

// row writes the row of a workload, unless it is the one that stands there.
func (w *getWatch) row(kind string, o *api.Object) error {
	cells, err := w.cells(o, time.Now())
	if err != nil {
		return err
	}
	ageless, err := w.cells(o, time.Time{})
	if err != nil {
		return err
	}
	same := strings.Join(ageless, "\x00")
	if kind != api.Deleted && w.last[o.Key()] == same {
		return nil
	}
	w.last[o.Key()] = same
	if kind == api.Deleted {
		delete(w.last, o.Key())
		if w.form.table() {
			clear(cells[statusColumn:]) // nothing of it is true any more
			cells[statusColumn] = "Deleted"
		}
	}
	if w.withType {
		cells = append([]string{kind}, cells...)
	}
	w.table.add(cells...)
	if !w.begun { // all of them at once, so that the columns fit
		return nil
	}
	return w.table.write(w.std.out)
}

func (w *getWatch) cells(o *api.Object, now time.Time) ([]string, error) {
	if w.form.form == formColumns {
		return w.form.ownRow(o)
	}
	return w.rows().Cells(o, now), nil
}

// rows has the column for reasons always: one may come.
func (g *getting) rows() api.Rows { return api.Rows{Form: g.form.tableForm(), Reasons: true} }

// watchTable is a table that goes on: its columns leave room for what may come.
func (g *getting) watchTable() *table {
	t := &table{headless: g.headless, tint: tintWorkload}
	head := g.rows().Columns()
	room := []int{9, 12, 9, 5, 7, 8, 5} // KIND, NAME, STATUS, READY, PID, RESTARTS, AGE
	if g.form.form == formColumns {
		head, room = g.form.heads(), nil
	}
	if g.withType {
		head, room = append([]string{"EVENT"}, head...), append([]int{len(api.Modified)}, room...)
	}
	t.width = room
	t.add(head...)
	return t
}
