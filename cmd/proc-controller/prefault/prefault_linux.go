package prefault

import (
	"syscall"
	"unsafe"
)

// heapBytes is what a command allocates before it has an answer to show, and
// heapChunk what Go's heap begins with.
const (
	heapBytes = 3 << 19
	heapChunk = 4 << 20
)

// lasting are the verbs whose process stays, those for processes of the program's own
// among them: to be small is worth more to it than to start soon.
var lasting = []string{"run", "mcp", "with", "guard-of", "keeper-of", "controller-of"}

func init() {
	if isLasting() {
		return
	}
	populateHeap()
	populateProgram()
}

// isLasting looks for such a verb in the arguments: proc_pid_cmdline(5), as those of
// the package os come with much that is made first. One that is behind more text than
// is read here makes the process larger for a while, until it drops what it does not need.
func isLasting() bool {
	fd, err := syscall.Open("/proc/self/cmdline", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer syscall.Close(fd)
	var line [1024]byte
	n, _ := syscall.Read(fd, line[:])
	for from, i := 0, 0; i < n; i++ {
		if line[i] != 0 {
			continue
		}
		for _, verb := range lasting {
			if string(line[from:i]) == verb {
				return true
			}
		}
		from = i + 1
	}
	return false
}

// populateHeap maps what follows the first free place in Go's heap, which is filled
// upwards. What does not belong to the heap is mapped by nobody, and refused.
func populateHeap() {
	place = new([512]byte)
	from := uintptr(unsafe.Pointer(place)) &^ uintptr(syscall.Getpagesize()-1)
	end := (from + heapChunk) &^ (heapChunk - 1)
	advise(from, min(heapBytes, end-from), populateWrite)
}

// place is a variable of the package, or the compiler would find room on the stack.
var place *[512]byte

// populateProgram maps the parts of the program that are only read.
func populateProgram() {
	eachReadOnly(func(from, size uintptr) { advise(from, size, populateRead) })
}

// Drop unmaps the parts of the program that are only read, for a process that is about
// to rest: a start touches nearly all of them, and what comes after few. The kernel
// still has them, and maps again what is needed, when it is.
func Drop() {
	eachReadOnly(func(from, size uintptr) { advise(from, size, syscall.MADV_DONTNEED) })
}

// eachReadOnly gives the parts of the program that are only read, where the kernel has
// put them: getauxval(3), AT_PHDR.
func eachReadOnly(do func(from, size uintptr)) {
	var table, count uintptr
	auxv := getAuxv()
	for i := 0; i+1 < len(auxv); i += 2 {
		switch auxv[i] {
		case atPhdr:
			table = auxv[i+1]
		case atPhnum:
			count = auxv[i+1]
		}
	}
	if table == 0 || count > maxSegments || unsafe.Sizeof(uintptr(0)) != 8 {
		return
	}
	segments := unsafe.Slice((*segment)(unsafe.Add(unsafe.Pointer(nil), table)), count)
	base := baseOf(segments, table)
	page := uintptr(syscall.Getpagesize())
	for _, s := range segments {
		if s.kind == ptLoad && s.flags&pfW == 0 {
			from := (base + uintptr(s.address)) &^ (page - 1)
			do(from, base+uintptr(s.address)+uintptr(s.size)-from)
		}
	}
}

// getAuxv is what golang.org/x/sys has, and the runtime keeps for it: getauxval(3).
//
//go:linkname getAuxv runtime.getAuxv
func getAuxv() []uintptr

// segment is an Elf64_Phdr: elf(5). Systems of 32 bits have another.
type segment struct {
	kind, flags                                    uint32
	offset, address, physical, inFile, size, align uint64
}

// The constants of elf(5), getauxval(3) and madvise(2).
const (
	atPhdr      = 3
	atPhnum     = 5
	ptLoad      = 1
	ptPhdr      = 6
	pfW         = 2
	maxSegments = 64

	populateRead  = 22 // since Linux 5.14
	populateWrite = 23
)

// baseOf is how far from where it says the program lies.
func baseOf(segments []segment, table uintptr) uintptr {
	for _, s := range segments {
		if s.kind == ptPhdr {
			return table - uintptr(s.address)
		}
	}
	return 0
}

// advise asks the kernel, which since 5.14 can populate. What it cannot do
// stays as it is: pages come one by one.
func advise(from, size uintptr, how int) {
	_, _, _ = syscall.RawSyscall(syscall.SYS_MADVISE, from, size, uintptr(how))
}
