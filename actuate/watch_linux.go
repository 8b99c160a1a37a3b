package actuate

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// Watch begins to watch a process that is no child of ours: a handle is opened,
// then /proc must show the start tick under that pid, then the handle must be
// alive. From then on the handle is held, and its end comes through Exits. To
// watch twice is to watch once. ErrGone says that the process is gone, or that
// its pid belongs to another one.
func (a *Actuator) Watch(id observe.Ident) error {
	if err := refuse(id.PID); err != nil {
		return err
	}
	if a.reaper.lookup(id) != nil {
		a.reservePortsOf(id)
		return nil
	}
	fd, err := openPidfd(id.PID)
	if err != nil {
		return err
	}
	if err := sameProcess(fd, id); err != nil {
		unix.Close(fd)
		if errors.Is(err, errOther) {
			return ErrGone
		}
		return err
	}
	if err := a.reaper.add(&handle{ident: id, fd: fd, oom: a.oomOf(id)}); err != nil {
		unix.Close(fd)
		return err
	}
	a.reservePortsOf(id)
	return nil
}

// reservePortsOf reserves the ports that an adopted process says it has, so that
// none of them is handed out to another workload.
func (a *Actuator) reservePortsOf(id observe.Ident) {
	p, err := observe.ReadProcess(id.PID)
	if err != nil || p.Ident != id || p.Markers.Owner != a.opts.Owner {
		return
	}
	a.ports.Adopt(p.Markers.Instance.Token(), p.Markers.Ports)
}
