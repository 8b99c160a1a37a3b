//go:build linux

package actuate

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
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

// children lists the children of this process, zombies among them.
func children(t testing.TB) (pids []int) {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		b, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
