package observe

import (
	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

// target is one process that a scan reads: the row that is known, or a new one
// with pid and inode alone.
type target struct {
	row int // in the table
	how how
	was sighting
}

// sights is what a read needs to know beside the process itself.
type sights struct {
	uid        uint32
	privileged bool   // may read everybody
	now        uint64 // the boot clock, in ticks
	settle     uint64 // the age from which a process is what it will be
	leaders    *pidSet
}

// see reads one process. It says false where the process is gone.
func (r *reader) see(t *target, w *sights) (sighting, bool) {
	s, how := t.was, t.how
	s.fresh = true
	if how == readCheck || !w.privileged && how == readWhole {
		inode, uid, errno := r.inode(int32(s.PID))
		switch {
		case errno != 0:
			return s, false
		case inode != s.inode:
			s, how = sighting{Ident: Ident{PID: s.PID}, inode: inode, fresh: true}, readWhole
		case how == readCheck:
			return t.was, true
		}
		if !w.privileged && uid != w.uid {
			return r.seeForeign(&s, w)
		}
	}
	if !r.seeState(&s) {
		return r.unseen(s)
	}
	if t.was.Start != 0 && s.Ident != t.was.Ident {
		// The number has passed to another process: nothing of the old holds.
		s.detail, s.memory, how = nil, nil, readWhole
	}
	switch how {
	case skipEnviron:
		s.block()
	case readWhole:
		return s, r.seeEnviron(&s, w)
	}
	return s, true
}

// unseen is what a process is whose state could not be read. One that may not be
// read (hidepid=1 of proc(5)) is not gone: what was known of it still holds.
func (r *reader) unseen(s sighting) (sighting, bool) {
	if r.errno != unix.EACCES && r.errno != unix.EPERM {
		return s, false
	}
	if s.Start == 0 {
		s.environ, s.settled = environDenied, true
	}
	return s, true
}

// seeForeign notes another user's process: session and group, and no more
// unless they are those of a main process.
func (r *reader) seeForeign(s *sighting, w *sights) (sighting, bool) {
	pid := int32(s.PID)
	s.environ, s.settled = environNotRead, true
	s.sid, s.pgid = session(pid)
	if w.leaders.has(pid) || w.leaders.has(s.sid) || w.leaders.has(s.pgid) {
		return *s, r.seeState(s)
	}
	return *s, true
}

// seeState reads what proc_pid_stat(5) has.
func (r *reader) seeState(s *sighting) bool {
	data, errno := r.read(int32(s.PID), "stat")
	if errno != 0 {
		return false
	}
	st, ok := parseStat(data)
	if !ok || int(st.pid) != s.PID {
		return false
	}
	s.Start, s.state, s.threads = st.start, st.state, st.threads
	s.ppid, s.pgid, s.sid = st.ppid, st.pgid, st.sid
	s.manager = string(statComm(data)) == "systemd"
	return true
}

// seeEnviron reads the environment, and the rest of those that it marks.
func (r *reader) seeEnviron(s *sighting, w *sights) bool {
	data, errno := r.read(int32(s.PID), "environ")
	s.bare = errno == 0 && len(data) < bareEnviron
	s.settled = w.now >= s.Start+w.settle
	switch {
	case errno == unix.ENOENT:
		return false
	case errno == unix.ESRCH:
		// Without memory: a kernel thread, or a zombie.
		s.environ = environEmpty
		s.bare = false
		return s.forgetMarkers()
	case errno != 0:
		s.environ = environDenied
		return true
	case len(data) == 0:
		s.environ = environEmpty
		return s.forgetMarkers()
	}
	m := spec.ParseMarkers(data)
	if equalMarkers(&m, &noMarkers) {
		s.environ = environPlain
		return s.forgetMarkers()
	}
	s.environ = environMarked
	return r.describe(s, m)
}

// bareEnviron is the size below which an environment may have been cleared.
const bareEnviron = 1024

// describe fills in the detail of a process. What an earlier scan has found
// stays, if the markers and the effective user are still the same.
func (r *reader) describe(s *sighting, m spec.Markers) bool {
	pid := int32(s.PID)
	if old := s.detail; old != nil && equalMarkers(&old.markers, &m) {
		if _, uid, errno := r.inode(pid); errno == 0 && uid == old.euid {
			return true
		}
	}
	data, errno := r.read(pid, "status")
	if errno != 0 {
		return false
	}
	st, ok := parseStatus(data)
	if !ok || int(st.tgid) != s.PID {
		return false // a thread; its process stands for it
	}
	d := &detail{markers: m, uid: st.uid, euid: st.euid, nested: st.nested}
	if d.uid == 0 && d.euid == 0 {
		// Of root alone. Others' programs count as secure for capabilities of
		// their file too, which give nobody another's uid.
		data, errno = r.read(pid, "auxv")
		d.setID = errno == 0 && parseSecure(data) || errno != 0 && errno != unix.ENOENT
	}
	if data, errno = r.read(pid, "stat"); errno == 0 {
		d.command = string(statComm(data))
	}
	if data, errno = r.read(pid, "cgroup"); errno == 0 {
		d.cgroup = parseCgroup(data)
		d.scope, d.scopeOf, _ = scopeOf(d.cgroup)
	}
	s.detail = d
	return true
}
