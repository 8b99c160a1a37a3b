package lock

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// flockHolder gives the process that has the flock of a file, or 0.
func flockHolder(f *os.File) int {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return 0
	}
	content, err := os.ReadFile("/proc/locks")
	if err != nil {
		return 0
	}
	return parseLocks(string(content), unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), st.Ino)
}

// parseLocks finds the holder of the flock of an inode in proc_locks(5), or 0:
//
//	1: FLOCK  ADVISORY  WRITE 4711 08:01:1835028 0 EOF
func parseLocks(content string, major, minor uint32, inode uint64) int {
	place := fmt.Sprintf("%02x:%02x:%d", major, minor, inode)
	for line := range strings.Lines(content) {
		fields := strings.Fields(line)
		// A second field "->" marks one that waits.
		if len(fields) < 6 || fields[1] != "FLOCK" || fields[5] != place {
			continue
		}
		if pid, err := strconv.Atoi(fields[4]); err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}
