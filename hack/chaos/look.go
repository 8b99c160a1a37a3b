//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// proc is one process as /proc shows it; see proc_pid_stat(5).
type proc struct {
	pid, ppid, sid int
	state          byte
	threads        int
	start          uint64
	comm           string
}

func (p proc) String() string { return fmt.Sprintf("pid %d %s (%c)", p.pid, p.comm, p.state) }

// dead says that nothing of it runs any more: where nobody reaps, a zombie stays.
func (p proc) dead() bool { return p.state == 'X' || p.state == 'Z' && p.threads <= 1 }

// child is a process of a workload, known by its command line.
type child struct {
	proc
	key, rev int
	main     bool
	mainPID  int // of its instance
	env      []string
	scope    string // that it is in
}

func (c child) String() string {
	part := "main"
	if !c.main {
		part = fmt.Sprintf("member of %d", c.mainPID)
	}
	return fmt.Sprintf("%v: %s rev %d, %s", c.proc, nameOf(c.key), c.rev, part)
}

// wrapper says that it is about to execute the program, in a scope.
func (c child) wrapper() bool { return c.comm == "systemd-run" }

// value gives a variable of its environment.
func (c child) value(name string) string {
	for _, v := range c.env {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			return rest
		}
	}
	return ""
}

// observer looks at the process table for one run.
type observer struct {
	mark *regexp.Regexp // in a command line: key, revision, role, pid of the main process
	self int
}

func newObserver(tag string) *observer {
	return &observer{
		mark: regexp.MustCompile(regexp.QuoteMeta(tag) + `\.(\d{2})(\d{6})(\d)(?:[ \x00](\d+))?`),
		self: os.Getpid(),
	}
}

// children gives every live process of a workload, by pid. One that execs while
// it is looked at may be missed: who needs to be sure looks twice.
func (o *observer) children() (found []child) {
	for _, pid := range pids() {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			continue
		}
		m := o.mark.FindSubmatch(line)
		p, ok := lookup(pid)
		if m == nil || !ok || p.dead() {
			continue
		}
		key, _ := strconv.Atoi(string(m[1]))
		rev, _ := strconv.Atoi(string(m[2]))
		c := child{proc: p, key: key, rev: rev, scope: scopeOf(pid)}
		// A shell that forks is for a moment two with one command line.
		c.main = string(m[3]) == strconv.Itoa(roleMain) && p.pid == p.sid && !c.wrapper()
		if c.mainPID, _ = strconv.Atoi(string(m[4])); c.mainPID == 0 {
			c.mainPID = p.sid
		}
		if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil {
			c.env = strings.Split(strings.TrimRight(string(env), "\x00"), "\x00")
		}
		found = append(found, c)
	}
	return found
}

// running gives the live processes that execute a file, or one that was in its
// place before.
func running(path string) (found []proc) {
	for _, pid := range pids() {
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || strings.TrimSuffix(exe, " (deleted)") != path {
			continue
		}
		if p, ok := lookup(pid); ok && !p.dead() {
			found = append(found, p)
		}
	}
	return found
}

// zombies gives the dead children of a process.
func zombies(parent int) (found []proc) {
	for _, pid := range pids() {
		if p, ok := lookup(pid); ok && p.ppid == parent && p.dead() {
			found = append(found, p)
		}
	}
	return found
}

func pids() (all []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			all = append(all, pid)
		}
	}
	slices.Sort(all)
	return all
}

// lookup reads one process, dead or alive.
func lookup(pid int) (p proc, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, false
	}
	open, shut := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || shut < open {
		return p, false
	}
	f := strings.Fields(string(stat[shut+1:]))
	if len(f) < 20 {
		return p, false
	}
	number := func(field int) int { n, _ := strconv.Atoi(f[field-3]); return n }
	return proc{
		pid: pid, comm: string(stat[open+1 : shut]), state: f[0][0], ppid: number(4), sid: number(6),
		threads: number(20), start: uint64(number(22)),
	}, true
}

// catches says that a process has a handler for a signal: bit n-1 of SigCgt in
// proc_pid_status(5).
func catches(pid, signal int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, "SigCgt:"); ok {
			bits, err := strconv.ParseUint(strings.TrimSpace(v), 16, 64)
			return err == nil && bits&(1<<(signal-1)) != 0
		}
	}
	return false
}

// entries counts those of a directory: /proc/PID/fd, /proc/PID/task.
func entries(dir string) int {
	list, _ := os.ReadDir(dir)
	return len(list)
}
