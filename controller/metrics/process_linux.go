package metrics

import (
	"bytes"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ticks is the unit of times in /proc/PID/stat: USER_HZ, which is 100 on every
// architecture that Go has.
const ticks = 100

// ownProcess reads /proc/self.
func ownProcess() []family {
	var all []family
	add := func(kind kind, name, help string, v float64) {
		all = append(all, single(desc{name: name, help: help, kind: kind}, v))
	}
	if s, ok := readOwnStat(); ok {
		add(isCounter, "process_cpu_seconds_total", "Processor time that the controller itself has used.", s.cpu)
		add(isGauge, "process_resident_memory_bytes", "Resident memory of the controller itself.", s.resident)
		add(isGauge, "process_virtual_memory_bytes", "Virtual memory of the controller itself.", s.virtual)
		add(isGauge, "go_threads", "Threads of the controller itself.", s.threads)
		if boot, ok := bootTime(); ok {
			add(isGauge, "process_start_time_seconds", "When the controller was started, in seconds since 1970.", boot+s.start)
		}
	}
	if names, err := os.ReadDir("/proc/self/fd"); err == nil {
		add(isGauge, "process_open_fds", "Open file descriptors of the controller itself.", float64(len(names)-1)) // one is the directory's
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		add(isGauge, "process_max_fds", "How many file descriptors the controller itself may have.", float64(limit.Cur))
	}
	return all
}

// ownStat is what is told of this process, in seconds and bytes; start is since boot.
type ownStat struct{ cpu, start, threads, virtual, resident float64 }

func readOwnStat() (ownStat, bool) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return ownStat{}, false
	}
	return parseOwnStat(text, os.Getpagesize())
}

// parseOwnStat reads the fields of proc_pid_stat(5): 14 utime, 15 stime, 20
// num_threads, 22 starttime, 23 vsize, 24 rss.
func parseOwnStat(text []byte, page int) (ownStat, bool) {
	_, after, found := cutLast(text, ") ") // the name before it may hold anything
	fields := bytes.Fields(after)
	const state = 3 // the number of the first field after the name
	if !found || len(fields) <= 24-state {
		return ownStat{}, false
	}
	number := func(field int) float64 {
		n, err := strconv.ParseFloat(string(fields[field-state]), 64)
		if err != nil {
			return math.NaN()
		}
		return n
	}
	s := ownStat{
		cpu: (number(14) + number(15)) / ticks, start: number(22) / ticks, threads: number(20),
		virtual: number(23), resident: number(24) * float64(page),
	}
	return s, !math.IsNaN(s.cpu + s.start + s.threads + s.virtual + s.resident)
}

func cutLast(text []byte, sep string) (before, after []byte, found bool) {
	i := bytes.LastIndex(text, []byte(sep))
	if i < 0 {
		return text, nil, false
	}
	return text[:i], text[i+len(sep):], true
}

// bootTime reads the line btime of proc_stat(5): seconds since 1970.
func bootTime() (float64, bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		if rest, found := bytes.CutPrefix(line, []byte("btime ")); found {
			t, err := strconv.ParseFloat(string(bytes.TrimSpace(rest)), 64)
			return t, err == nil
		}
	}
	return 0, false
}
