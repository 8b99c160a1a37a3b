package main

import (
	"cmp"
	"fmt"

	"github.com/proc-controller/proc-controller/spec"
)

// probes tells what the workload is asked, each in a line.
func (st *story) probes(s *sheet) {
	if st.Spec == nil {
		return
	}
	for _, p := range []struct {
		label string
		probe *spec.Probe
	}{{"Startup", st.Spec.StartupProbe}, {"Readiness", st.Spec.ReadinessProbe}, {"Liveness", st.Spec.LivenessProbe}} {
		if p.probe != nil {
			s.field(p.label, probeLine(p.probe))
		}
	}
}

// probeLine is a probe in one line: what is asked, and how often.
func probeLine(p *spec.Probe) string {
	text := fmt.Sprintf("%s every %v, within %v, fails after %d in a row", probeQuestion(p), p.Period(), p.Timeout(), p.FailureThreshold)
	if p.InitialDelaySeconds > 0 {
		text += fmt.Sprintf(", begins after %ds", p.InitialDelaySeconds)
	}
	return text
}

func probeQuestion(p *spec.Probe) string {
	switch {
	case p.Exec != nil:
		return commandLine(p.Exec.Command)
	case p.HTTPGet != nil:
		h := p.HTTPGet
		return fmt.Sprintf("%s GET %s%s", cmp.Or(string(h.Scheme), string(spec.SchemeHTTP)), onPort(h.Host, h.Port), cmp.Or(h.Path, "/"))
	case p.TCPSocket != nil:
		return "TCP connection to " + onPort(p.TCPSocket.Host, p.TCPSocket.Port)
	case p.MCP != nil:
		return "MCP"
	}
	return "A2A card"
}

// onPort names host and port; the default port is that of the workload.
func onPort(host, port string) string {
	return cmp.Or(host, "127.0.0.1") + ":" + cmp.Or(port, "its port")
}
