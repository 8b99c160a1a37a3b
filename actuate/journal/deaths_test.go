package journal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/spec"
)

var _ controller.Deaths = (*Deaths)(nil)

var (
	agentA = spec.Key{Kind: spec.KindAgent, Name: "a"}
	agentB = spec.Key{Kind: spec.KindAgent, Name: "b"}
)

func death(k spec.Key, code int) spec.Dossier {
	return spec.Dossier{Key: k, Termination: spec.Termination{ExitCode: code, Reason: spec.ReasonError}, Output: []string{"<oh>"}}
}

// codes are the exit codes that are kept of a key.
func codes(d *Deaths, k spec.Key) (all []int) {
	for _, x := range d.read(k).Deaths {
		all = append(all, x.ExitCode)
	}
	return all
}

func TestDeathsKeepTheLastTen(t *testing.T) {
	state := t.TempDir()
	d := OpenDeaths(state, logr.Discard())
	for code := range 12 {
		d.Add(death(agentA, code), spec.Facts{})
	}
	d.Good(agentB, spec.Run{Instance: "b-1"})
	d = OpenDeaths(state, logr.Discard())
	if diff := cmp.Diff([]int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, codes(d, agentA)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	latest := d.Latest()
	if got := latest[agentA]; got == nil || got.ExitCode != 11 || got.Output[0] != "<oh>" {
		t.Errorf("the latest of %v: %+v", agentA, got)
	}
	if got, known := latest[agentB]; got != nil || !known || len(latest) != 2 {
		t.Errorf("latest %v, want nothing of %v, which is known", latest, agentB)
	}
	if fi, err := os.Stat(d.path(agentA)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want a file for its user alone", fi, err)
	}
	d.Forget(agentA)
	if _, known := d.Latest()[agentA]; known {
		t.Errorf("%v was forgotten and is known", agentA)
	}
}

func TestDeathsSayWhatChanged(t *testing.T) {
	d := OpenDeaths(t.TempDir(), logr.Discard())
	made := spec.Facts{Fields: map[string]string{"spec.args": "1"}}
	if got := d.Add(death(agentA, 1), made); got.Changes != nil {
		t.Errorf("changes %+v before any good run", got.Changes)
	}
	d.Good(agentA, spec.Run{Instance: "good-1", Facts: made})
	before, _ := os.Stat(d.path(agentA))
	d.Good(agentA, spec.Run{Instance: "good-2", Facts: made})
	if after, _ := os.Stat(d.path(agentA)); !os.SameFile(before, after) {
		t.Error("written again although it is the same")
	}
	d.Add(death(agentA, 2), made)
	got := d.Add(death(agentA, 3), spec.Facts{Fields: map[string]string{"spec.args": "2"}})
	if c := got.Changes; c == nil || c.LastGood != "good-1" || !cmp.Equal(c.Spec, []string{"spec.args"}) {
		t.Errorf("changes %+v, want spec.args since good-1", c)
	}
	if diff := cmp.Diff([]int{1, 2, 3}, codes(d, agentA)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// Whatever is in the place of the files, nothing fails but the keeping.
func TestDeathsInABadPlace(t *testing.T) {
	for name, spoil := range map[string]func(state string) error{
		"no state directory": func(state string) error { return os.Remove(state) },
		"a file for the directory": func(state string) error {
			return os.WriteFile(filepath.Join(state, "deaths"), nil, 0o600)
		},
		"a directory for the file": func(state string) error {
			return os.MkdirAll(filepath.Join(state, "deaths", "Agent.a.json", "x"), 0o700)
		},
		"no JSON": func(state string) error {
			_ = os.Mkdir(filepath.Join(state, "deaths"), 0o700)
			return os.WriteFile(filepath.Join(state, "deaths", "Agent.a.json"), []byte("{"), 0o600)
		},
		"other names": func(state string) error {
			_ = os.Mkdir(filepath.Join(state, "deaths"), 0o700)
			return os.WriteFile(filepath.Join(state, "deaths", "agents.A!.json"), []byte("{}"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "state")
			if err := os.Mkdir(state, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := spoil(state); err != nil {
				t.Fatal(err)
			}
			d := OpenDeaths(state, logr.Discard())
			d.Latest()
			if got := d.Add(death(agentA, 3), spec.Facts{}); got.ExitCode != 3 {
				t.Errorf("%+v", got)
			}
			d.Good(agentA, spec.Run{})
			d.Forget(agentB)
			for k := range d.Latest() {
				if k != agentA {
					t.Errorf("knows of %v", k)
				}
			}
		})
	}
	nowhere := OpenDeaths("", logr.Discard())
	nowhere.Good(agentA, spec.Run{})
	nowhere.Forget(agentA)
	if got := nowhere.Add(death(agentA, 3), spec.Facts{}); got.ExitCode != 3 || len(nowhere.Latest()) > 0 {
		t.Errorf("without a state directory: %+v", got)
	}
}
