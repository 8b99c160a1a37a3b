package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/spec"
)

// Table is a list of workloads as text, sorted by key, as Kubernetes makes one for
// as=Table. Of a thousand workloads it is a small part of what their objects are, and
// who shows it has to know nothing of them.
type Table struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Columns are the heads. The first two are always the kind and the name.
	Columns []string `json:"columns"`
	// Rows have a cell for each column, empty where there is nothing to say.
	Rows Cells `json:"rows"`
	// Controller is what is to be told beside the table. The client's own tables have
	// none.
	Controller *Controller `json:"controller,omitempty"`
}

// tableKind is the Kind of a Table.
const tableKind = "Table"

// TableForm is what the columns of a Table are.
type TableForm string

// The forms of a Table.
const (
	TablePlain TableForm = "table" // what a person looks for first
	TableWide  TableForm = "wide"  // and instance, ports, scope, hash and file
	TableNames TableForm = "name"  // kind and name alone
)

// tableForms are all of them.
var tableForms = []TableForm{TablePlain, TableWide, TableNames}

// tableParameter has a list be a table.
var tableParameter = parameter{"as", "", "in place of the list a Table, to be printed as it is: table, wide (with instance, ports, scope, hash and file), or name (kind and name alone)"}

// NewTable makes a table of objects as it is at a time. The reason has a column only
// where one of them has a reason.
func NewTable(objects []Object, form TableForm, now time.Time) Table {
	t := Table{APIVersion: spec.APIVersion, Kind: tableKind}
	rows := Rows{Form: form, Reasons: form != TableNames}
	t.Columns = rows.Columns()
	for i := range objects {
		t.Rows = append(t.Rows, rows.Cells(&objects[i], now))
	}
	return t.withoutReasons()
}

// Keep drops the rows of all workloads but those that are wanted.
func (t Table) Keep(want func(spec.Key) bool) Table {
	t.Rows = slices.DeleteFunc(t.Rows, func(cells []string) bool { return !want(keyOfCells(cells)) })
	return t.withoutReasons()
}

// withoutReasons drops the column of the reasons where there are none.
func (t Table) withoutReasons() Table {
	last := len(t.Columns) - 1
	if last < 0 || t.Columns[last] != reasonHead {
		return t
	}
	if slices.ContainsFunc(t.Rows, func(cells []string) bool { return cells[last] != "" }) {
		return t
	}
	t.Columns = t.Columns[:last]
	for i := range t.Rows {
		t.Rows[i] = t.Rows[i][:last]
	}
	return t
}

// Keys gives the workloads, in the order of the rows.
func (t *Table) Keys() []spec.Key {
	keys := make([]spec.Key, len(t.Rows))
	for i, cells := range t.Rows {
		keys[i] = keyOfCells(cells)
	}
	return keys
}

func keyOfCells(cells []string) spec.Key {
	return spec.Key{Kind: spec.Kind(cells[0]), Name: cells[1]}
}

// check says that a table that came over the wire is one: who prints it relies on
// as many cells in each row as there are columns.
func (t *Table) check() error {
	if t.Kind != tableKind || len(t.Columns) < 2 {
		return fmt.Errorf("cannot show the controller's answer: it is a %q and no table: the controller that runs is another version than this command", t.Kind)
	}
	for _, cells := range t.Rows {
		if len(cells) != len(t.Columns) {
			return fmt.Errorf("cannot show the controller's answer: a row has %d cells for %d columns", len(cells), len(t.Columns))
		}
	}
	return nil
}

// Table gives a table of the workloads whose labels match the selector, which may be
// empty, and what is to be told beside them.
func (c *Client) Table(ctx context.Context, form TableForm, labels string) (Table, error) {
	var t Table
	err := c.get(ctx, Root+"/workloads?as="+string(form)+"&labelSelector="+url.QueryEscape(labels), &t)
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return Table{}, err
	}
	return t.withoutReasons(), nil
}

// tableForm reads the parameter, and answers for a bad one; empty is no table.
func tableForm(w http.ResponseWriter, r *http.Request) (TableForm, bool) {
	form := TableForm(r.FormValue(tableParameter.name))
	if form == "" || slices.Contains(tableForms, form) {
		return form, true
	}
	var words []string
	for _, f := range tableForms {
		words = append(words, string(f))
	}
	writeFailure(w, failure(http.StatusBadRequest, "bad %s %q: write one of %s", tableParameter.name, form, strings.Join(words, ", ")))
	return "", false
}

// writeTable writes the table of a view, as the encoder would write a Table, with no
// more than one row in memory beside the text: memory that was given back to the
// system costs more to have again than all else that is done here. It says how long
// the text is, so that who reads it needs one buffer, of that size.
func (h *handler) writeTable(w http.ResponseWriter, v *controller.View, which selection, form TableForm) {
	rows, now := Rows{Form: form, Reasons: form != TableNames}, time.Now()
	var b bytes.Buffer
	b.Grow(128 * (len(v.Workloads) + 4))
	enc := newEncoder(&b)
	b.WriteString(`{"apiVersion":"` + spec.APIVersion + `","kind":"` + tableKind + `","columns":`)
	_ = enc.Encode(rows.Columns()) // no text fails to encode
	b.WriteString(`,"rows":[`)
	var o Object
	var cells []string
	first := true
	for i := range v.Workloads {
		o = objectOf(&v.Workloads[i])
		if !which.takes(o.Key(), o.Metadata.Labels) {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		cells = rows.appendCells(cells[:0], &o, now)
		_ = enc.Encode(&cells)
	}
	b.WriteString(`],"controller":`)
	_ = enc.Encode(h.controllerOf(v))
	b.WriteString("}\n")
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	_, _ = b.WriteTo(w) // the peer is gone: nobody is left to tell
}
