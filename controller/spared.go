package controller

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// dropSpared leaves out what a kill mode spares: of an instance whose main
// process has ended, members that left both its group and its session. They
// stay, are shown, and stand for nothing.
func (s *situation) dropSpared() {
	spares := func(in *observe.Instance) bool { return spared(s.stopPolicy(in), in) }
	if slices.ContainsFunc(s.instances, spares) {
		s.instances = slices.DeleteFunc(slices.Clone(s.instances), spares)
	}
}

// spared says that all that is left of an instance is spared by the kill mode.
func spared(p StopPolicy, in *observe.Instance) bool {
	if in.Live() || len(in.Members) == 0 || len(in.Doubtful) > 0 {
		return false
	}
	return !slices.ContainsFunc(in.Members, func(m *observe.Process) bool { return !p.Spares(in, m) })
}

// Spares says that the kill mode spares a member: it left both the group and the
// session of the main process. Where it is not known which those were (the state
// is lost and the main process gone) nothing is known to have left them.
func (p StopPolicy) Spares(in *observe.Instance, m *observe.Process) bool {
	return p.Mode == spec.KillGroup && !in.LastMain.IsZero() && m.PGID != in.LastMain.PID && m.SID != in.LastMain.PID
}

// sparedLast puts the instances that a kill mode spares behind the others, and
// names their processes.
func (s *situation) sparedLast() (who string) {
	spares := func(in *observe.Instance) bool { return spared(s.stopPolicy(in), in) }
	if !slices.ContainsFunc(s.instances, spares) {
		return ""
	}
	var rest, stay []*observe.Instance
	var names []string
	for _, in := range s.instances {
		if !spares(in) {
			rest = append(rest, in)
			continue
		}
		stay = append(stay, in)
		for _, m := range in.Members {
			names = append(names, fmt.Sprintf("pid %d (%s)", m.PID, m.Command))
		}
	}
	s.instances = append(rest, stay...)
	return "left alone by killMode Group: " + strings.Join(names, ", ")
}
