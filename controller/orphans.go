package controller

import (
	"slices"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Orphans are what was handed to us and belongs to no instance that is known:
// several could have been its origin. They are shown, and at the end they are
// stopped like a workload, under the key that no manifest can have.

// orphans gives those that are proven to be ours as the members of an instance
// without a name, or nil if there are none.
func orphans(s *observe.Snapshot) *observe.Instance {
	var ours []*observe.Process
	for _, p := range s.Unattributed {
		if p.Verdict == observe.Ours {
			ours = append(ours, p)
		}
	}
	if ours == nil {
		return nil
	}
	return &observe.Instance{Members: ours}
}

// doomed gives the orphans that are to go with the controller: none as long as
// a Keep workload is there, of which they may be a part, and which is to stay.
func doomed(w *World) *observe.Instance {
	if w.Shutdown == NotShuttingDown || !w.Down && slices.ContainsFunc(w.Observed.Instances, isKept) {
		return nil
	}
	return orphans(&w.Observed)
}

func isKept(in *observe.Instance) bool { return in.OnExit == spec.ExitKeep }

// stopOrphans takes the next step of their stop.
func (p *planner) stopOrphans() {
	in := doomed(p.w)
	if in == nil {
		return
	}
	s := situation{instances: []*observe.Instance{in}, history: p.w.History.Of(spec.Key{})}
	if p.w.Shutdown == ShutdownNow {
		p.killInstance(&s, in, spec.ReasonShutdown)
		return
	}
	p.stopInstance(&s, in, spec.ReasonShutdown)
}

// workload names a key in the log.
func workload(k spec.Key) string {
	if k == (spec.Key{}) {
		return "(orphans)"
	}
	return k.String()
}
