//go:build linux

package actuate

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// What was handed to us and belongs to no instance is signalled because it is
// our child and was not started by us; a workload, a helper and a stranger are
// not, whatever they are called.
func TestSignalOrphans(t *testing.T) {
	a := newActuator(t)
	in := mustStart(t, a, shell(t, `(env -i setsid sleep 100 & echo $!); exec sleep 100`))
	pid := strings.TrimSpace(output(t, in))
	mustEnd(t, a, in)
	orphan := identNow(t, pid)
	eventually(t, "it was handed to us", func() bool { return parentOf(orphan.PID) == unix.Getpid() })
	if a.Spawned(orphan.PID) {
		t.Error("the orphan is taken for a child that was started here")
	}
	other := mustStart(t, a, entry(t, "sleep", "100"))
	if !a.Spawned(other.LastMain.PID) {
		t.Error("a workload is taken for an orphan")
	}
	below := mustStart(t, a, shell(t, `setsid sleep 100 & echo $!; wait`))
	stranger := identNow(t, strings.TrimSpace(output(t, below)))
	for name, tt := range map[string]struct {
		id   observe.Ident
		says string
	}{
		"orphan":   {orphan, ""},
		"workload": {other.LastMain, "no orphan"},
		"stranger": {stranger, "CannotTell"},
		"reused":   {observe.Ident{PID: other.LastMain.PID, Start: orphan.Start}, "refused"},
	} {
		sent, err := a.Signal(&observe.Instance{Members: []*observe.Process{member(t, tt.id, observe.Ours)}}, int(unix.SIGKILL), spec.KillTree)
		if tt.says == "" {
			if err != nil || len(sent) != 1 || sent[0].Err != "" || len(sent[0].Evidence) == 0 {
				t.Errorf("%s: %+v, %v", name, sent, err)
			}
			eventually(t, "the orphan is dead", func() bool { return dead(tt.id.PID) })
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.says) || dead(tt.id.PID) {
			t.Errorf("%s: %+v, %v, dead %v", name, sent, err, dead(tt.id.PID))
		}
	}
}

// mustEnd kills the main process alone.
func mustEnd(t *testing.T, a *Actuator, in *observe.Instance) {
	t.Helper()
	if err := unix.Kill(in.LastMain.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	nextExit(t, a, in.LastMain)
}

func parentOf(pid int) int {
	p, err := observe.ReadProcess(pid)
	if err != nil {
		return 0
	}
	return p.PPID
}
