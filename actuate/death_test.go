//go:build linux

package actuate

import (
	"strings"
	"testing"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/spec"
)

// A parent that ignores signals, blocks others and leaves descriptors open must
// not show in what the child gets. (No shell tells: it has a mask of its own.)
func TestChildInheritsNothingFromACarelessParent(t *testing.T) {
	const none = "0000000000000000"
	for _, tc := range []struct {
		command []string
		want    string
	}{
		{[]string{"grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"}, "SigBlk:\t" + none + "\nSigIgn:\t" + none + "\n"},
		{[]string{"ls", "/proc/self/fd"}, "0\n1\n2\n3\n"}, // 3 is the directory that ls reads
	} {
		m := startMini(t, "blocked", scope.Off, entry(t, tc.command...), "/bin/sh", "-c", `trap "" HUP INT PIPE TSTP TTIN USR2; exec "$0"`)
		var got string
		eventually(t, "all was written", func() bool {
			got = outputIn(t, m.Log)
			return strings.Count(got, "\n") == strings.Count(tc.want, "\n")
		})
		if got != tc.want {
			t.Errorf("the child has\n%snot\n%s", got, tc.want)
		}
	}
}

func TestStopWorkloadDiesWithTheController(t *testing.T) {
	e := shell(t, `trap 'echo asked to stop; exit' TERM; echo up; while :; do sleep 0.01; done`)
	m := startMini(t, "controller", scope.Off, e)
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
	m := startMini(t, "controller", scope.Off, e)
	outputIn(t, m.Log)
	m.kill()
	before := strings.Count(outputIn(t, m.Log), "still here")
	eventually(t, "it goes on writing", func() bool {
		return strings.Count(outputIn(t, m.Log), "still here") > before+3
	})
}
