package actuate

import (
	"encoding/binary"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ForgetPages lets go of the memory that the start of a program has touched and
// its rest will not: what was allocated, and the pages of the program itself that
// were never written to, which come back from the page cache when they are needed
// (madvise(2) MADV_DONTNEED). That is its code, and its constants where no loader
// had to enter addresses into them.
func ForgetPages() {
	debug.FreeOSMemory()
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	constants := isStatic("/proc/self/exe")
	for line := range strings.Lines(string(maps)) {
		if from, to, ok := programMapping(line, exe, constants); ok {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
		}
	}
}

// programMapping takes a line of proc_pid_maps(5) and gives the addresses of a
// mapping of the file that can be executed, or, if wanted, only read:
//
//	00400000-00a1c000 r-xp 00000000 fe:00 8126481  /usr/bin/proc-controller
func programMapping(line, file string, constants bool) (from, to uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[1] != "r-xp" && !(constants && fields[1] == "r--p") || !strings.HasSuffix(strings.TrimRight(line, "\n"), " "+file) {
		return 0, 0, false
	}
	low, high, _ := strings.Cut(fields[0], "-")
	a, errA := strconv.ParseUint(low, 16, 64)
	b, errB := strconv.ParseUint(high, 16, 64)
	return uintptr(a), uintptr(b), errA == nil && errB == nil && a < b
}

// Of elf(5), 64 bits.
const (
	elfMagic      = "\x7fELF\x02\x01" // little-endian
	elfHeader     = 64
	elfExecutable = 2 // ET_EXEC: at fixed addresses
	elfLoader     = 3 // PT_INTERP: a dynamic loader is to run first
)

// isStatic says that a program is at fixed addresses and has no dynamic loader, so
// that nobody writes to what it has as read-only. Of what it does not understand it
// says no.
func isStatic(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, _ := f.ReadAt(head, 0)
	return isStaticHeader(head[:n])
}

func isStaticHeader(head []byte) bool {
	le := binary.LittleEndian
	if len(head) < elfHeader || string(head[:len(elfMagic)]) != elfMagic || le.Uint16(head[16:]) != elfExecutable {
		return false
	}
	at, size, count := int(le.Uint32(head[32:])), int(le.Uint16(head[54:])), int(le.Uint16(head[56:]))
	if at < elfHeader || size < 4 || count == 0 || at+size*count > len(head) {
		return false
	}
	for i := range count {
		if le.Uint32(head[at+i*size:]) == elfLoader {
			return false
		}
	}
	return true
}
