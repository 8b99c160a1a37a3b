package observe

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A stranger is not read again as long as it stays the same; that it was handed
// to us is seen all the same, by the next look.
func TestLookSeesWhatWasHandedOver(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	s := newScanner(t)
	var parent int
	s.parent.spawned = func(pid int) bool { return pid == parent }
	s.parent.since = 0
	s.table.sights.settle = 0
	c := start(t, "spawn session sleep", nil)
	parent = c.pid()
	orphan := c.started[0]
	t.Cleanup(func() {
		_ = c.stdin.Close()
		var status unix.WaitStatus
		_, _ = unix.Wait4(orphan, &status, 0, nil)
	})
	if p := byPID(scan(t, s, Full).Unattributed, orphan); p != nil {
		t.Fatalf("a stranger's child: %+v", p)
	}
	kill(t, parent)
	awaitEnd(t, parent)
	if p := byPID(scan(t, s, Look).Unattributed, orphan); p == nil || p.Verdict != Ours {
		t.Errorf("what was handed to us: %+v", p)
	}
}
