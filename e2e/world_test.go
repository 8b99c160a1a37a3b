//go:build linux

package e2e

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// manifest gives a document. The body is the content of spec, not indented.
func manifest(kind, name, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: proc-controller.dev/v1alpha1\nkind: %s\nmetadata:\n  name: %s\nspec:\n", kind, name)
	for line := range strings.Lines(strings.TrimSpace(body)) {
		b.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

// agent gives an Agent that sleeps, with further lines of spec.
func agent(name string, more ...string) string {
	return manifest("Agent", name, "command: [sleep, '1000']\n"+strings.Join(more, "\n"))
}

// gone waits until nothing runs under the pid.
func gone(t testing.TB, pid int) {
	t.Helper()
	eventually(t, soon, fmt.Sprintf("pid %d is gone", pid), func() error {
		if p, ok := lookup(pid); ok {
			return fmt.Errorf("%v still runs", p)
		}
		return nil
	})
}

// nothingLeft waits until no live process carries the owner's marker.
func nothingLeft(t testing.TB, owner string) {
	t.Helper()
	eventually(t, soon, "nothing of the owner is left", func() error {
		if left := marked(owner); len(left) > 0 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})
}

// minds waits until a process has its own answer to a signal: a handler, or to
// ignore it. A shell runs for a while before it comes to its trap.
func minds(t testing.TB, pid int, sig syscall.Signal) {
	t.Helper()
	eventually(t, soon, fmt.Sprintf("pid %d minds %v", pid, sig), func() error {
		for _, field := range []string{"SigCgt", "SigIgn"} {
			mask, err := strconv.ParseUint(statusField(t, pid, field), 16, 64)
			if err != nil {
				return err
			}
			if mask&(1<<(sig-1)) != 0 {
				return nil
			}
		}
		return fmt.Errorf("%s does not yet", commandLine(pid))
	})
}

// stillRuns objects if the process has ended.
func stillRuns(pid int) error {
	if _, ok := lookup(pid); !ok {
		return fmt.Errorf("pid %d has ended", pid)
	}
	return nil
}

// portFree waits until the port can be listened on.
func portFree(t testing.TB, port int) {
	t.Helper()
	eventually(t, soon, fmt.Sprintf("port %d is free", port), func() error {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return err
		}
		return l.Close()
	})
}

// holdPort listens on a free port of the loopback address.
func holdPort(t testing.TB) (net.Listener, int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, l.Addr().(*net.TCPAddr).Port
}

// usedBytes is the space that a file takes on the disk; 0 for none.
func usedBytes(t testing.TB, path string) int64 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return 0
	}
	return st.Blocks * 512
}

// fileSize is how much was written to a file, freed or not.
func fileSize(t testing.TB, path string) int64 {
	t.Helper()
	fi, err := os.Stat(path)
	must(t, err)
	return fi.Size()
}
