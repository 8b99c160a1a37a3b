//go:build linux

package actuate

import (
	"strings"
	"testing"

	"github.com/proc-controller/proc-controller/spec"
)

// status reads what matters for inheritance from proc_pid_status(5).
const status = `grep -E 'Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd | tr '\n' ' '; echo; sleep 100`

// A parent that ignores signals, blocks others and leaves descriptors open must
// not show in what the child gets.
func TestChildInheritsNothingFromACarelessParent(t *testing.T) {
	m := startMini(t, "blocked", shell(t, status), "/bin/sh", "-c", `trap "" HUP INT PIPE TSTP TTIN USR2; exec "$0"`)
	const none = "0000000000000000"
	got := outputIn(t, m.Log)
	// Descriptor 3 is the directory that ls reads.
	want := "SigBlk:\t" + none + "\nSigIgn:\t" + none + "\n0 1 2 3 \n"
	if got != want {
		t.Errorf("the child has\n%snot\n%s", got, want)
	}
}

func TestStopWorkloadDiesWithTheController(t *testing.T) {
	e := shell(t, `trap 'echo asked to stop; exit' TERM; echo up; while :; do sleep 0.01; done`)
	m := startMini(t, "controller", e)
	outputIn(t, m.Log)
	m.kill()
	eventually(t, "the child is dead", func() bool { return dead(m.Main.PID) })
	if got := outputIn(t, m.Log); !strings.Contains(got, "asked to stop") {
		t.Errorf("the child wrote %q", got)
	}
}

func TestKeepWorkloadOutlivesTheController(t *testing.T) {
	e := shell(t, `echo up; while :; do sleep 0.01; echo still here; done`)
	e.Object.Spec.OnControllerExit = spec.ExitKeep
	m := startMini(t, "controller", e)
	outputIn(t, m.Log)
	m.kill()
	before := strings.Count(outputIn(t, m.Log), "still here")
	eventually(t, "it goes on writing", func() bool {
		return strings.Count(outputIn(t, m.Log), "still here") > before+3
	})
}
