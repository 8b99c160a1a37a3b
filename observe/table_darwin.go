package observe

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

// table is the process table of macOS, read through sysctl(3). One call gives
// all processes; the environment takes one call for each of the user's own.
type table struct {
	uid  uint32
	rows []sighting
}

func openTable(o ScannerOptions) (*table, error) {
	return &table{uid: uint32(o.UID)}, nil
}

func (t *table) close() error { return nil }

// failure is none: what could not be read has been told by refresh.
func (t *table) failure() error { return nil }

// blocked is empty: sysctl(3) does not wait for other processes.
func (t *table) blocked() []int { return nil }

// refresh reads all processes, whatever the policy: the environment again only
// of those that are new, young, or asked for.
func (t *table) refresh(ctx context.Context, p *policy) (bool, error) {
	procs, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return false, fmt.Errorf("cannot list the process table: %w", err)
	}
	rows := make([]sighting, 0, len(procs))
	for i := range procs {
		if err := ctx.Err(); err != nil {
			return false, fmt.Errorf("cannot read the process table in time: %w", err)
		}
		s := fromKinfo(&procs[i])
		if at := find(t.rows, int32(s.PID)); at >= 0 && t.rows[at].Ident == s.Ident {
			known := &t.rows[at]
			s.detail, s.memory, s.environ, s.settled = known.detail, known.memory, known.environ, known.settled
			if p.of(known) == readWhole {
				t.seeEnviron(&s, &procs[i])
			}
		} else {
			t.seeEnviron(&s, &procs[i])
		}
		rows = append(rows, s)
	}
	slices.SortFunc(rows, func(a, b sighting) int { return a.PID - b.PID })
	t.rows = rows
	return true, nil
}

// describe notes what is known of a process that a witness has connected with
// us.
func (t *table) describe(s *sighting) bool {
	kp, err := unix.SysctlKinfoProc("kern.proc.pid", s.PID)
	if err != nil || fromKinfo(kp).Ident != s.Ident {
		return false
	}
	s.detail = detailOf(kp, *s.markers())
	return true
}

func (t *table) seeEnviron(s *sighting, kp *unix.KinfoProc) {
	s.settled = BootTick() >= s.Start+ticksPerSecond()
	if kp.Eproc.Ucred.Uid != t.uid && ownUID() != 0 {
		s.environ = environNotRead
		return
	}
	block, err := unix.SysctlRaw("kern.procargs2", s.PID)
	if err != nil {
		s.environ = environDenied
		return
	}
	_, environ, ok := parseProcArgs(block, binary.NativeEndian)
	switch m := spec.ParseMarkers(environ); {
	case !ok:
		s.environ = environDenied
	case len(environ) == 0:
		s.environ = environEmpty
	case equalMarkers(&m, &noMarkers):
		s.environ = environPlain
	default:
		s.environ = environMarked
		s.detail = detailOf(kp, m)
		return
	}
	s.forgetMarkers()
}

func detailOf(kp *unix.KinfoProc, m spec.Markers) *detail {
	return &detail{
		markers: m, uid: kp.Eproc.Pcred.P_ruid, euid: kp.Eproc.Ucred.Uid,
		command: unix.ByteSliceToString(kp.Proc.P_comm[:]),
	}
}

// fromKinfo takes what struct kinfo_proc of <sys/sysctl.h> has. The session is
// not in it as a number.
func fromKinfo(kp *unix.KinfoProc) sighting {
	s := sighting{
		Ident: Ident{PID: int(kp.Proc.P_pid), Start: uint64(kp.Proc.P_starttime.Sec)*1_000_000 + uint64(kp.Proc.P_starttime.Usec)},
		ppid:  kp.Eproc.Ppid, pgid: kp.Eproc.Pgid, threads: 1, state: stateLetter(kp.Proc.P_stat),
	}
	if sid, err := unix.Getsid(s.PID); err == nil {
		s.sid = int32(sid)
	}
	return s
}

func sightingsOf(pids ...int) ([]sighting, error) {
	t := &table{uid: uint32(ownUID())}
	var rows []sighting
	for _, pid := range pids {
		if refused(pid) || find(rows, int32(pid)) >= 0 {
			continue
		}
		kp, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
		if err != nil {
			continue
		}
		s := fromKinfo(kp)
		t.seeEnviron(&s, kp)
		if s.detail == nil {
			s.detail = detailOf(kp, noMarkers)
		}
		rows = append(rows, s)
	}
	slices.SortFunc(rows, func(a, b sighting) int { return a.PID - b.PID })
	return rows, nil
}

// Verify tells whether a pid still names the process with this start tick, and
// lives: nil or ErrGone.
func Verify(id Ident) error {
	if refused(id.PID) {
		return ErrGone
	}
	kp, err := unix.SysctlKinfoProc("kern.proc.pid", id.PID)
	if err != nil {
		return ErrGone
	}
	if s := fromKinfo(kp); s.Ident != id || s.dead() {
		return ErrGone
	}
	return nil
}

// IdentitySupported says whether this system lets processes be identified.
func IdentitySupported() bool { return true }
