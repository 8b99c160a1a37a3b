//go:build linux && amd64

package e2e

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// setClockBack sets the wall clock of one process back, and of nobody else. What
// a program of Go's, or of any C library, asks for the time is the code of
// vdso(7) in its own memory. Its page is private to the process, and is written
// to as a debugger does for a breakpoint. The monotonic clocks go on.
func setClockBack(t *testing.T, pid int, by time.Duration) {
	t.Helper()
	code := []byte{
		0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, 228: clock_gettime(2)
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi: the first argument; 0 is CLOCK_REALTIME
		0x75, 0x07, // jnz to the end
		0x48, 0x81, 0x2e, // sub qword ptr [rsi], by: the second; tv_sec comes first
	}
	code = append(binary.LittleEndian.AppendUint32(code, uint32(by/time.Second)), 0xc3) // ret
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	must(t, err)
	defer mem.Close()
	from, to := mapped(t, pid, "[vdso]")
	at := from + symbol(t, io.NewSectionReader(mem, int64(from), int64(to-from)), "__vdso_clock_gettime")
	eventually(t, soon, "no thread is in the code that is written", func() error {
		must(t, syscall.Kill(pid, syscall.SIGSTOP))
		defer syscall.Kill(pid, syscall.SIGCONT)
		if err := eachStoppedOutside(pid, from, to); err != nil {
			return err
		}
		_, err := mem.WriteAt(code, int64(at))
		return err
	})
	written := make([]byte, len(code))
	if _, err := mem.ReadAt(written, int64(at)); err != nil || !bytes.Equal(written, code) {
		t.Fatalf("the code was not written: % x, %v", written, err)
	}
}

// mapped gives the place of a mapping (proc_pid_maps(5)).
func mapped(t *testing.T, pid int, name string) (from, to uint64) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	must(t, err)
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), name) {
			_, err := fmt.Sscanf(line, "%x-%x ", &from, &to)
			must(t, err)
			return from, to
		}
	}
	t.Skipf("the process has no %s", name)
	return 0, 0
}

// symbol gives the offset of a function in a shared object.
func symbol(t *testing.T, object io.ReaderAt, name string) uint64 {
	t.Helper()
	f, err := elf.NewFile(object)
	must(t, err)
	symbols, err := f.DynamicSymbols()
	must(t, err)
	for _, s := range symbols {
		if s.Name == name {
			return s.Value
		}
	}
	t.Fatalf("no %s among %d symbols", name, len(symbols))
	return 0
}

// eachStoppedOutside objects unless every thread is stopped, and none in between
// these addresses. The last field of proc_pid_syscall(5) is where a thread is.
func eachStoppedOutside(pid int, from, to uint64) error {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(tasks) == 0 {
		return fmt.Errorf("no threads: %v", err)
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(task + "/stat")
		if err != nil {
			return err
		}
		if state := stat[bytes.LastIndexByte(stat, ')')+2]; state != 'T' {
			return fmt.Errorf("%s is not stopped but %c", task, state)
		}
		line, err := os.ReadFile(task + "/syscall")
		if err != nil {
			return err
		}
		fields := strings.Fields(string(line))
		pc, err := strconv.ParseUint(strings.TrimPrefix(fields[len(fields)-1], "0x"), 16, 64)
		if err != nil || pc >= from && pc < to {
			return fmt.Errorf("%s is at %s", task, line)
		}
	}
	return nil
}
