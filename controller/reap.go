package controller

import (
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Reap says what a controller clears up that wants nothing: it stops, by the
// same rules and with the same proofs as any other, what a dead controller of
// the same owner has left, and ends when nothing of it is there any more.
type Reap struct {
	// Keep has everything stopped, also what is to outlive its controller.
	// Without it only what says that it is to stop, does.
	Keep bool
	// Grace is the time between the stop signal and SIGKILL; nil is that of each
	// workload, as far as the ledger knows it, else the default.
	Grace *time.Duration
}

// Takes says whether an instance is one that is stopped.
func (r *Reap) Takes(in *observe.Instance) bool { return r.Keep || in.OnExit == spec.ExitStop }

// stays says that an instance is left running when the controller ends. A stop
// that has begun goes on.
func (w *World) stays(in *observe.Instance) bool {
	switch {
	case w.History.Of(in.Key).stop(in.ID) != nil:
		return false
	case w.Reap != nil:
		return !w.Reap.Takes(in)
	case w.Down:
		return false
	}
	return in.OnExit == spec.ExitKeep
}

// stopPolicy is how an instance is stopped.
func (p *planner) stopPolicy(s *situation, in *observe.Instance) StopPolicy {
	policy := s.stopPolicy(in)
	if p.w.Reap != nil && p.w.Reap.Grace != nil {
		policy.Grace = *p.w.Reap.Grace
	}
	return policy
}

// clearUp sets the loop on its way out before it begins. No manifest was read,
// so nothing is believed to be unwanted for good, and no history is forgotten.
func (l *loop) clearUp() {
	l.world.Desired = spec.Set{Complete: true, Doubts: []spec.Doubt{{All: true, Message: "not read"}}}
	l.shutDown(ShutdownGraceful)
}

// noSource never has anything to say.
type noSource struct{}

// Sets gives a channel on which nothing comes.
func (noSource) Sets() <-chan *spec.Set { return nil }

// StopPolicyOf is how an instance is stopped where no manifest says so: as was
// noted when it was started, else by the defaults.
func (h History) StopPolicyOf(in *observe.Instance) StopPolicy {
	s := situation{key: in.Key, history: h.Of(in.Key)}
	return s.stopPolicy(in)
}
