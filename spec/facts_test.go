package spec

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestChangesSince(t *testing.T) {
	made := func(change ...func(*Object)) *Entry {
		o := &Object{Spec: Defaulted(Spec{
			Command: []string{"server"}, Args: []string{"-v"},
			Env:   []EnvVar{{Name: "TOKEN", Value: "secret"}, {Name: "LEVEL", Value: "info"}},
			Ports: []Port{{Name: "http", Port: 0}},
		})}
		for _, c := range change {
			c(o)
		}
		return &Entry{Object: o, Files: map[string][]byte{".env": []byte("A=1")}}
	}
	for name, tt := range map[string]struct {
		now  *Entry
		want []string
	}{
		"nothing":         {made(), nil},
		"a list of words": {made(func(o *Object) { o.Spec.Args = []string{"-v", "-x"} }), []string{"spec.args"}},
		"a value":         {made(func(o *Object) { o.Spec.Env[0].Value = "other" }), []string{"spec.env[TOKEN].value"}},
		"the order of the variables": {made(func(o *Object) {
			o.Spec.Env[0], o.Spec.Env[1] = o.Spec.Env[1], o.Spec.Env[0]
		}), nil},
		"a field that was not set": {made(func(o *Object) { o.Spec.WorkingDir = "/srv" }), []string{"spec.workingDir"}},
		"fields of fields": {made(func(o *Object) {
			o.Spec.Backoff.Max = Duration(time.Hour)
			o.Spec.Resources.Limits.Memory = "1Gi"
		}), []string{"spec.backoff.max", "spec.resources.limits.memory"}},
		"a hook": {made(func(o *Object) {
			o.Spec.Lifecycle.PreStop = &Hook{Exec: &ExecAction{Command: []string{"drain"}}}
		}), []string{"spec.lifecycle.preStop.exec.command"}},
		"the content of a file": {&Entry{Object: made().Object, Files: map[string][]byte{".env": []byte("A=2")}}, []string{"content of .env"}},
	} {
		t.Run(name, func(t *testing.T) {
			good := &Run{Instance: "good-1", Facts: FactsOf(made())}
			if diff := cmp.Diff(tt.want, FactsOf(tt.now).ChangesSince(good).Spec); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChangesOfProgramAndEnvironment(t *testing.T) {
	was := ProgramFile{Path: "/bin/server", Size: 10, Inode: 1, ModTime: time.Unix(1, 0)}
	is := was
	is.Size, is.Inode = 11, 2
	good := &Run{Instance: "good-1", Facts: Facts{Program: was, Env: []string{"A", "B"}}}
	got := Facts{Program: is, Env: []string{"B", "C"}}.ChangesSince(good)
	want := &Changes{LastGood: "good-1", Program: &ProgramChange{was, is}, EnvAdded: []string{"C"}, EnvRemoved: []string{"A"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if got := (Facts{}).ChangesSince(good); got.Program != nil || got.EnvAdded != nil || got.EnvRemoved != nil {
		t.Errorf("what is not known has changed: %+v", got)
	}
}

// A dossier has its own lines of output in the place of the one of a Termination,
// and facts give no value away.
func TestDossierInJSON(t *testing.T) {
	d := Dossier{Key: Key{KindAgent, "a"}, Termination: Termination{ExitCode: 3, Output: "last"}, Output: []string{"first", "last"}}
	b, err := json.Marshal(d)
	if err != nil || !strings.Contains(string(b), `"output":["first","last"]`) || !strings.Contains(string(b), `"exitCode":3`) {
		t.Errorf("%s, %v", b, err)
	}
	e := &Entry{Object: &Object{Spec: Spec{Env: []EnvVar{{Name: "TOKEN", Value: "s3cr3t"}}}}, Files: map[string][]byte{"f": []byte("s3cr3t")}}
	if b, _ := json.Marshal(FactsOf(e)); strings.Contains(string(b), "s3cr3t") {
		t.Errorf("a value: %s", b)
	}
}
