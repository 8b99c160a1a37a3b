package actuate

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An end is told as that of the whole tree only if nothing of the tree is left,
// however far it has gone from its main process.
func TestAloneIsProven(t *testing.T) {
	if byItself(t) {
		return
	}
	if !groupSignals() {
		t.Skip("needs PIDFD_SIGNAL_PROCESS_GROUP (Linux 6.9)")
	}
	for _, tt := range []struct {
		name, script string
		alone        bool
	}{
		{"by itself", "exit 3", true},
		{"a child that ended before", "true; exit 0", true},
		{"a child in the group", "sleep 1000 & echo $!; exit 0", false},
		{"a child in a session of its own", "setsid sleep 1000 & sleep 0.05; echo $!; exit 0", false},
		{"a grandchild in a session of its own", "sh -c 'setsid -f sh -c \"echo \\$\\$; exec sleep 1000\"'; sleep 0.05; exit 0", false},
		{"one without environment", "env -i setsid -f sh -c 'echo $$$$; exec sleep 1000'; sleep 0.05; exit 0", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newActuator(t)
			in := mustStart(t, a, shell(t, tt.script))
			x := nextExit(t, a, in.LastMain)
			if x.Alone != tt.alone {
				t.Errorf("alone: %v, want %v; left: %q", x.Alone, tt.alone, written(in.Log))
			}
			if pid, err := strconv.Atoi(strings.TrimSpace(written(in.Log))); err == nil {
				if err := unix.Kill(pid, unix.SIGKILL); err != nil {
					t.Errorf("the one that was left: %v", err)
				}
				eventually(t, "what was left has ended and is reaped", func() bool { return state(pid) == 0 })
			}
		})
	}
}

// byItself runs the calling test in a process of its own, where no child of
// another test can be taken for an orphan, and says whether it has.
func byItself(t *testing.T) bool {
	t.Helper()
	const alone = "ACTUATE_TEST_BY_ITSELF"
	if os.Getenv(alone) != "" {
		return false
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), alone+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("by itself: %v\n%s", err, out)
	}
	return true
}

func written(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

// What the first thread has forked stands in the same list as the orphans, and a
// list of many takes more than one read.
func TestOrphanageTellsOwnChildrenApart(t *testing.T) {
	if byItself(t) {
		return
	}
	a := newActuator(t)
	own := map[int]bool{}
	for range 20 {
		own[mustStart(t, a, entry(t, "/bin/sleep", "1000")).LastMain.PID] = true
	}
	o := openOrphanage()
	defer o.close()
	o.buf = make([]byte, 16)
	isOwn := func(pid int) bool { return own[pid] }
	eventually(t, "no orphan of another test is left", func() bool { return o.empty(isOwn) })
	in := mustStart(t, a, shell(t, "setsid -f sh -c 'echo $$$$; exec sleep 1000'; exec sleep 1000"))
	own[in.LastMain.PID] = true
	pid, err := strconv.Atoi(strings.TrimSpace(output(t, in)))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it was handed to us", func() bool { return parentOf(pid) == os.Getpid() })
	if o.empty(isOwn) {
		t.Error("an orphan was not seen")
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Error(err)
	}
	eventually(t, "the orphan is reaped", func() bool { return o.empty(isOwn) })
}
