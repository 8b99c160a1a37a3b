package observe

import (
	"errors"

	"golang.org/x/sys/unix"
)

var errAlive = errors.New("the process still lives")

// ExitStatus tells how a process ended that is no child of ours, by the handle
// that is held on it. While it is a zombie, field 52 of proc_pid_stat(5) has
// the status; once its parent has reaped it, PIDFD_GET_INFO has it (Linux
// 6.15). Where neither says, Known is false and Message says why. The error is
// not nil only while the process still lives.
func ExitStatus(pidfd int, id Ident) (Exit, error) {
	e := exitUnknown(id)
	status, dead, err := zombieStatus(id)
	switch {
	case err != nil:
		e.Message = err.Error()
		return e, nil
	case dead:
		e.set(status)
		return e, nil
	}
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	err = unix.IoctlPidfdInfo(pidfd, &info)
	switch {
	case err == nil && info.Mask&unix.PIDFD_INFO_EXIT != 0:
		e.set(uint32(info.Exit_code))
	case Verify(id) == nil:
		return e, errAlive
	}
	return e, nil
}

// zombieStatus gives the status of a process that nobody has reaped yet.
func zombieStatus(id Ident) (status uint32, dead bool, err error) {
	if refused(id.PID) {
		return 0, false, nil
	}
	type zombie struct {
		status uint32
		dead   bool
	}
	z, err := once(func(r *reader) (zombie, error) {
		data, errno := r.read(int32(id.PID), "stat")
		if errno != 0 {
			return zombie{}, nil
		}
		st, ok := parseStat(data)
		s := sighting{state: st.state, threads: st.threads}
		if !ok || st.start != id.Start || !s.dead() {
			return zombie{}, nil
		}
		status, ok := parseExitCode(data)
		return zombie{status, ok}, nil
	})
	return z.status, z.dead, err
}

// set takes a status in the form of waitpid(2).
func (e *Exit) set(status uint32) {
	w := unix.WaitStatus(status)
	e.Known, e.Message = true, ""
	if w.Signaled() {
		e.Code, e.Signal = -1, int(w.Signal())
		return
	}
	e.Code = w.ExitStatus()
}
