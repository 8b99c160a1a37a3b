package actuate

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An end is told as that of the whole tree only if nothing of the tree is left,
// however far it has gone from its main process.
func TestAloneIsProven(t *testing.T) {
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

func written(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

// Workloads must not stand in the list in which orphans are looked for, whatever
// thread the runtime gives to the spawner.
func TestSpawnerIsNotOnTheFirstThread(t *testing.T) {
	for range 50 {
		ran := make(chan bool)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ran <- onFirstThread()
		}()
		<-ran
		s := newSpawner()
		l := &launch{path: "/bin/sleep", argv: []string{"sleep", "1000"}, dir: "/", input: 0, output: 1, cgroup: -1}
		o := openOrphanage()
		c, err := s.Start(l, func(child) {})
		if err != nil {
			t.Fatal(err)
		}
		if !o.empty() {
			t.Error("a child of the spawner stands among the orphans")
		}
		killChild(c)
		var status unix.WaitStatus
		if _, err := unix.Wait4(c.pid, &status, 0, nil); err != nil {
			t.Error(err)
		}
		c.close()
		o.close()
		s.Close()
	}
}
