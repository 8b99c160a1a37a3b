package observe

import "errors"

// ReadProcess reads one process, without a verdict on it. It fails with ErrGone
// where there is none with that pid, and with ErrStuck where the kernel does
// not answer. Markers are empty where the environment cannot be read; Evidence
// says so.
func ReadProcess(pid int) (*Process, error) {
	rows, err := sightingsOf(pid)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, ErrGone
	}
	f := finding{verdict: CannotTell}
	if !rows[0].environ.readable() {
		f.basis = unreadable
	}
	p := f.process(&rows[0])
	p.Key, _ = p.Markers.Key()
	p.Evidence = f.basis.evidence(&rows[0], identity{}, nil)
	return &p, nil
}

// Ended says that nothing of the process with this pid runs any more. It is false
// where that cannot be told, as for pid 0.
func Ended(pid int) bool {
	if pid <= 0 {
		return false
	}
	p, err := ReadProcess(pid)
	return errors.Is(err, ErrGone) || err == nil && p.Dead()
}
