//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A one-shot ends in Completed or Failed, and says how it ended.
func TestOneShots(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	shot := func(name, policy, script, more string) string {
		return manifest("Agent", name, fmt.Sprintf("command: [sh, -c, %q]\nrestartPolicy: %s\nbackoff: {initial: 10ms, max: 10ms}\n%s", script, policy, more))
	}
	mark := filepath.Join(r.dir, "tried")
	r.write("m.yaml", strings.Join([]string{
		shot("never", "Never", "exit 0", ""),
		shot("never-3", "Never", "exit 3", "successExitCodes: [3]"),
		shot("never-4", "Never", "echo no luck; exit 4", "successExitCodes: [3]"),
		shot("never-killed", "Never", "kill -9 $$$$", "successExitCodes: [3]"),
		shot("retried", "OnFailure", "test -e "+mark+" && exit 7; touch "+mark+"; exit 5", "successExitCodes: [7]"),
	}, "---\n"))
	r.start()
	for name, want := range map[string]struct {
		phase, reason, message string
		code                   int
	}{
		"never":        {"Completed", "Completed", "", 0},
		"never-3":      {"Completed", "Completed", "", 3},
		"never-4":      {"Failed", "Error", "exit code 4: no luck", 4},
		"never-killed": {"Failed", "Error", "SIGKILL", -1},
		"retried":      {"Completed", "Completed", "", 7},
	} {
		dies := want.phase == "Failed" || name == "retried"
		o := r.until("agent/"+name, "is "+want.phase, func(o object) bool { // its dossier is written a little later
			return o.Status.Phase == want.phase && strings.Contains(o.Status.Message, want.message) && (!dies || o.Status.LastDeath != nil)
		})
		if lt := o.Status.LastTermination; lt == nil || lt.ExitCode != want.code || lt.Reason != want.reason {
			t.Errorf("%s: last termination %+v, want %s with %d", name, lt, want.reason, want.code)
		}
		if died := o.Status.LastDeath != nil; died != dies {
			t.Errorf("%s: last death %+v", name, o.Status.LastDeath)
		}
	}
}

// An adopted process is no child, and its exit code is known all the same.
func TestSuccessExitCodeOfAnAdoptedProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	go_ := filepath.Join(r.dir, "go")
	r.write("a.yaml", manifest("Agent", "a", fmt.Sprintf(`
command: [sh, -c, 'until test -e %s; do sleep 0.05; done; exit 3']
restartPolicy: OnFailure
successExitCodes: [3]
onControllerExit: Keep`, go_)))
	before := r.running("agent/a")
	r.stop()
	r.start()
	after := r.running("agent/a")
	if before.Status.PID != after.Status.PID {
		t.Fatalf("pid %d, was %d", after.Status.PID, before.Status.PID)
	}
	must(t, os.WriteFile(go_, nil, 0o600))
	o := r.until("agent/a", "has ended", func(o object) bool {
		return (o.Status.Phase == "Completed" || o.Status.Phase == "Failed") && o.Status.LastTermination != nil
	})
	if lt := o.Status.LastTermination; lt.Reason == "Unknown" {
		t.Skip("this kernel does not tell how a process ended that is no child")
	} else if o.Status.Phase != "Completed" || lt.ExitCode != 3 {
		t.Errorf("%s, %+v", o.Status.Phase, lt)
	}
}

// A server that speaks over stdin reads end-of-file here, again and again.
func TestLooksLikeStdio(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("m.yaml", strings.Join([]string{
		manifest("MCPServer", "stdio", "command: [sh, -c, 'cat >/dev/null']\nbackoff: {initial: 10ms, max: 200ms}"),
		manifest("Agent", "agent", "command: [sh, -c, 'cat >/dev/null']\nbackoff: {initial: 10ms, max: 200ms}"),
	}, "---\n"))
	r.start()
	o := r.until("mcp/stdio", "is told that it looks like a stdio server", func(o object) bool {
		c := o.condition("Stalled")
		return c.Status == "True" && c.Reason == "LooksLikeStdio"
	})
	if m := o.condition("Stalled").Message; !strings.Contains(m, "stdio") || !strings.Contains(m, "end-of-file") {
		t.Errorf("message %q", m)
	}
	tries := o.Status.Restarts
	r.until("mcp/stdio", "is tried all the same", func(o object) bool { return o.Status.Restarts > tries+2 })
	r.until("agent/agent", "is tried, too", func(o object) bool { return o.Status.Restarts > 3 })
	if o, err := r.get("agent/agent"); err != nil || o.condition("Stalled").Status == "True" {
		t.Errorf("an agent: %+v, %v", o.condition("Stalled"), err)
	}
}

// deaths reads what is kept of a workload.
func (r *rig) deaths(name string) (kept []dossier) {
	r.t.Helper()
	content, err := os.ReadFile(filepath.Join(r.state, "deaths", "Agent."+name+".json"))
	if err != nil {
		return nil
	}
	var file struct{ Deaths []dossier }
	must(r.t, json.Unmarshal(content, &file))
	return file.Deaths
}

