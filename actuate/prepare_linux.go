package actuate

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// prepare makes this process a parent whose children inherit nothing that they
// should not. It is called once per process, before the first fork, and after
// the program has looked (signal.Ignored) at what was ignored when it began.
func prepare() error {
	// What our own parent left open above stderr must not reach the children.
	// Everything that Go opens is close-on-exec by itself. Linux 5.11 has the
	// flag of close_range(2).
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		closeOnExecByList()
	}
	defaultIgnored()
	// What our children abandon comes to us and not to PID 1, which may never
	// reap: prctl(2), Linux 3.4.
	return os.NewSyscallError("prctl PR_SET_CHILD_SUBREAPER",
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}

// closeOnExecByList is for kernels without CLOSE_RANGE_CLOEXEC.
func closeOnExecByList() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// defaultIgnored sees to it that no child begins with an ignored signal. An
// ignored signal stays ignored across execve(2), while one that is caught goes
// back to its default, so each one that was ignored when we were started (nohup
// does that to SIGHUP, some supervisors to SIGPIPE) is caught from now on, and
// what is caught is thrown away: for us it is still ignored.
//
// The runtime catches nearly all signals in any case, so only the few that it
// respects, or leaves alone, are ever found here.
func defaultIgnored() {
	for _, sig := range ignoredSignals() {
		if sig == threadCancel || sig == threadSetID {
			setDefault(sig)
			continue
		}
		drain := make(chan os.Signal, 1)
		// A full channel drops: the signal is for nobody.
		signal.Notify(drain, sig)
	}
}

// The two signals that the C library keeps for itself (nptl(7)). The runtime
// does not catch them, and posix_spawn(3) of glibc starts every program with
// them ignored, so that whatever make(1) runs has them so.
const threadCancel, threadSetID = syscall.Signal(32), syscall.Signal(33)

// setDefault gives a signal that the runtime leaves alone its default disposition
// back (rt_sigaction(2)): a struct of zeros is SIG_DFL without flags or mask.
func setDefault(sig syscall.Signal) {
	var action [8]uint64
	const setSize = 8
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, setSize, 0, 0)
}

// ignoredSignals reads the dispositions from proc_pid_status(5), since
// os/signal does not know of those that the runtime never handles.
func ignoredSignals() []syscall.Signal {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		if hex, ok := strings.CutPrefix(line, "SigIgn:"); ok {
			return signalSet(strings.TrimSpace(hex))
		}
	}
	return nil
}

// signalSet takes a mask as proc_pid_status(5) prints it: bit n-1 is signal n.
func signalSet(hex string) []syscall.Signal {
	mask, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return nil
	}
	var set []syscall.Signal
	for n := 1; n <= 64; n++ {
		if mask&(1<<(n-1)) != 0 {
			set = append(set, syscall.Signal(n))
		}
	}
	return set
}
