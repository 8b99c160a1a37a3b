//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// proc is one process as /proc shows it.
type proc struct {
	pid, ppid, pgid, sid int
	state                byte
	threads              int
	start                uint64 // clock ticks since boot
	comm                 string
	env                  []string
}

func (p proc) String() string { return fmt.Sprintf("%d %s (%c)", p.pid, p.comm, p.state) }

// idents names processes beyond doubt, and nothing of theirs that changes while
// they live, as their state does.
func idents(all []proc) string {
	var b strings.Builder
	for _, p := range all {
		fmt.Fprintf(&b, "%d@%d ", p.pid, p.start)
	}
	return b.String()
}

// dead says that nothing of it runs any more. PID 1 may never reap, so a zombie
// can stay for ever; signal 0 reaches it all the same.
func (p proc) dead() bool { return p.state == 'X' || p.state == 'Z' && p.threads <= 1 }

// has says that the variable stands in the environment with exactly that value.
func (p proc) has(name, value string) bool { return slices.Contains(p.env, name+"="+value) }

// lookup reads one process; ok is false if there is none, or it is dead.
func lookup(pid int) (p proc, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return proc{}, false
	}
	// proc_pid_stat(5): comm stands in parentheses and may hold any byte.
	open, shut := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || shut < open {
		return proc{}, false
	}
	f := strings.Fields(string(stat[shut+1:]))
	if len(f) < 20 {
		return proc{}, false
	}
	number := func(field int) int { n, _ := strconv.Atoi(f[field-3]); return n }
	p = proc{
		pid: pid, comm: string(stat[open+1 : shut]), state: f[0][0],
		ppid: number(4), pgid: number(5), sid: number(6), threads: number(20), start: uint64(number(22)),
	}
	if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil {
		p.env = strings.Split(strings.TrimRight(string(env), "\x00"), "\x00")
	}
	return p, !p.dead()
}

// living gives every live process for which keep holds.
func living(keep func(proc) bool) (found []proc) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		pid, err := strconv.Atoi(filepath.Base(d))
		if err != nil {
			continue
		}
		if p, ok := lookup(pid); ok && keep(p) {
			found = append(found, p)
		}
	}
	return found
}

// marked gives the live processes that carry the owner's marker.
func marked(owner string) []proc {
	return living(func(p proc) bool { return p.has("PROC_CONTROLLER_OWNER", owner) })
}

// commandLine gives the arguments of a process, with blanks between them.
func commandLine(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return string(bytes.ReplaceAll(data, []byte{0}, []byte{' '}))
}

// tagged gives the live processes with that argument, whatever became of their
// environment.
func tagged(tag string) []proc {
	return living(func(p proc) bool { return slices.Contains(strings.Fields(commandLine(p.pid)), tag) })
}

// childrenOf gives what has pid for a parent, zombies included.
func childrenOf(pid int) (found []proc) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		n, err := strconv.Atoi(filepath.Base(d))
		if err != nil {
			continue
		}
		if p, _ := lookup(n); p.pid != 0 && p.ppid == pid {
			found = append(found, p)
		}
	}
	return found
}

// count gives the number of entries of a directory: /proc/PID/fd, /proc/PID/task.
func count(dir string) int {
	entries, _ := os.ReadDir(dir)
	return len(entries)
}

// cgroupOf gives the path in the cgroup v2 hierarchy (the line that starts with
// 0::, see cgroups(7)), and on hybrid hosts in name=systemd where that is
// longer.
func cgroupOf(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	best := ""
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && (parts[0] == "0" || parts[1] == "name=systemd") && len(parts[2]) > len(best) {
			best = parts[2]
		}
	}
	return best
}

// end kills one process that is still the one that was seen.
func end(p proc) {
	if now, ok := lookup(p.pid); ok && now.start == p.start {
		syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// statusField gives a field of /proc/PID/status; see proc_pid_status(5).
func statusField(t testing.TB, pid int, field string) string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	t.Fatalf("/proc/%d/status has no %s", pid, field)
	return ""
}

// residentKiB is the resident memory of a process.
func residentKiB(t testing.TB, pid int) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSuffix(statusField(t, pid, "VmRSS"), " kB"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