func TestDossierOfACrash(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	body := "command: [sh, -c, 'sleep 1000']\nenv: [{name: TOKEN, value: s3cr3t}]\n"
	shot := "backoff: {initial: 1h, max: 1h, resetAfter: 1h}" // one that never runs well
	r.write("a.yaml", manifest("Agent", "a", body+"backoff: {initial: 1h, max: 1h, resetAfter: 100ms}"))
	good := r.running("agent/a")
	eventually(t, soon, "the good run is written down", func() error {
		_, err := os.Stat(filepath.Join(r.state, "deaths", "Agent.a.json"))
		return err
	})

	r.write("a.yaml", manifest("Agent", "a", `
command: [sh, -c, 'for i in $(seq 30); do echo line $i; done; exit 3']
env: [{name: TOKEN, value: other}, {name: COLOUR, value: red}]
`+shot))
	o := r.until("agent/a", "has died", func(o object) bool { return o.Status.LastDeath != nil })
	d := o.Status.LastDeath
	if d.ExitCode != 3 || d.Reason != "Error" || d.PID == 0 || d.Hash != o.Status.Hash || d.Uptime == "" {
		t.Errorf("dossier %+v", d)
	}
	if len(d.Output) != 20 || d.Output[0] != "line 11" || d.Output[19] != "line 30" {
		t.Errorf("output %q, want the last 20 of 30 lines", d.Output)
	}
	if retry := d.NextRetry.Sub(d.FinishedAt); retry < 59*time.Minute || retry > 61*time.Minute {
		t.Errorf("next retry %v after the death, want an hour", retry)
	}
	if d.Changes == nil {
		t.Fatal("nothing is said of what has changed")
	}
	if want := []string{"spec.backoff.resetAfter", "spec.command", "spec.env[COLOUR].name", "spec.env[COLOUR].value", "spec.env[TOKEN].value"}; !slices.Equal(d.Changes.Spec, want) {
		t.Errorf("changed fields %q, want %q", d.Changes.Spec, want)
	}
	if d.Changes.LastGood != good.Status.Instances[0].Instance || !slices.Equal(d.Changes.EnvAdded, []string{"COLOUR"}) || d.Changes.EnvRemoved != nil || d.Changes.Program != nil {
		t.Errorf("changes %+v", d.Changes)
	}
	path := filepath.Join(r.state, "deaths", "Agent.a.json")
	if content, err := os.ReadFile(path); err != nil || strings.Contains(string(content), "s3cr3t") || strings.Contains(string(content), `"other"`) {
		t.Errorf("a value of a variable is in the file, or: %v", err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}

	r.stop()
	r.start()
	again := r.until("agent/a", "has not forgotten it", func(o object) bool { return o.Status.LastDeath != nil })
	if again.Status.LastDeath.Instance != d.Instance {
		t.Errorf("after a restart the last death is %+v, was %+v", again.Status.LastDeath, d)
	}
}

// A program file that was replaced shows in the dossier, and a kill from elsewhere
// by its signal.
func TestDossierOfAReplacedProgram(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	program := filepath.Join(r.dir, "server")
	must(t, writeProgram(program, []byte("#!/bin/sh\nexec sleep 1000\n")))
	r.start()
	body := "command: [" + program + "]\nbackoff: {initial: 10ms, max: 1h, factor: 1000000, resetAfter: "
	r.write("a.yaml", manifest("Agent", "a", body+"100ms}"))
	first := r.running("agent/a")
	eventually(t, soon, "the good run is written down", func() error {
		_, err := os.Stat(filepath.Join(r.state, "deaths", "Agent.a.json"))
		return err
	})
	r.write("a.yaml", manifest("Agent", "a", body+"1h}")) // the broken one never runs well
	r.until("agent/a", "has a longer way to go", func(o object) bool {
		backoff, _ := o.Spec["backoff"].(map[string]any)
		return backoff["resetAfter"] == "1h"
	})
	must(t, os.Remove(program))
	must(t, writeProgram(program, []byte("#!/bin/sh\necho broken; exit 1\n")))
	p, _ := lookup(first.Status.PID)
	end(p)
	eventually(t, soon, "two deaths are kept", func() error {
		if n := len(r.deaths("a")); n < 2 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	kept := r.deaths("a")
	if d := kept[0]; !strings.Contains(d.Signal, "KILL") || d.PID != first.Status.PID || d.Changes == nil || d.Changes.Program != nil {
		t.Errorf("the kill: %+v", d)
	}
	if d := kept[1]; d.ExitCode != 1 || d.Changes == nil || d.Changes.Program == nil || d.Changes.Program.Is.Path != program || !slices.Equal(d.Changes.Spec, []string{"spec.backoff.resetAfter"}) {
		t.Errorf("the broken program: %+v %+v", d, d.Changes)
	}
}

func TestTheLastTenDeathsAreKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	count := filepath.Join(r.dir, "count")
	r.write("a.yaml", manifest("Agent", "a", fmt.Sprintf(`
command: [sh, -c, 'echo x >>%s; n=$(wc -l <%s); echo run $n; test $n -gt 12 && exec sleep 1000; exit 1']
backoff: {initial: 10ms, max: 10ms}`, count, count)))
	r.start()
	r.until("agent/a", "has died twelve times", func(o object) bool { return o.Status.Restarts == 12 && o.Status.Phase == "Running" })
	eventually(t, soon, "the twelfth is kept", func() error {
		kept := r.deaths("a")
		if len(kept) == 0 || !slices.Equal(kept[len(kept)-1].Output, []string{"run 12"}) {
			return fmt.Errorf("%+v", kept)
		}
		return nil
	})
	if kept := r.deaths("a"); len(kept) != 10 || kept[0].Output[0] != "run 3" {
		t.Errorf("%d kept, the oldest %+v; want ten from the third on", len(kept), kept[0])
	}
}
