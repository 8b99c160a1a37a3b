//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// examined is an agent that is ready when a command says so.
func examined(name, script string) string {
	return agent(name, fmt.Sprintf("readinessProbe: {exec: {command: [sh, -c, %q]}, periodSeconds: 1, failureThreshold: 1}", script))
}

// A command says whether a workload is ready; its last line says why not.
func TestExecProbe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", examined("a", "echo first; test -e "+r.file("well")+" && exit; echo 'no such luck' >&2; exit 3"))
	r.start()
	r.until("agent/a", "says why it is not ready", func(o object) bool {
		return !o.ready() && o.Status.Reason == "ProbeFailed" && strings.HasSuffix(o.Status.Message, ": exit code 3: no such luck")
	})
	must(t, os.WriteFile(r.file("well"), nil, 0o644))
	o := r.ready("a")
	must(t, os.Remove(r.file("well")))
	r.until("agent/a", "is not ready any more", func(o object) bool { return !o.ready() && o.Status.Phase == "Running" })
	r.kept("agent/a", o)
}

// A command that hangs is cut off with all that it has started, one that floods
// its output too; each is a failure with a name.
func TestExecProbesWithoutEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("hangs.yaml", examined("hangs", "echo $$$$ >>"+r.file("groups")+"; sleep 1001 & sleep 1002"))
	r.write("floods.yaml", examined("floods", "yes out of hand | cat & yes out of hand"))
	r.start()
	for name, want := range map[string]string{"hangs": "no end within 1s", "floods": "wrote more than 16 MiB: out of hand"} {
		o := r.until("agent/"+name, "says "+want, func(o object) bool { return strings.Contains(o.Status.Message, want) })
		bounded(t, o.Status.Message)
	}
	var groups []string
	eventually(t, soon, "the command is run three times", func() error {
		content, err := os.ReadFile(r.file("groups"))
		if groups = strings.Fields(string(content)); len(groups) < 3 {
			return fmt.Errorf("%q, %v", groups, err)
		}
		return nil
	})
	for _, g := range groups[:2] { // the third may be under way
		group, err := strconv.Atoi(g)
		must(t, err)
		eventually(t, soon, "nothing of the command is left", func() error {
			if left := living(func(p proc) bool { return p.pgid == group || p.sid == group }); len(left) > 0 {
				return fmt.Errorf("%v", left)
			}
			return nil
		})
	}
	r.write("hangs.yaml", agent("hangs"))
	r.write("floods.yaml", agent("floods"))
	r.ready("hangs")
	r.ready("floods")
	r.live(2)
}

// bounded objects to a message that is more than a line for a person.
func bounded(t *testing.T, message string) {
	t.Helper()
	if message == "" || len(message) > 600 || strings.ContainsFunc(message, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		t.Errorf("not one line for a person (%d bytes): %q", len(message), message[:min(len(message), 1000)])
	}
}
