package prefault

import (
	"bytes"
	"os"
	"strconv"
	"testing"
)

// fileBacked is how many kB of files are mapped here: proc_pid_status(5), RssFile.
func fileBacked(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if rest, found := bytes.CutPrefix(line, []byte("RssFile:")); found {
			n, err := strconv.Atoi(string(bytes.Fields(rest)[0]))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Skip("this kernel does not tell RssFile (since 4.5)")
	return 0
}

// What is dropped is no longer there, and the program goes on; what is populated is.
func TestProgramIsDroppedAndPopulated(t *testing.T) {
	size := 0
	eachReadOnly(func(_, n uintptr) { size += int(n) })
	if size == 0 {
		t.Fatal("the program is not found in memory")
	}
	populateProgram()
	all := fileBacked(t)
	if all < size/1024*9/10 {
		t.Skipf("%d kB are mapped, and the program is %d bytes: the kernel cannot populate (since 5.14)", all, size)
	}
	Drop()
	// What runs meanwhile is mapped again, sixteen pages at each touch; all of it never is.
	if left := fileBacked(t); left > all*19/20 {
		t.Errorf("%d kB are left of %d", left, all)
	}
	populateProgram()
	if again := fileBacked(t); again < size/1024*9/10 {
		t.Errorf("%d kB are there again of %d bytes", again, size)
	}
}

// What is populated of the heap is harmless wherever its end is.
func TestHeapIsPopulated(t *testing.T) {
	for range 100 {
		populateHeap()
	}
}
