package controller

import (
	"fmt"

	"github.com/proc-controller/proc-controller/spec"
)

// verified is what the first instance that has said who it is has said.
func (s *situation) verified() (*spec.ServerInfo, *spec.CardInfo) {
	for _, in := range s.instances {
		if st := s.history.probe(in.ID, Verification); st != nil && st.Passed {
			return st.Answer.Server, st.Answer.Card
		}
	}
	return nil, nil
}

// verification says whether a workload has spoken its protocol. One that has
// none has no such condition.
func verification(s *situation) (t spec.ConditionType, v spec.ConditionStatus, r spec.Reason, message string) {
	if s.entry == nil || s.entry.Object == nil || s.entry.Object.Spec.MCP == nil && s.entry.Object.Spec.A2A == nil {
		return "", "", "", ""
	}
	message = "it has not been asked yet"
	for _, in := range s.instances {
		st := s.history.probe(in.ID, Verification)
		switch {
		case st == nil:
		case st.Passed && st.Answer.Unauthorized:
			return spec.CondVerified, spec.Unknown, spec.ReasonUnauthorized, "it answers, and wants credentials"
		case st.Passed:
			return spec.CondVerified, spec.True, spec.ReasonVerified, ""
		case st.Message != "":
			message = st.Message
		}
	}
	return spec.CondVerified, spec.False, spec.ReasonProbing, message
}

// warnings are what a person should mend although the workload runs.
func (s *situation) warnings(w *World) (all []spec.Warning) {
	for _, in := range s.instances {
		if report := s.history.bridge(in.ID); report != nil {
			for _, f := range report.Findings {
				all = append(all, spec.Warning{Reason: spec.ReasonServerFinding, Message: f})
			}
		}
		for _, p := range in.Ports {
			l := w.Observed.Listeners[p.Port]
			if !held(l, in) {
				continue
			}
			if l.Exposed() {
				all = append(all, spec.Warning{Reason: spec.ReasonBeyondLoopback, Message: fmt.Sprintf(
					"port %d can be reached from other machines: it listens on %s, not on 127.0.0.1 alone", p.Port, l.Addr)})
			}
		}
	}
	return all
}
