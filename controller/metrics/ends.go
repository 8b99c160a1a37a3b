package metrics

import "github.com/proc-controller/proc-controller/spec"

// ends is what is kept of a workload to tell what a start is in the place of.
type ends struct {
	// over are the runs that ended and that nothing has taken the place of yet,
	// by how they ended, the oldest first.
	over []spec.Reason
	// stops are why instances are being stopped.
	stops map[spec.Instance]spec.Reason
	// besides are the tokens of starts beside the run that they are to replace;
	// replaced counts the runs whose place was taken before they ended.
	besides  map[string]bool
	replaced int
}

// maxOver bounds what is kept of runs that ended, as replicas do at one time.
const maxOver = 100

func newEnds() *ends {
	return &ends{stops: map[spec.Instance]spec.Reason{}, besides: map[string]bool{}}
}

func (n *ends) beside(token string) { n.besides[token] = true }

func (n *ends) failed(token string) { delete(n.besides, token) }

func (n *ends) stopping(id spec.Instance, why spec.Reason) {
	if _, known := n.stops[id]; !known { // the first says why, later ones only how
		n.stops[id] = why
	}
}

// exited takes the end of a run. One that was stopped ended for the reason of the
// stop.
func (n *ends) exited(id spec.Instance, how spec.Reason) {
	if why, stopped := n.stops[id]; stopped && how == spec.ReasonStopped {
		how = why
	}
	switch {
	case n.replaced > 0 && how == spec.ReasonSpecChanged:
		n.replaced--
	case forGood[how]:
	case len(n.over) < maxOver:
		n.over = append(n.over, how)
	}
}

// forGood are the reasons for which a run ends and is not to be taken the place of:
// what starts later starts for a reason of its own.
var forGood = map[spec.Reason]bool{
	spec.ReasonNotWanted: true, spec.ReasonSuspended: true, spec.ReasonScaledDown: true, spec.ReasonTwin: true,
	spec.ReasonShutdown: true, spec.ReasonReaped: true, spec.ReasonDeadlineExceeded: true,
}

// started takes a start, and says how the run ended in whose place it is; empty
// where there was none.
func (n *ends) started(token string) spec.Reason {
	if n.besides[token] {
		delete(n.besides, token)
		n.replaced++
		return spec.ReasonSpecChanged
	}
	if len(n.over) == 0 {
		return ""
	}
	how := n.over[0]
	n.over = n.over[1:]
	return how
}
