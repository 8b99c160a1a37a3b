package observe

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/proc-controller/proc-controller/spec"
)

// explained tells of one process, seen from the owner of the tests.
func explained(t *testing.T, pid int, known ...Witness) *Explanation {
	t.Helper()
	e, err := Explain(t.Context(), pid, Viewpoint{
		Owner: testOwner, UID: os.Geteuid(),
		Ledger: func(o spec.Owner) ([]Witness, bool) { return known, o == testOwner },
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// says fails the test unless each text stands in one of the words.
func says(t *testing.T, what string, words []string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, text) }) {
			t.Errorf("%s does not say %q: %q", what, text, words)
		}
	}
}

func TestExplainOurs(t *testing.T) {
	id, c := spawn(t, "spawn plain spawn bare sleep")
	main := identOf(t, c.pid())

	e := explained(t, c.pid(), Witness{Key: testKey, ID: id, Main: main, Ledger: true})
	if e.Verdict != Ours || e.Role != Main || e.Key != testKey || e.Instance != id || e.Owner != testOwner || !e.Connected {
		t.Errorf("main: %+v of %v", e.Process, e.Owner)
	}
	says(t, "for", e.For, spec.EnvSubprocess+" is 1", spec.EnvOwner+` is "`+string(testOwner)+`"`, spec.EnvInstance+` is "`+string(id)+`"`,
		testKey.String(), "runs as uid", "PID namespace", "leads its session", "started at tick", "no process above it", "ledger of this boot")
	if len(e.Against) > 0 || len(e.Unknown) > 0 {
		t.Errorf("against %q, unknown %q", e.Against, e.Unknown)
	}

	bare := explained(t, c.started[1])
	if bare.Verdict != Ours || bare.Role != Descendant || bare.Instance != id {
		t.Errorf("descendant without markers: %+v", bare.Process)
	}
	says(t, "for", bare.For, "in the session of the main process", "in the process group", "descends from a verified member")
	says(t, "against", bare.Against, spec.EnvSubprocess, spec.EnvAgentName, spec.EnvOwner+" is missing", spec.EnvInstance, "not the main process: its session is led by pid")
	says(t, "silent", bare.Silent, "the ledger does not name it", "no scope")
}

func TestExplainOthers(t *testing.T) {
	_, env := marked(t)
	without := func(name string) []string {
		return slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, name+"=") })
	}
	tests := map[string]struct {
		env     []string
		verdict Verdict
		owner   spec.Owner
		against string
	}{
		"no subprocess marker": {without(spec.EnvSubprocess), NotOurs, testOwner, spec.EnvSubprocess + " is missing or not 1"},
		"no name":              {without(testKey.NameVar()), NotOurs, testOwner, "exactly one of"},
		"both names":           {append(slices.Clone(env), spec.EnvAgentName+"=x", spec.EnvMCPService+"=y"), NotOurs, testOwner, "exactly one of"},
		"no owner":             {without(spec.EnvOwner), NotOurs, testOwner, spec.EnvOwner + " is missing"},
		"other owner":          {markers(testKey, "observe-explain-else", spec.NewInstance("o", BootTick())), Ours, "observe-explain-else", ""},
		"a part of a value":    {[]string{"X=" + strings.Join(env, " ")}, NotOurs, testOwner, spec.EnvSubprocess},
		"no marker":            {nil, NotOurs, testOwner, spec.EnvInstance + " is missing"},
	}
	for name, tt := range tests {
		c := start(t, "sleep", tt.env)
		e := explained(t, c.pid())
		if e.Verdict != tt.verdict || e.Owner != tt.owner {
			t.Errorf("%s: %v of owner %s, against it %q", name, e.Verdict, e.Owner, e.Against)
		}
		if tt.against != "" {
			says(t, name, e.Against, tt.against)
		}
		for _, list := range [][]string{e.For, e.Against, e.Unknown, e.Silent, e.Evidence} {
			if slices.ContainsFunc(list, func(w string) bool { return strings.Contains(w, "X=") }) {
				t.Errorf("%s: shows more than markers: %q", name, list)
			}
		}
	}
}

// TestExplainAgreesWithScan holds the verdicts of explain to those of a scan,
// for every process that a scan has something to say of.
func TestExplainAgreesWithScan(t *testing.T) {
	id, c := spawn(t, "spawn plain spawn bare sleep")
	start(t, "sleep", []string{spec.EnvSubprocess + "=1", spec.EnvOwner + "=" + string(testOwner)})
	s := newScanner(t)
	snapshot := s.Scan(t.Context(), nil, Full)
	in := snapshot.Instances[slices.IndexFunc(snapshot.Instances, func(in *Instance) bool { return in.ID == id })]
	all := append(append([]*Process{in.Main}, in.Members...), snapshot.Others...)
	compared := 0
	for _, p := range all {
		if p.Markers.Owner != testOwner && p.Instance != id {
			continue // judged by the rules of its own owner
		}
		e := explained(t, p.PID)
		if e.Ident != p.Ident || e.Verdict != p.Verdict || e.Role != p.Role || !slices.Equal(e.Evidence, p.Evidence) {
			t.Errorf("pid %d: explained %v %v %q, seen %v %v %q", p.PID, e.Verdict, e.Role, e.Evidence, p.Verdict, p.Role, p.Evidence)
		}
		compared++
	}
	if compared < 4 {
		t.Errorf("%d processes compared, want those of %d", compared, c.pid())
	}
}

func TestExplainNobody(t *testing.T) {
	c := start(t, "exit 0", nil)
	pid := c.pid()
	_ = c.stdin.Close()
	awaitEnd(t, pid)
	if e := explained(t, pid); e.Verdict != NotOurs {
		t.Errorf("a zombie: %v", e.Verdict)
	} else {
		says(t, "against", e.Against, "it has ended")
	}
	_ = c.cmd.Wait()
	for _, pid := range []int{-1, 0, pid, 1 << 30, 1 << 40} {
		if _, err := Explain(t.Context(), pid, Viewpoint{Owner: testOwner}); !errors.Is(err, ErrGone) {
			t.Errorf("pid %d: %v", pid, err)
		}
	}
	if e := explained(t, 1); e.Verdict != NotOurs {
		t.Errorf("pid 1: %v", e.Verdict)
	} else {
		says(t, "against", e.Against, "no child can have")
	}
}

func TestStrangerThatCannotBeRead(t *testing.T) {
	for state, want := range map[environState]Verdict{
		environDenied: CannotTell, environBlocked: CannotTell, environNotRead: CannotTell, environPlain: NotOurs, environEmpty: NotOurs,
	} {
		s := sighting{Ident: Ident{PID: 7}, environ: state, state: 'S', threads: 1}
		f := stranger(0, &s)
		sides := f.basis.account(subject{&s, identity{}, nil}, 0)
		if f.verdict != want || (want == CannotTell) != (len(sides[unclear]) == 1) {
			t.Errorf("environ %d: %v, %q", state, f.verdict, sides)
		}
	}
}
