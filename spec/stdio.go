package spec

import (
	"cmp"
	"reflect"
	"time"
)

// A stdio server is offered at a URL by a bridge, which is started in its place.
// What the bridge is told at its start is in spec.mcp.

// What holds for a stdio server where nothing is written.
const (
	defaultMaxSessions = 16
	defaultIdleTimeout = Duration(30 * time.Minute)
	stdioPortName      = "http"
)

// UnmarshalJSON keeps a zero that is written apart from nothing, as -1, so that it
// is found wrong: once the defaults are filled in that could not be told any more.
func (m *MCP) UnmarshalJSON(data []byte) error {
	type plain MCP // without this method
	*m = MCP{}
	read := struct {
		*plain
		MaxSessions *int32    `json:"maxSessions"`
		IdleTimeout *Duration `json:"idleTimeout"`
	}{plain: (*plain)(m)}
	err := unmarshalStrict(data, &read)
	if n := read.MaxSessions; n != nil {
		m.MaxSessions = cmp.Or(*n, -1)
	}
	if d := read.IdleTimeout; d != nil {
		m.IdleTimeout = cmp.Or(*d, -1)
	}
	return err
}

// implyPort declares the port of a stdio server: it knows of none itself. One that
// spec.mcp gives by number is meant to be that.
func (s *Spec) implyPort() {
	if !s.MCP.IsStdio() || len(s.Ports) > 0 {
		return
	}
	number, ok := portNumber(s.MCP.Port)
	if !ok && s.MCP.Port != "" && s.MCP.Port != stdioPortName {
		return // a finding
	}
	s.Ports = []Port{{Name: stdioPortName, Port: int32(number)}}
}

// bridged fills in what only a stdio server has.
func (m *MCP) bridged() *MCP {
	if !m.IsStdio() {
		return m
	}
	c := *m
	c.Sharing = cmp.Or(c.Sharing, SharingShared)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, defaultIdleTimeout)
	if c.Sharing == SharingPerSession {
		c.MaxSessions = cmp.Or(c.MaxSessions, defaultMaxSessions)
	}
	return &c
}

// appendStdio writes what a bridge takes in when it starts, which is all of
// spec.mcp, but for what has its default. Of other servers nothing is written: they
// take in none of it.
func appendStdio(buf []byte, s *Spec) []byte {
	if !s.MCP.IsStdio() {
		return buf
	}
	m := *s.MCP
	usual := (&MCP{Transport: TransportStdio, Sharing: m.Sharing}).completed(&MCP{}, s.mainPort()).bridged()
	usual.Transport, usual.Sharing = "", SharingShared
	set, unset := reflect.ValueOf(&m).Elem(), reflect.ValueOf(usual).Elem()
	for i := range set.NumField() {
		if f := set.Field(i); f.Equal(unset.Field(i)) {
			f.SetZero()
		}
	}
	return appendField(buf, "mcp", set)
}

// maxSessions is more processes than a machine has use for.
const maxSessions = 1000

// stdio checks what is said of a stdio server, and that nothing of it is said of
// another.
func (c *checker) stdio(o *Object) {
	s, m, where := &o.Spec, o.Spec.MCP, at("spec", "mcp")
	if m == nil || o.Kind == KindAgent {
		return
	}
	if !m.IsStdio() {
		c.onlyStdio(m, where, "is for a stdio server: write transport: stdio, or leave it out")
		return
	}
	switch {
	case m.Path == "/sse":
		c.failf(where.under("path"), "a stdio server is offered as Streamable HTTP, and clients take /sse for something else: leave it out, or write /mcp")
	case m.Path == "/healthz":
		c.failf(where.under("path"), "is where the bridge says how the server is: leave it out, or write /mcp")
	}
	c.sessions(m, where)
	c.auth(m.Auth, where.under("auth"))
	c.ownPort(s, where.under("port"))
	if s.RestartPolicy != RestartAlways {
		c.failf(at("spec", "restartPolicy"), "must be %s for a stdio server, which is started again whenever a session needs it", RestartAlways)
	}
}

// sessions checks the bounds.
func (c *checker) sessions(m *MCP, where fieldPath) {
	switch {
	case m.Sharing != SharingPerSession && m.MaxSessions != 0:
		c.concluded([]fieldPath{where.under("sharing")}, where.under("maxSessions"),
			"needs sharing: %s; with %s one process serves all sessions", SharingPerSession, SharingShared)
	case m.Sharing == SharingPerSession && (m.MaxSessions < 1 || m.MaxSessions > maxSessions):
		c.failf(where.under("maxSessions"), "must be 1 to %d", maxSessions)
	}
	if m.IdleTimeout < Duration(time.Second) {
		c.failf(where.under("idleTimeout"), "must be at least 1s: sessions that nobody uses would stay for ever, or go at once")
	}
}

func (c *checker) auth(a *MCPAuth, where fieldPath) {
	if a == nil {
		return
	}
	if a.TokenFile == "" {
		c.concluded([]fieldPath{where}, where.under("tokenFile"), "is missing: write the path of the file that holds the token")
	}
	c.pathAt(a.TokenFile, where.under("tokenFile"))
}

// ownPort checks that the port is one of its own: one that is not declared is kept
// free by nobody.
func (c *checker) ownPort(s *Spec, where fieldPath) {
	number, ok := portNumber(s.MCP.Port)
	for _, p := range s.Ports {
		ok = ok && p.Port != int32(number)
	}
	if ok {
		c.concluded([]fieldPath{at("spec", "ports")}, where, "%d is none of spec.ports: declare it there, or leave spec.ports out", number)
	}
}

// onlyStdio finds what belongs into the spec.mcp of a stdio server.
func (c *checker) onlyStdio(m *MCP, where fieldPath, why string) {
	from := []fieldPath{where.under("transport")}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"sharing", m.Sharing != ""},
		{"maxSessions", m.MaxSessions != 0},
		{"idleTimeout", m.IdleTimeout != 0},
		{"auth", m.Auth != nil},
	} {
		if f.set {
			c.concluded(from, where.under(f.name), "%s", why)
		}
	}
}

// stdioProbe checks a probe that asks the bridge.
func (c *checker) stdioProbe(s *Spec, m *MCP, where fieldPath) {
	if m == nil {
		return
	}
	c.onlyStdio(m, where, "is for spec.mcp: leave it out of the probe")
	if m.IsStdio() && !s.MCP.IsStdio() {
		c.concluded([]fieldPath{at("spec", "mcp")}, where.under("transport"), "asks the bridge of a stdio server: write transport: stdio in spec.mcp, too")
	}
}

// PortNumber gives the number of the port that the workload speaks MCP on, as one
// of its instances has it.
func (m *MCP) PortNumber(ports PortMap) (number uint16, ok bool) { return m.port(ports) }
