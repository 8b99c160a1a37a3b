//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pidnsPayload as the first argument makes this test binary the first process of
// its PID namespace: it mounts /proc, makes pids few, runs one test and reaps
// whatever ends until that has.
const pidnsPayload = "e2e-pidns"

// insideVariable holds the path of the controller for a test that runs in a PID
// namespace of its own.
const insideVariable = "E2E_INSIDE"

// fewPIDs is what pid_max becomes. Pids below 300 are given out once
// (RESERVED_PIDS in the kernel), so that a hundred are left to go round.
const fewPIDs = 400

func pidns(args []string) int {
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		fmt.Fprintln(os.Stderr, "cannot mount /proc:", err)
		return 1
	}
	if err := os.WriteFile("/proc/sys/kernel/pid_max", []byte(strconv.Itoa(fewPIDs)), 0); err != nil {
		fmt.Fprintln(os.Stderr, "cannot set pid_max:", err)
		return 1
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+args[0]+"$", "-test.v", "-test.timeout=100s")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid == cmd.Process.Pid {
			return status.ExitStatus()
		}
	}
}

// strangers forks processes that have nothing to do with any controller, one
// after the other, some of which live at any time. Each blocks all signals and
// waits for one, for a few milliseconds; one that got a signal ends with its
// number, and one that was ended by a signal is known by its status.
type strangers struct {
	made atomic.Int64
	worn atomic.Int64 // how many had a pid that was ours before
	hit  []string
}

// run goes on until stop is closed. Each pid is shown to worn, which says
// whether a process of the controller has had it.
func (s *strangers) run(stop <-chan struct{}, worn func(pid int) bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, old unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^uint64(0)
	}
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &all, &old)
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	const alive = 20
	var ring []int
	for {
		select {
		case <-stop:
			for _, pid := range ring {
				s.reap(pid)
			}
			return
		default:
		}
		if len(ring) == alive {
			s.reap(ring[0])
			ring = ring[1:]
		}
		pid := forkStranger(s.made.Load()%3 == 0)
		if pid <= 0 {
			continue // no pid is free just now
		}
		s.made.Add(1)
		if worn(pid) {
			s.worn.Add(1)
		}
		ring = append(ring, pid)
	}
}

func (s *strangers) reap(pid int) {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || !status.Exited() || status.ExitStatus() != 0 {
		s.hit = append(s.hit, fmt.Sprintf("pid %d: %v, status %#x", pid, err, status))
	}
}

// forkStranger forks without an execve(2). The child makes system calls and
// nothing else, since no more than this thread is there in it.
//
//go:norace
func forkStranger(leads bool) int {
	set := ^uint64(0)
	life := unix.Timespec{Nsec: 15e6}
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return -1
	}
	if pid != 0 {
		return int(pid)
	}
	if leads {
		syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
	}
	got, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)), 0, uintptr(unsafe.Pointer(&life)), 8, 0, 0)
	if errno != 0 {
		got = 0
	}
	for {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, got, 0, 0)
	}
}
