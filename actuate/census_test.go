//go:build linux

package actuate

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// counts is what a leak would show in.
type counts struct{ fds, goroutines, children, threads int }

func census(t testing.TB) (c counts) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return counts{len(fds), runtime.NumGoroutine(), len(children(t)), len(tasks)}
}

// describe tells for a failure what a process is.
func describe(pid int) string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return string(b[:min(len(b), 60)])
}

// children lists the children of this process, zombies among them, but not what
// was forked without a session of its own: that is no child of an Actuator.
func children(t testing.TB) []int {
	t.Helper()
	own, _ := unix.Getsid(0)
	return slices.DeleteFunc(childPIDs(), func(pid int) bool {
		sid, err := unix.Getsid(pid)
		return err == nil && sid == own
	})
}
