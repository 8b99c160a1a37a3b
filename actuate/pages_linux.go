package actuate

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetPages lets go of the memory that the start of a program has touched and
// its rest will not: what was allocated, and the pages of its own code, which
// come back from the page cache when they are needed (madvise(2) MADV_DONTNEED;
// code, unlike data that is read-only by now, was never written to).
func forgetPages() {
	debug.FreeOSMemory()
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		if from, to, ok := codeMapping(line, exe); ok {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
		}
	}
}

// codeMapping takes a line of proc_pid_maps(5) and gives the addresses of a
// mapping of the file that can be executed:
//
//	00400000-00a1c000 r-xp 00000000 fe:00 8126481  /usr/bin/proc-controller
func codeMapping(line, file string) (from, to uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[1] != "r-xp" || !strings.HasSuffix(strings.TrimRight(line, "\n"), " "+file) {
		return 0, 0, false
	}
	low, high, _ := strings.Cut(fields[0], "-")
	a, errA := strconv.ParseUint(low, 16, 64)
	b, errB := strconv.ParseUint(high, 16, 64)
	return uintptr(a), uintptr(b), errA == nil && errB == nil && a < b
}
