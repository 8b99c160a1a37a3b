package spec

import "time"

// defaultObject is what a manifest is decoded over, so that a field which is
// not written keeps its default and one which is written as zero does not.
// It is built anew each time: decoding writes into its slices and pointers.
func defaultObject() *Object {
	return &Object{Spec: Defaulted(Spec{})}
}

// Defaulted fills in the default of every field that has its zero value, for
// specs that are built in Go. What Decode returns has been filled in already.
//
// A Backoff is filled in only where all of it is zero, since zero is a sound
// value for an initial delay; an InheritEnv only where it is nil, since an
// empty list takes nothing. What s points to is left as it is.
func Defaulted(s Spec) Spec {
	if s.InheritEnv == nil {
		s.InheritEnv = []string{"*"}
	}
	if s.Replicas == nil {
		s.Replicas = new(int32(1))
	}
	if s.RestartPolicy == "" {
		s.RestartPolicy = RestartAlways
	}
	if s.Backoff == (Backoff{}) {
		s.Backoff = Backoff{
			Initial:    Duration(time.Second),
			Max:        Duration(5 * time.Minute),
			Factor:     2,
			ResetAfter: Duration(10 * time.Minute),
		}
	}
	if s.StopSignal == "" {
		s.StopSignal = "SIGTERM"
	}
	if s.TerminationGracePeriodSeconds == nil {
		s.TerminationGracePeriodSeconds = new(int64(10))
	}
	if s.OnControllerExit == "" {
		s.OnControllerExit = ExitStop
	}
	if s.KillMode == "" {
		s.KillMode = KillTree
	}
	if s.Scope == "" {
		s.Scope = ScopeAuto
	}
	s.defaultHealth()
	return s
}

// normalize gives equal meanings one form, so that Equal and the hash see none
// of the ways in which a manifest can be written.
func (o *Object) normalize() {
	m, s := &o.Metadata, &o.Spec
	if len(m.Labels) == 0 {
		m.Labels = nil
	}
	if len(m.Annotations) == 0 {
		m.Annotations = nil
	}
	s.Args = nilIfEmpty(s.Args)
	s.Env = nilIfEmpty(s.Env)
	s.EnvFrom = nilIfEmpty(s.EnvFrom)
	s.Ports = nilIfEmpty(s.Ports)
	s.MCPServers = nilIfEmpty(s.MCPServers)
	s.SuccessExitCodes = nilIfEmpty(s.SuccessExitCodes)
	s.complete()
	if n, ok := SignalNumber(s.StopSignal); ok {
		s.StopSignal = SignalName(n)
	}
}

func nilIfEmpty[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}
