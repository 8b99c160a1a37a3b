package spec

import (
	"cmp"
	"errors"

	kjson "sigs.k8s.io/json"
)

// What a probe has where nothing is written, in seconds and attempts. A Pod has
// the same; speaking a protocol is given the time that its clients give it.
const (
	probePeriod          = 10
	probeTimeout         = 1
	probeProtocolTimeout = 10
	probeSuccesses       = 1
	probeFailures        = 3
	startupFailures      = 60 // implied
)

// strategyDeadline is how many seconds a new instance has to be ready in.
const strategyDeadline = 60

// localhost is what probes and hooks connect to.
const localhost = "127.0.0.1"

// UnmarshalJSON fills in the numbers that are not written, so that a zero which
// is written stays one, to be found wrong. Once here that could not be told any
// more. What else is left out follows from the rest of the spec: see complete.
func (p *Probe) UnmarshalJSON(data []byte) error {
	type plain Probe // without this method
	*p = Probe{PeriodSeconds: probePeriod, SuccessThreshold: probeSuccesses, FailureThreshold: probeFailures}
	read := struct {
		*plain
		TimeoutSeconds *int32 `json:"timeoutSeconds"`
	}{plain: (*plain)(p)}
	err := unmarshalStrict(data, &read)
	if read.TimeoutSeconds != nil {
		p.TimeoutSeconds = *read.TimeoutSeconds
	} else {
		p.TimeoutSeconds = p.defaultTimeout()
	}
	return err
}

// defaultTimeout is never longer than a period: that would be a finding about
// something that nobody wrote.
func (p *Probe) defaultTimeout() int32 {
	timeout := int32(probeTimeout)
	if p.MCP != nil || p.A2A != nil {
		timeout = probeProtocolTimeout
	}
	if p.PeriodSeconds > 0 {
		timeout = min(timeout, p.PeriodSeconds)
	}
	return timeout
}

// UnmarshalJSON fills in the deadline where it is not written and means
// something.
func (s *Strategy) UnmarshalJSON(data []byte) error {
	read := struct {
		Type                    StrategyType `json:"type"`
		ProgressDeadlineSeconds *int32       `json:"progressDeadlineSeconds"`
	}{Type: Recreate}
	err := unmarshalStrict(data, &read)
	*s = Strategy{Type: read.Type}
	switch {
	case read.ProgressDeadlineSeconds != nil:
		s.ProgressDeadlineSeconds = *read.ProgressDeadlineSeconds
	case s.Type == BlueGreen:
		s.ProgressDeadlineSeconds = strategyDeadline
	}
	return err
}

// unmarshalStrict is as strict as the decoder that it is called from.
func unmarshalStrict(data []byte, v any) error {
	strict, err := kjson.UnmarshalStrict(data, v)
	return errors.Join(append(strict, err)...)
}

// defaultHealth fills in what has its zero value, for specs that are built in
// Go. Nothing that s points to is written to: the caller has it too.
func (s *Spec) defaultHealth() {
	if s.Strategy.Type == "" {
		s.Strategy.Type = Recreate
	}
	if s.Strategy.Type == BlueGreen && s.Strategy.ProgressDeadlineSeconds == 0 {
		s.Strategy.ProgressDeadlineSeconds = strategyDeadline
	}
	for _, p := range s.probes() {
		q := **p
		q.PeriodSeconds = cmp.Or(q.PeriodSeconds, probePeriod)
		q.TimeoutSeconds = cmp.Or(q.TimeoutSeconds, q.defaultTimeout())
		q.SuccessThreshold = cmp.Or(q.SuccessThreshold, probeSuccesses)
		q.FailureThreshold = cmp.Or(q.FailureThreshold, probeFailures)
		*p = &q
	}
	s.complete()
}

