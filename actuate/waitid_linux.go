package actuate

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// childInfo is the part of siginfo_t (sigaction(2)) that waitid(2) fills in.
type childInfo struct {
	pid    int
	status int
	code   int32
}

// Values of si_code for SIGCHLD (sigaction(2)).
const (
	cldExited = 1
	cldKilled = 2
	cldDumped = 3
)

// siginfoChild lies over unix.Siginfo, which names only the first three fields.
// The union behind them is aligned like a pointer.
type siginfoChild struct {
	_      [3]int32
	_      [(unsafe.Sizeof(uintptr(0)) - 4) / 4]int32
	pid    int32
	_      uint32 // uid
	status int32
}

// waitid asks without waiting. pid is 0 where nothing has ended yet. The error
// is ECHILD for what is no child of ours, or was reaped already.
func waitid(idType, id, options int) (childInfo, error) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(idType, id, &info, unix.WEXITED|unix.WNOHANG|options, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return childInfo{}, err
		}
		c := (*siginfoChild)(unsafe.Pointer(&info))
		return childInfo{pid: int(c.pid), status: int(c.status), code: info.Code}, nil
	}
}

// exitStatus splits what waitid reported: code is -1 where a signal ended the
// process, signal 0 where it exited.
func (c childInfo) exitStatus() (code, signal int) {
	if c.code == cldExited {
		return c.status, 0
	}
	return -1, c.status
}
