package controller

import (
	"fmt"
	"slices"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// watchPorts has the ports that a live instance needs looked at until it listens
// on each of them.
func (p *planner) watchPorts(s *situation, in *observe.Instance) {
	var failed time.Time
	if st := s.history.probe(in.ID, Readiness); st != nil {
		if st.Verdict != Passing {
			return // its answer is waited for first
		}
		failed = st.FailedAt
	}
	for _, named := range neededPorts(&s.entry.Object.Spec, in) {
		port := named.Port
		l := p.w.Observed.Listeners[port]
		mine := held(l, in)
		if mine && !l.At.Before(failed) {
			continue
		}
		if !mine && l.Listening && p.w.Observed.Began.Before(l.At) {
			p.look = true // by a member, perhaps, that is newer than the last scan
		}
		p.listener(port, p.w.Now.Sub(in.StartedAt))
	}
}

// held says that a port is listened on by a process of the instance.
func held(l observe.Listener, in *observe.Instance) bool {
	if !l.Listening {
		return false
	}
	for _, id := range l.Holders {
		if in.Main != nil && in.Main.Ident == id {
			return true
		}
		if slices.ContainsFunc(in.Members, func(m *observe.Process) bool { return m.Ident == id }) {
			return true
		}
	}
	return false
}

// portsHeld says that a fixed port which the workload wants is not free, or not
// yet known to be. A verified stray of ours is stopped; anybody else is named.
func (p *planner) portsHeld(s *situation) bool {
	for i := range s.entry.Object.Spec.Ports {
		port := uint16(s.entry.Object.Spec.Ports[i].Port)
		if port == 0 {
			continue
		}
		l, fresh := p.listener(port, p.portWait(s))
		if !fresh {
			p.why(s.key, Reason{Reason: spec.ReasonChecking, Detail: fmt.Sprintf("looking who listens on port %d", port)})
			return true
		}
		if l.Listening {
			p.portHeld(s, l)
			return true
		}
	}
	return false
}

// portWait is how long the workload has been waiting for its port.
func (p *planner) portWait(s *situation) time.Duration {
	if s.history == nil || s.history.CrashedAt.IsZero() {
		return 4 * time.Second
	}
	return p.w.Now.Sub(s.history.CrashedAt)
}

func (p *planner) portHeld(s *situation, l observe.Listener) {
	holder := holderText(l)
	reason := spec.ReasonPortHeld
	if in := p.holder(l); in != nil {
		holder = fmt.Sprintf("%s (%s)", holder, in.Key)
		if !in.Live() || p.w.History.Of(in.Key).stop(in.ID) != nil {
			reason = spec.ReasonPortStray // the rows of its own key stop it
		}
	}
	p.why(s.key, Reason{Reason: reason, Detail: fmt.Sprintf("port %d (%s) is held by %s", l.Port, l.Addr, holder)})
}

// holderText names who listens on a port, as far as that can be told.
func holderText(l observe.Listener) string {
	if len(l.Holders) == 0 {
		return "a process of user " + l.User
	}
	return fmt.Sprintf("pid %d (%s, user %s)", l.Holders[0].PID, l.Command, l.User)
}

// holder finds the instance of ours that holds a port.
func (p *planner) holder(l observe.Listener) *observe.Instance {
	for _, in := range p.w.Observed.Instances {
		if held(l, in) {
			return in
		}
	}
	return nil
}