// complete fills in what is left out and follows from other fields: ports,
// paths, and the probes that mcp and a2a stand for. Done twice it is the same
// as once. Nothing that s points to is written to.
func (s *Spec) complete() {
	s.implyPort()
	port := s.mainPort()
	if s.MCP != nil {
		s.MCP = s.MCP.completed(&MCP{}, port).bridged()
	}
	if s.A2A != nil {
		s.A2A = s.A2A.completed(&A2A{}, port)
	}
	s.implyProbes()
	for _, p := range s.probes() {
		q := **p
		q.HTTPGet, q.TCPSocket = q.HTTPGet.completed(port), q.TCPSocket.completed(port)
		if q.MCP != nil {
			q.MCP = q.MCP.completed(orEmpty(s.MCP), port)
		}
		if q.A2A != nil {
			q.A2A = q.A2A.completed(orEmpty(s.A2A), port)
		}
		*p = &q
	}
	if h := s.Lifecycle.PreStop; h != nil {
		s.Lifecycle.PreStop = &Hook{Exec: h.Exec, HTTPGet: h.HTTPGet.completed(port)}
	}
	s.DependsOn = append([]Dependency(nil), s.DependsOn...)
	for i := range s.DependsOn {
		d := &s.DependsOn[i]
		d.Condition, d.OnRestart = cmp.Or(d.Condition, DependencyReady), cmp.Or(d.OnRestart, OnRestartIgnore)
	}
}

// implyProbes makes a protocol that is declared the measure of health, where
// the user has set no other. Readiness goes with the first attempt that fails:
// it takes a client as long to find out. A program that is fetched at its first
// start is given ten minutes for that.
func (s *Spec) implyProbes() {
	if s.ReadinessProbe != nil || s.LivenessProbe != nil {
		return
	}
	probe := func(failures int32) *Probe {
		p := &Probe{PeriodSeconds: probePeriod, SuccessThreshold: probeSuccesses, FailureThreshold: failures}
		if s.MCP != nil {
			p.MCP = &MCP{}
		} else {
			p.A2A = &A2A{}
		}
		p.TimeoutSeconds = p.defaultTimeout()
		return p
	}
	switch {
	case s.MCP != nil:
		s.ReadinessProbe, s.LivenessProbe = probe(1), probe(probeFailures)
		if s.StartupProbe == nil {
			s.StartupProbe = probe(startupFailures)
		}
	case s.A2A != nil:
		s.ReadinessProbe = probe(1)
	}
}

// probes are the places of the probes that are set.
func (s *Spec) probes() []**Probe {
	var set []**Probe
	for _, p := range []**Probe{&s.StartupProbe, &s.ReadinessProbe, &s.LivenessProbe} {
		if *p != nil {
			set = append(set, p)
		}
	}
	return set
}

// mainPort is the name of the port that is meant where none is named: the only
// one, or http, or the one without a name.
func (s *Spec) mainPort() string {
	if len(s.Ports) == 1 {
		return s.Ports[0].Name
	}
	for _, p := range s.Ports {
		if p.Name == "http" {
			return p.Name
		}
	}
	return ""
}

// completed takes what m leaves out from general. The path of another transport
// is of no use.
func (m *MCP) completed(general *MCP, port string) *MCP {
	c := *m
	c.Transport = cmp.Or(c.Transport, general.Transport, TransportHTTP)
	c.Protocol = cmp.Or(c.Protocol, general.Protocol, ProtocolAuto)
	c.Port = cmp.Or(c.Port, general.Port, port)
	if c.Transport == general.Transport {
		c.Path = cmp.Or(c.Path, general.Path)
	}
	switch {
	case c.Path != "":
	case c.Transport == TransportSSE:
		c.Path = "/sse"
	default:
		c.Path = "/mcp"
	}
	return &c
}

func (a *A2A) completed(general *A2A, port string) *A2A {
	return &A2A{Port: cmp.Or(a.Port, general.Port, port), Path: cmp.Or(a.Path, general.Path)}
}

func (a *HTTPGetAction) completed(port string) *HTTPGetAction {
	if a == nil {
		return nil
	}
	return &HTTPGetAction{
		Path: cmp.Or(a.Path, "/"), Port: cmp.Or(a.Port, port), Host: cmp.Or(a.Host, localhost), Scheme: cmp.Or(a.Scheme, SchemeHTTP),
		HTTPHeaders: nilIfEmpty(a.HTTPHeaders),
	}
}

func (a *TCPSocketAction) completed(port string) *TCPSocketAction {
	if a == nil {
		return nil
	}
	return &TCPSocketAction{Port: cmp.Or(a.Port, port), Host: cmp.Or(a.Host, localhost)}
}

func orEmpty[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}
