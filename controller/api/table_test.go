package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/spec"
)

func TestTableForms(t *testing.T) {
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: sampleView()}}})
	for query, want := range map[string]string{
		"workloads?as=name":                             "KIND NAME; Agent gone; MCPServer files",
		"workloads?as=table":                            "KIND NAME STATUS READY PID RESTARTS AGE REASON; Agent gone Stopping - - 0 - -; MCPServer files Running 1/1 12 0 - -",
		"agents?as=name":                                "KIND NAME; Agent gone",
		"workloads?as=name&labelSelector=team%3Ddev":    "KIND NAME; MCPServer files",
		"mcpservers?as=wide&labelSelector=team%21%3Dno": "KIND NAME STATUS READY PID RESTARTS AGE INSTANCE PORTS SCOPE HASH FILE REASON; MCPServer files Running 1/1 12 0 - k7-1 - - - /m/files.yaml:3 -",
	} {
		code, body := ask(t, path, http.MethodGet, Root+"/"+query)
		var got Table
		if err := json.Unmarshal(body, &got); err != nil || code != http.StatusOK {
			t.Errorf("%s: %d, %v: %s", query, code, err, body)
			continue
		}
		if text := flat(&got); text != want {
			t.Errorf("%s: %s\nwant %s", query, text, want)
		}
		if got.Controller == nil || len(got.Controller.Notices) != 1 || got.check() != nil {
			t.Errorf("%s: the table says of itself %v, and beside it stands %+v", query, got.check(), got.Controller)
		}
	}
	code, body := ask(t, path, http.MethodGet, Root+"/workloads?as=tabel")
	if want := `bad as \"tabel\": write one of table, wide, name`; code != http.StatusBadRequest || !strings.Contains(string(body), want) {
		t.Errorf("%d: %s", code, body)
	}
}

// flat is a table on one line.
func flat(t *Table) string {
	rows := []string{strings.Join(t.Columns, " ")}
	for _, cells := range t.Rows {
		cells = slices.Clone(cells)
		for i := range cells {
			if cells[i] == "" {
				cells[i] = "-"
			}
		}
		rows = append(rows, strings.Join(cells, " "))
	}
	return strings.Join(rows, "; ")
}

// The reasons have a column only where there are some, also of what is kept.
func TestTableHasReasonsWhereThereAreSome(t *testing.T) {
	v := sampleView()
	v.Workloads[0].Status.Reason, v.Workloads[0].Status.Message = "Why", "because"
	path := socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: v}}})
	got, err := NewClient(path).Table(t.Context(), TablePlain, "")
	if err != nil || got.Columns[len(got.Columns)-1] != reasonHead || !strings.Contains(flat(&got), "Why: because") {
		t.Fatalf("%s, error %v", flat(&got), err)
	}
	kept := got.Keep(func(k spec.Key) bool { return k.Name == "files" })
	if text := flat(&kept); text != "KIND NAME STATUS READY PID RESTARTS AGE; MCPServer files Running 1/1 12 0 -" || kept.check() != nil {
		t.Errorf("kept: %s, %v", text, kept.check())
	}
	v.Workloads = v.Workloads[1:]
	path = socketPath(t)
	serve(t, Options{Path: path, Services: Services{Viewer: &fixedView{view: v}}})
	if got, err = NewClient(path).Table(t.Context(), TablePlain, ""); err != nil || slices.Contains(got.Columns, reasonHead) {
		t.Errorf("%s, error %v", flat(&got), err)
	}
}

// What is no table is not printed: another version of the program may answer.
func TestWhatIsNoTable(t *testing.T) {
	good := NewTable([]Object{{Kind: spec.KindAgent, Metadata: spec.Metadata{Name: "a"}}}, TableNames, time.Now())
	if err := good.check(); err != nil {
		t.Error(err)
	}
	uneven := good
	uneven.Rows = [][]string{{"Agent"}}
	got := []string{(&Table{Kind: "List"}).check().Error(), uneven.check().Error()}
	want := []string{
		`cannot show the controller's answer: it is a "List" and no table: the controller that runs is another version than this command`,
		`cannot show the controller's answer: a row has 1 cells for 2 columns`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
