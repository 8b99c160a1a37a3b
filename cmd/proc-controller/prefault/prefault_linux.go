package prefault

import (
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
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
	if slices.ContainsFunc(os.Args, func(arg string) bool { return slices.Contains(lasting, arg) }) {
		return
	}
	populateHeap()
	populateProgram()
}

// populateHeap maps what follows the first free place in Go's heap, which is filled
// upwards. What does not belong to the heap is mapped by nobody, and refused.
func populateHeap() {
	place := new([512]byte)
	from := uintptr(unsafe.Pointer(place)) &^ uintptr(os.Getpagesize()-1)
	end := (from + heapChunk) &^ (heapChunk - 1)
	advise(from, min(heapBytes, end-from), unix.MADV_POPULATE_WRITE)
}

// populateProgram maps the parts of the program that are only read.
func populateProgram() {
	eachReadOnly(func(from, size uintptr) { advise(from, size, unix.MADV_POPULATE_READ) })
}

// Drop unmaps the parts of the program that are only read, for a process that is about
// to rest: a start touches nearly all of them, and what comes after few. The kernel
// still has them, and maps again what is needed, when it is.
func Drop() {
	eachReadOnly(func(from, size uintptr) { advise(from, size, unix.MADV_DONTNEED) })
}

// eachReadOnly gives the parts of the program that are only read, where the kernel has
// put them: getauxval(3), AT_PHDR.
func eachReadOnly(do func(from, size uintptr)) {
	auxv, err := unix.Auxv()
	if err != nil {
		return
	}
	var table, count uintptr
	for _, pair := range auxv {
		switch pair[0] {
		case atPhdr:
			table = pair[1]
		case atPhnum:
			count = pair[1]
		}
	}
	if table == 0 || count > maxSegments || unsafe.Sizeof(uintptr(0)) != 8 {
		return
	}
	segments := unsafe.Slice((*segment)(unsafe.Add(unsafe.Pointer(nil), table)), count)
	base := baseOf(segments, table)
	page := uintptr(os.Getpagesize())
	for _, s := range segments {
		if s.kind == ptLoad && s.flags&pfW == 0 {
			from := (base + uintptr(s.address)) &^ (page - 1)
			do(from, base+uintptr(s.address)+uintptr(s.size)-from)
		}
	}
}

// segment is an Elf64_Phdr: elf(5). Systems of 32 bits have another.
type segment struct {
	kind, flags                                    uint32
	offset, address, physical, inFile, size, align uint64
}

// The constants of elf(5) and getauxval(3).
const (
	atPhdr      = 3
	atPhnum     = 5
	ptLoad      = 1
	ptPhdr      = 6
	pfW         = 2
	maxSegments = 64
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

// advise asks the kernel (madvise(2)), which since 5.14 can populate. What it cannot do
// stays as it is: pages come one by one.
func advise(from, size uintptr, how int) {
	_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, from, size, uintptr(how))
}
