package observe

import "github.com/proc-controller/proc-controller/spec"

// how is how much of a process is read.
type how uint8

const (
	readNothing how = iota // it is known to be the same as long as it is listed
	readCheck              // only whether it is still the same
	readState              // and what of it changes: proc_pid_stat(5)
	readWhole              // and its environment
	skipEnviron            // as readWhole, but the environment blocks
)

// policy is how much one scan reads again of what is known.
type policy struct {
	depth Depth
	self  int32
	known []Witness
	// ended are the instances that have no main process any more. What is left
	// of them is looked at by every scan: it must be seen to go.
	ended map[spec.Instance]bool
}

func (p *policy) end(id spec.Instance) {
	if p.ended == nil {
		p.ended = make(map[spec.Instance]bool)
	}
	p.ended[id] = true
}

// of tells how a known process is looked at again. Nothing at all is read where
// it says readCheck and the scan is a mere Look.
func (p *policy) of(s *sighting) how {
	switch {
	case p.depth == Full:
		return readWhole
	case p.isHandled(s):
		return readNothing
	case !s.settled:
		return readWhole
	case !s.related():
		return readCheck
	case p.depth == Resync && s.environ == environDenied:
		return readWhole
	case s.memory == nil:
		return p.atResync()
	case p.ended[s.memory.prior]:
		return readState
	case s.memory.shown.Role != Main:
		return p.atResync()
	}
	return readState
}

// isHandled says that a process is a main process of ours that we have spawned
// ourselves: it is reaped when its handle tells of its end, and so it is there,
// and alive, as long as it is listed.
func (p *policy) isHandled(s *sighting) bool {
	return s.memory != nil && s.memory.shown.Role == Main && s.memory.basis&byHandle != 0 &&
		s.ppid == p.self && !p.ended[s.memory.prior]
}

func (p *policy) atResync() how {
	if p.depth == Resync {
		return readState
	}
	return readCheck
}
