package actuate

import (
	"os"

	"golang.org/x/sys/unix"
)

// startTick reads when a process was started, in microseconds since the epoch
// (sysctl kern.proc.pid, p_starttime).
func startTick(pid int) (uint64, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, os.NewSyscallError("sysctl kern.proc.pid", err)
	}
	t := info.Proc.P_starttime
	return uint64(t.Sec)*1e6 + uint64(t.Usec), nil
}
