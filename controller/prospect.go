package controller

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Prospect is what a plan has in mind for one process.
type Prospect struct {
	Fate   Fate
	Reason spec.Reason
	// Detail is one line for a person: what is waited for, or why it is so.
	Detail string
	// Process is the process as the world has it; nil where it is in none of
	// its lists.
	Process *observe.Process
}

// Fate is what is to become of a process.
type Fate string

// The fates.
const (
	// FateKept runs on: it is what is wanted.
	FateKept Fate = "Kept"
	// FateStopped is being stopped, or is as soon as the plan is carried out.
	FateStopped Fate = "Stopped"
	// FateReplaced is stopped so that a newer manifest can be started.
	FateReplaced Fate = "Replaced"
	// FateWaits runs on until something is known, or a time has come.
	FateWaits Fate = "Waits"
	// FateUntouched is never signalled.
	FateUntouched Fate = "Untouched"
)

// ProspectOf says what the plan that an owner's controller has made for a world
// does with a process, and why. Where the world does not know the process, it
// says it of the instance that it is known to be part of, if there is such a
// one: it is newer than the last scan then.
func ProspectOf(owner spec.Owner, w World, p Plan, id observe.Ident, of spec.Instance) Prospect {
	if p.Blocked.Reason != "" {
		return Prospect{Fate: FateWaits, Reason: p.Blocked.Reason, Detail: p.Blocked.Detail}
	}
	for _, in := range w.Observed.Instances {
		if proc := memberOf(in, id); proc != nil {
			return prospect(&w, &p, in, proc)
		}
	}
	if proc := named(w.Observed.Others, id); proc != nil {
		return foreign(owner, proc)
	}
	if proc := named(w.Observed.Unattributed, id); proc != nil {
		return orphan(&w, proc)
	}
	for _, in := range w.Observed.Instances {
		if in.ID == of && of != "" {
			unseen := prospect(&w, &p, in, &observe.Process{Ident: id, PGID: in.LastMain.PID, Verdict: observe.Ours})
			unseen.Process = nil
			return unseen
		}
	}
	return Prospect{Fate: FateUntouched, Reason: spec.ReasonNotManaged, Detail: "no marker and no witness leads to this controller"}
}

// memberOf finds a process in an instance, or gives nil.
func memberOf(in *observe.Instance, id observe.Ident) *observe.Process {
	if in.Main != nil && in.Main.Ident == id {
		return in.Main
	}
	if m := named(in.Members, id); m != nil {
		return m
	}
	return named(in.Doubtful, id)
}

func named(ps []*observe.Process, id observe.Ident) *observe.Process {
	i := slices.IndexFunc(ps, func(p *observe.Process) bool { return p.Ident == id })
	if i < 0 {
		return nil
	}
	return ps[i]
}

// orphan is the prospect of what was left to us and belongs to no known instance.
func orphan(w *World, p *observe.Process) Prospect {
	evidence := strings.Join(p.Evidence, "; ")
	switch in := doomed(w); {
	case p.Verdict != observe.Ours:
		return Prospect{FateUntouched, spec.ReasonCannotTell, evidence, p}
	case in != nil:
		return Prospect{FateStopped, spec.ReasonShutdown, evidence, p}
	}
	return Prospect{FateWaits, spec.ReasonUnattributed, evidence + "; it ends with the controller, unless a workload with onControllerExit: Keep is left then", p}
}

// foreign is the prospect of what carries a marker and is no part of an
// instance.
func foreign(owner spec.Owner, p *observe.Process) Prospect {
	reason := spec.ReasonNotManaged
	switch {
	case p.Verdict == observe.CannotTell:
		reason = spec.ReasonCannotTell
	case p.Markers.Owner != "" && p.Markers.Owner != owner:
		reason = spec.ReasonOtherOwner
	}
	return Prospect{FateUntouched, reason, strings.Join(p.Evidence, "; "), p}
}

// prospect is that of a process which belongs to an instance.
func prospect(w *World, p *Plan, in *observe.Instance, proc *observe.Process) Prospect {
	s := &situation{in.Key, w.Desired.Lookup(in.Key), w.Observed.InstancesOf(in.Key), w.History.Of(in.Key)}
	why := p.Why[in.Key]
	detail := sentence(why, w.Now)
	if proc.Verdict != observe.Ours {
		return Prospect{FateUntouched, spec.ReasonCannotTell, strings.Join(proc.Evidence, "; "), proc}
	}
	fate, reason := ending(p, s, in)
	policy := s.stopPolicy(in)
	switch {
	case fate != "" && policy.Spares(in, proc):
		return Prospect{FateUntouched, reason, "the instance is stopped, but it left group and session, and killMode is Group", proc}
	case fate != "":
		return Prospect{fate, reason, detail, proc}
	case !in.Live() && spared(policy, in):
		return Prospect{FateUntouched, spec.ReasonMainGone, "it left group and session, and killMode is Group", proc}
	case s.outdated(in), waits(why.Reason), !in.Live():
		return Prospect{FateWaits, why.Reason, detail, proc}
	}
	return Prospect{FateKept, orRunning(""), kept(w, s), proc}
}

// ending says whether an instance is being stopped, or is by this plan.
func ending(p *Plan, s *situation, in *observe.Instance) (Fate, spec.Reason) {
	if st := s.history.stop(in.ID); st != nil {
		return fateOf(st.Reason), st.Reason
	}
	for _, a := range p.Actions {
		switch {
		case a.stops() && a.Instance.ID == in.ID:
			return fateOf(a.Reason), a.Reason
		case a.Type == Resolve && a.Key == in.Key && s.outdated(in):
			return FateReplaced, a.Reason
		}
	}
	if s.history != nil && s.history.Resolving && s.outdated(in) {
		return FateReplaced, s.replaceReason(in)
	}
	return "", ""
}

func fateOf(r spec.Reason) Fate {
	if r == spec.ReasonSpecChanged || r == spec.ReasonRestartAsked {
		return FateReplaced
	}
	return FateStopped
}

// waits says that a reason of a key keeps its instances as they are for now.
func waits(r spec.Reason) bool {
	switch r {
	case spec.ReasonAbsenceUnproven, spec.ReasonDeletionHeld, spec.ReasonInvalid, spec.ReasonDependentsFirst:
		return true
	}
	return false
}

// kept says why an instance is.
func kept(w *World, s *situation) string {
	switch {
	case w.Shutdown != NotShuttingDown:
		return "onControllerExit is Keep"
	case s.entry == nil:
		return ""
	}
	return fmt.Sprintf("it is what %s asks for", placeOf(s.entry))
}

// Prospect says what the controller does with a process, and why; see
// ProspectOf.
func (v *View) Prospect(id observe.Ident, of spec.Instance) Prospect {
	return ProspectOf(v.Owner, v.world, v.plan, id, of)
}

// Find gives the ident of a process that the view has by its pid.
func (v *View) Find(pid int) (observe.Ident, bool) {
	o := &v.world.Observed
	for _, in := range o.Instances {
		for _, ps := range [][]*observe.Process{{in.Main}, in.Members, in.Doubtful} {
			for _, p := range ps {
				if p != nil && p.PID == pid {
					return p.Ident, true
				}
			}
		}
	}
	for _, ps := range [][]*observe.Process{o.Others, o.Unattributed} {
		for _, p := range ps {
			if p.PID == pid {
				return p.Ident, true
			}
		}
	}
	return observe.Ident{}, false
}
