//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// awaitGone waits until the process has ended. It reads the state letter: a
// zombie that nobody reaps still takes signal 0.
func (b *bench) awaitGone(pid int) error {
	deadline := time.Now().Add(startWithin)
	for time.Now().Before(deadline) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return nil
		}
		_, rest, _ := bytes.Cut(stat, []byte(") "))
		if len(rest) == 0 || rest[0] == 'Z' || rest[0] == 'X' {
			return nil
		}
		if err := b.sleep(10 * time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("process %d did not end", pid)
}

// cpuTime is the processor time that a process has used, with that of its ended
// threads, to the nanosecond: clock_getcpuclockid(3) makes the clock of another
// process from its pid, the scheduler's clock (2) in the lowest bits.
func cpuTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("cannot read the processor time of %d: %v", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// statusNumber reads one number of /proc/PID/status, as proc_pid_status(5) names
// it: Threads, VmRSS (in kB).
func statusNumber(pid int, field string) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := bytes.Cut(b, []byte("\n"+field+":"))
	words := bytes.Fields(rest)
	if !ok || len(words) == 0 {
		return 0, fmt.Errorf("/proc/%d/status has no %s", pid, field)
	}
	return strconv.Atoi(string(words[0]))
}
