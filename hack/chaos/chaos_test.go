//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(bystanderVariable); path != "" {
		bystander(path)
	}
	goleak.VerifyTestMain(m)
}

// TestChaos torments the controller of this checkout, without scopes and with
// them: for CHAOS_DURATION in all, which hack/test sets, or only for some rounds.
func TestChaos(t *testing.T) {
	o := options{duration: 20 * time.Second, rounds: 4}
	if v := os.Getenv("CHAOS_DURATION"); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil {
			t.Fatal(err)
		}
		o.duration, o.rounds = d/2, 0
	}
	var err error
	if o.program, err = build(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for _, o.scopes = range []string{scopesOff, scopesSystemd} {
		t.Run("scopes="+o.scopes, func(t *testing.T) {
			if o.scopes == scopesSystemd && !canStartManager() {
				t.Skip("needs root and systemd, for a user manager of its own")
			}
			var said bytes.Buffer
			o := o
			o.seed, o.out = uint64(time.Now().UnixNano()%1e9), &said
			if code := torment(t.Context(), o); code != 0 {
				t.Fatalf("exit code %d\n%s", code, said.String())
			}
			t.Log(strings.TrimSpace(said.String()))
		})
	}
}

func canStartManager() bool {
	_, err := exec.LookPath("systemd-run")
	return err == nil && os.Getuid() == 0
}

func TestPlanIsAPureFunctionOfTheSeed(t *testing.T) {
	rounds := func(seed uint64) (said []string) {
		p := newPlanner(seed)
		for r := p.first(); r.number <= 50; r = p.next() {
			said = append(said, fmt.Sprintf("%d %+v %v", r.number, r.ops, r.altered))
		}
		return said
	}
	if !slices.Equal(rounds(7), rounds(7)) {
		t.Error("two streams of one seed")
	}
	if slices.Equal(rounds(7), rounds(8)) {
		t.Error("one stream of two seeds")
	}
}

// Every operation comes up, and at each quiet point there is a controller and a
// directory.
func TestPlanIsWhole(t *testing.T) {
	seen := map[kind]bool{}
	for seed := range uint64(20) {
		p := newPlanner(seed)
		for r := p.first(); r.number <= 40; r = p.next() {
			if p.down || p.noDir {
				t.Fatalf("seed %d, round %d: down %v, without directory %v", seed, r.number, p.down, p.noDir)
			}
			for _, o := range r.ops {
				seen[o.kind] = true
			}
		}
	}
	if len(seen) != len(moves) {
		t.Errorf("%d kinds of operation came up, want %d", len(seen), len(moves))
	}
}

func TestJudge(t *testing.T) {
	one := &work{key: 0, rev: 3, replicas: 1, policy: "Always"}
	main := child{proc: proc{pid: 10, sid: 10}, rev: 3, main: true, mainPID: 10, env: []string{"CHAOS_REV=3", "PROC_CONTROLLER_SPEC=h", "PROC_CONTROLLER_PORTS=http=1"}}
	other := main
	other.pid, other.sid, other.mainPID = 20, 20, 20
	member := child{proc: proc{pid: 11, sid: 11}, rev: 3, mainPID: 10}
	scoped, scopedMember := main, member
	scoped.env = append([]string{"PROC_CONTROLLER_INSTANCE=i-1"}, main.env...)
	scoped.scope = "proc-controller-o:i-1.scope"
	scopedMember.scope = scoped.scope
	inUse := map[string][]string{scoped.scope: {"10", "11"}}
	old := main
	old.rev, old.env = 2, []string{"CHAOS_REV=2"}
	self := proc{pid: 1000}
	steady := expectation{work: one, lo: 1, hi: 1, steady: true}
	for _, tt := range []struct {
		name  string
		want  expectation
		scene scene
		wrong string // a part of the first complaint
	}{
		{"all is well", steady, scene{children: []child{main, member}}, ""},
		{"none runs", expectation{work: one, lo: 1, hi: 1}, scene{}, "0 main processes"},
		{"a twin", expectation{work: one, lo: 1, hi: 1}, scene{children: []child{main, other}}, "2 main processes"},
		{"not wanted", expectation{}, scene{children: []child{main}}, "want 0 to 0 (not wanted)"},
		{"another revision", expectation{work: one, lo: 1, hi: 1}, scene{children: []child{old}}, "revision 3 is wanted"},
		{"a leftover", expectation{}, scene{children: []child{member}}, "left of a dead instance"},
		{"restarted", steady, scene{children: []child{other}}, "restarted without a reason"},
		{"a stranger", steady, scene{children: []child{main}, strangers: []string{"signalled"}}, "signalled"},
		{"a zombie", steady, scene{children: []child{main}, zombies: []proc{{pid: 5}}}, "a zombie of the controller"},
		{"two of the program", steady, scene{children: []child{main}, programs: []proc{self, {pid: 9}}}, "1 processes beside the controller"},
		{"in a scope", steady, scene{children: []child{scoped, scopedMember}, scoped: true, scopes: inUse}, ""},
		{"not in a scope", steady, scene{children: []child{main}, scoped: true}, `is in the scope ""`},
		{"a member outside", steady, scene{children: []child{scoped, member}, scoped: true, scopes: inUse}, "its main process is in"},
		{"left in a scope", steady, scene{children: []child{scoped, scopedMember}, scoped: true, scopes: map[string][]string{"x.scope": {"5"}}}, "are left in the scope"},
		{"an upgrade", steady, scene{children: []child{main}, upgrade: errors.New("cannot")}, "that is not done: cannot"},
		{"no controller", steady, scene{children: []child{main}, programs: []proc{{pid: 9}}}, "has ended"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := memory{hashes: map[[2]int]string{}}
			before.mains[0] = []int{10}
			if tt.scene.controller = 1000; tt.scene.programs == nil {
				tt.scene.programs = []proc{self}
			}
			wrong := judge([keys]expectation{tt.want}, tt.scene, &before)
			if (tt.wrong == "") != (len(wrong) == 0) || len(wrong) > 0 && !strings.Contains(strings.Join(wrong, "\n"), tt.wrong) {
				t.Errorf("%q, want %q", wrong, tt.wrong)
			}
		})
	}
	if wrong := samePorts([]child{main, other}); len(wrong) != 1 {
		t.Errorf("one port for two: %q", wrong)
	}
}

func TestStrangersRecordSignals(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := callOne(t.TempDir(), self, "plain", func(*exec.Cmd) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	wait := func(what string, ok func() bool) {
		t.Helper()
		if err := within(t.Context(), patience, func() error {
			if !ok() {
				return fmt.Errorf("still not so: %s", what)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	wait("it is there", func() bool { return s.complaint() == "" })
	_ = s.cmd.Process.Signal(os.Interrupt)
	wait("it complains", func() bool { return strings.Contains(s.complaint(), "interrupt") })
}
