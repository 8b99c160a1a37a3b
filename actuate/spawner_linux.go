package actuate

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// childAttributes asks for a session of its own, the parent-death signal, a
// pidfd that is made together with the process (clone(2) CLONE_PIDFD, Linux
// 5.2) and, if wanted, for the cgroup to be cloned into (clone3(2)
// CLONE_INTO_CGROUP, Linux 5.7).
func childAttributes(l *launch, c *child) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setsid:      true,
		Credential:  l.credential,
		Pdeathsig:   l.death,
		PidFD:       &c.fd,
		UseCgroupFD: l.cgroup >= 0,
		CgroupFD:    max(l.cgroup, 0),
	}
}

// emptySignalMask lets every signal through on the calling thread, whose mask
// its children inherit (sigprocmask(2)); whoever started us may have blocked
// some. The returned function puts the old mask back.
func emptySignalMask() (restore func()) {
	return setMask(unix.Sigset_t{})
}

// blockSignals blocks exactly these signals on the calling thread.
func blockSignals(deaf []syscall.Signal) (restore func()) {
	if len(deaf) == 0 {
		return func() {}
	}
	return setMask(sigset(deaf))
}

func setMask(set unix.Sigset_t) (restore func()) {
	var old unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &set, &old); err != nil {
		return func() {}
	}
	return func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil) }
}

// sigset is a mask with these signals in it: bit n-1 is signal n.
func sigset(signals []syscall.Signal) (set unix.Sigset_t) {
	const word = 8 * int(unsafe.Sizeof(set.Val[0]))
	for _, sig := range signals {
		n := int(sig) - 1
		set.Val[n/word] |= 1 << (n % word)
	}
	return set
}

// identOf reads when a child that is not reaped yet was started.
func identOf(c child) (observe.Ident, error) {
	start, err := startTick(c.pid)
	if err != nil {
		return observe.Ident{}, err
	}
	return observe.Ident{PID: c.pid, Start: start}, nil
}

// startTick reads field 22 of proc_pid_stat(5). The name in field 2 may hold
// anything, so fields are counted from the last parenthesis.
func startTick(pid int) (uint64, error) {
	var buf [1024]byte
	b, err := readProc("/proc/"+strconv.Itoa(pid)+"/stat", buf[:])
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	const first, start = 3, 22
	if len(fields) <= start-first {
		return 0, fmt.Errorf("cannot read the start time of pid %d", pid)
	}
	return strconv.ParseUint(string(fields[start-first]), 10, 64)
}

// readProc reads a small file of proc(5), which gives all that it has to one
// read. It is on the way of every start, and costs half of what os.ReadFile does.
func readProc(path string, buf []byte) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open", err)
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, buf)
	return buf[:max(n, 0)], os.NewSyscallError("read", err)
}

// close lets go of the child; it is neither signalled nor reaped by that.
func (c child) close() {
	if c.fd >= 0 {
		unix.Close(c.fd)
	}
}
