package actuate

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// rollFrom gives the roll to go on with, and the children that only we may reap.
func rollFrom(h *Heritage) (*roll, map[int]*handle, error) {
	own := map[int]*handle{}
	if h == nil {
		r, err := newRoll()
		return r, own, err
	}
	r, err := adoptRoll(h.Roll, h.Particulars)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range r.Children() {
		own[id.PID] = nil
	}
	if !h.Guard.IsZero() {
		own[h.Guard.PID] = nil
	}
	return r, own, nil
}

// takeOver watches the children that were started before an execve(2). They are
// ours as before: the kernel kept them, and nobody else could have reaped them,
// so that a pid of the roll still names who it did. One that has ended meanwhile
// is reported like any other.
func (a *Actuator) takeOver() {
	if a.opts.Heritage == nil {
		return
	}
	for _, id := range a.reaper.roll.Children() {
		if err := a.takeOverChild(id); err != nil {
			a.log.Error(err, "cannot watch a child from before", "pid", id.PID)
			a.reaper.roll.Leave(id)
			a.reaper.disown(id.PID)
			continue
		}
		a.inherited = append(a.inherited, id)
	}
}

func (a *Actuator) takeOverChild(id observe.Ident) error {
	fd, err := openPidfd(id.PID)
	if err != nil {
		return err
	}
	start, err := startTick(id.PID) // a zombie shows it too
	if err == nil && start != id.Start {
		err = errOther
	}
	if err == nil {
		err = a.reaper.add(&handle{ident: id, fd: fd, child: true, oom: a.oomOf(id)})
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	a.reservePortsOf(id)
	return nil
}

// oomOf tells of out-of-memory kills in the cgroup that a child is in, if that
// is its own.
func (a *Actuator) oomOf(id observe.Ident) func() bool {
	p, err := observe.ReadProcess(id.PID)
	if err != nil {
		return nil
	}
	sc, ok := observe.ScopeOf(p, a.opts.Owner)
	if !ok {
		return nil
	}
	return func() bool { return a.scopes.OOMKilled(sc) }
}

// Inherited gives the children that the former image of this process has left, and
// that are watched: also one that has ended since, whose end comes through Exits.
func (a *Actuator) Inherited() []observe.Ident { return a.inherited }

// Pause stops the reaping and gives the ends that were not delivered through
// Exits. What ends from now on, the guard too, stays a zombie until Resume, or
// until the next image takes it over. Errands are ended, since the next image
// would not know of them, and none begins.
func (a *Actuator) Pause() []observe.Exit {
	a.endErrands()
	a.reaper.collecting.Lock()
	return a.exits.Rest()
}

// Resume takes a Pause back.
func (a *Actuator) Resume() {
	a.reaper.collecting.Unlock()
	a.reaper.errands.Resume()
}

// Bequeath says what the next image of this process needs to go on, and which
// descriptors must stay open for it. It comes after Pause: until then one guard may
// follow another.
func (a *Actuator) Bequeath(g *Guard) (h Heritage, keep []int) {
	r := a.reaper.roll
	h = Heritage{Roll: int(r.file.Fd()), Particulars: int(r.particulars.Fd()), Bell: -1}
	keep = []int{h.Roll, h.Particulars}
	if g != nil {
		h.Guard, h.Bell = g.current(), g.bell
		keep = append(keep, g.bell)
	}
	return h, keep
}

// heldBack are the signals that wait while one image follows another: before it
// has begun to catch them they would end it. The runtime of the new image lets
// those through, in its first moment, that mean an end (blockableSig in
// runtime/signal_unix.go), so for some milliseconds they end it after all.
var heldBack = []syscall.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGTERM, unix.SIGUSR2}

// Exec puts a program in the place of this one, with the same pid and the same
// children. It does so from the thread that forks: the parent-death signal of a
// child is sent when the thread that forked it ends, and execve(2) ends every
// thread but the one that calls it. The descriptors in keep stay open. It
// returns only if that failed; then nothing has changed.
func (a *Actuator) Exec(path string, argv, env []string, keep []int) error {
	return a.spawner.Do(func() error {
		defer setCloseOnExec(keep, unix.FD_CLOEXEC)
		setCloseOnExec(keep, 0)
		defer blockSignals(heldBack)()
		return os.NewSyscallError("execve", syscall.Exec(path, argv, env))
	})
}

func setCloseOnExec(fds []int, flag int) {
	for _, fd := range fds {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, flag)
	}
}

// WrapParcel puts content into memory that outlives an execve(2).
func WrapParcel(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("parcel", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "parcel")
	if _, err := f.Write(content); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadParcel gives the content of a parcel, and throws it away.
func ReadParcel(fd int) ([]byte, error) {
	f := os.NewFile(uintptr(fd), "parcel")
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	content := make([]byte, st.Size())
	_, err = f.ReadAt(content, 0)
	return content, err
}
