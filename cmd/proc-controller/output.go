package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/jsonpath"
	kjson "sigs.k8s.io/json"

	"github.com/proc-controller/proc-controller/controller/api"
)

// The forms of output that -o takes; the last two have an expression after a "=".
const (
	formTable   = ""
	formWide    = "wide"
	formJSON    = "json"
	formYAML    = "yaml"
	formName    = "name"
	formPath    = "jsonpath"
	formColumns = "custom-columns"
)

// outputs are the words that -o takes.
var outputs = []string{formWide, formJSON, formYAML, formName, formPath + "=EXPRESSION", formColumns + "=HEAD:EXPRESSION,..."}

// outputForm is what -o asks for, in the manner of kubectl.
type outputForm struct {
	form    string
	path    *jsonpath.JSONPath // of formPath
	text    string             // the expression as it was given
	columns []customColumn     // of formColumns
}

// customColumn is one column of a table of one's own.
type customColumn struct {
	head string
	path *jsonpath.JSONPath
}

// table says that people read it: it has a head, and notes beside it.
func (f *outputForm) table() bool { return f.form == formTable || f.form == formWide }

// tableForm is the table that the controller makes for it; empty where it is to be made
// of objects.
func (f *outputForm) tableForm() api.TableForm {
	switch f.form {
	case formTable:
		return api.TablePlain
	case formWide:
		return api.TableWide
	case formName:
		return api.TableNames
	}
	return ""
}

// parseOutput reads the value of -o.
func parseOutput(cmd *cobra.Command, value string) (f outputForm, err error) {
	word, text, given := strings.Cut(value, "=")
	f = outputForm{form: word, text: text}
	switch {
	case word == formPath && text == "":
		return f, misused(cmd, "-o jsonpath needs an expression: -o jsonpath='{.status.phase}'")
	case word == formPath:
		f.path, err = parsePath(cmd, text)
		return f, err
	case word == formColumns && text == "":
		return f, misused(cmd, "-o custom-columns needs columns: -o custom-columns=NAME:.metadata.name,PHASE:.status.phase")
	case word == formColumns:
		f.columns, err = parseColumns(cmd, text)
		return f, err
	case given:
		return f, misused(cmd, "bad value %q of --output: nothing can follow %q", value, word)
	}
	return f, oneOf(cmd, "output", value, outputs...)
}

// parsePath reads a JSONPath as kubectl has it. Braces may be left out where it is
// one path alone; what is not there is empty.
func parsePath(cmd *cobra.Command, text string) (*jsonpath.JSONPath, error) {
	full := text
	if !strings.Contains(text, "{") {
		full = "{." + strings.TrimPrefix(text, ".") + "}"
	}
	p := jsonpath.New("output").AllowMissingKeys(true)
	if err := p.Parse(full); err != nil {
		return nil, misused(cmd, "cannot read the JSONPath %q: %v", text, err)
	}
	return p, nil
}

func parseColumns(cmd *cobra.Command, text string) (columns []customColumn, err error) {
	for part := range strings.SplitSeq(text, ",") {
		head, path, ok := strings.Cut(part, ":")
		if !ok || head == "" || path == "" {
			return nil, misused(cmd, "bad column %q of -o custom-columns: write HEAD:EXPRESSION", part)
		}
		c := customColumn{head: head}
		if c.path, err = parsePath(cmd, path); err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// write writes an answer in a form that is no table of workloads.
func (f *outputForm) write(w io.Writer, single, headless bool, found []api.Object) error {
	switch f.form {
	case formName:
		return writeNames(w, keysOf(found))
	case formPath:
		return f.writePath(w, single, found)
	case formColumns:
		t, err := f.ownTable(found)
		if err != nil {
			return err
		}
		t.headless = headless
		return t.write(w)
	}
	return writeObjects(w, f.form, single, found)
}

// writePath evaluates the expression for the object, or for the list. On a
// terminal the line is ended; elsewhere the expression says what is written.
func (f *outputForm) writePath(w io.Writer, single bool, found []api.Object) error {
	var data any
	switch {
	case single && len(found) == 0:
		return nil
	case single:
		data = found[0]
	default:
		data = listOf(found)
	}
	plain, err := plainJSON(data)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := f.path.Execute(&b, plain); err != nil {
		return &pathError{f.text, err}
	}
	if b.Len() > 0 && !bytes.HasSuffix(b.Bytes(), newline) && terminalOf(w, os.Getenv).is {
		b.Write(newline)
	}
	_, err = b.WriteTo(w)
	return err
}

var newline = []byte{'\n'}

// pathError is an expression that cannot be evaluated for what there is.
type pathError struct {
	text  string
	cause error
}

func (e *pathError) Error() string {
	return fmt.Sprintf("cannot evaluate the JSONPath %q: %v", e.text, e.cause)
}

// ownTable has a row for each object.
func (f *outputForm) ownTable(found []api.Object) (*table, error) {
	t := &table{}
	t.add(f.heads()...)
	for i := range found {
		row, err := f.ownRow(&found[i])
		if err != nil {
			return nil, err
		}
		t.add(row...)
	}
	return t, nil
}

func (f *outputForm) heads() []string {
	heads := make([]string, len(f.columns))
	for i, c := range f.columns {
		heads[i] = c.head
	}
	return heads
}

// ownRow evaluates each column; several values are joined, and none is <none>, as
// with kubectl.
func (f *outputForm) ownRow(o *api.Object) ([]string, error) {
	plain, err := plainJSON(o)
	if err != nil {
		return nil, err
	}
	row := make([]string, len(f.columns))
	for i, c := range f.columns {
		results, err := c.path.FindResults(plain)
		if err != nil {
			return nil, &pathError{c.head, err}
		}
		var values []string
		for _, result := range results {
			for _, v := range result {
				values = append(values, fmt.Sprint(v.Interface()))
			}
		}
		if row[i] = strings.Join(values, ","); len(values) == 0 {
			row[i] = "<none>"
		}
	}
	return row, nil
}

// plainJSON gives what a program that reads the JSON would have: expressions name
// its fields, and whole numbers are whole.
func plainJSON(v any) (plain any, err error) {
	var b bytes.Buffer
	if err := writeJSON(&b, v); err != nil {
		return nil, err
	}
	return plain, kjson.UnmarshalCaseSensitivePreserveInts(b.Bytes(), &plain)
}

// cannotWrite says of an error of writing what could not be done; an expression
// that cannot be evaluated says so itself.
func cannotWrite(err error) error {
	if _, is := errors.AsType[*pathError](err); err == nil || is {
		return err
	}
	return fmt.Errorf("cannot write: %w", err)
}
