package spec

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

func (c *checker) probes(s *Spec) {
	c.probe(s, s.StartupProbe, at("spec", "startupProbe"))
	c.probe(s, s.ReadinessProbe, at("spec", "readinessProbe"))
	c.probe(s, s.LivenessProbe, at("spec", "livenessProbe"))
	c.once(s.StartupProbe, at("spec", "startupProbe"))
	c.once(s.LivenessProbe, at("spec", "livenessProbe"))
}

func (c *checker) probe(s *Spec, p *Probe, where fieldPath) {
	if p == nil {
		return
	}
	c.oneOf(where, handler{"exec", p.Exec != nil}, handler{"httpGet", p.HTTPGet != nil},
		handler{"tcpSocket", p.TCPSocket != nil}, handler{"mcp", p.MCP != nil}, handler{"a2a", p.A2A != nil})
	c.exec(p.Exec, where.under("exec"))
	c.httpGet(s, p.HTTPGet, where.under("httpGet"))
	if a := p.TCPSocket; a != nil {
		c.host(a.Host, where.under("tcpSocket", "host"))
		c.portOf(s, a.Port, where.under("tcpSocket", "port"))
	}
	c.endpoint(s, p.MCP.endpoint(), s.MCP.endpoint(), where.under("mcp"))
	c.stdioProbe(s, p.MCP, where.under("mcp"))
	c.endpoint(s, p.A2A.endpoint(), s.A2A.endpoint(), where.under("a2a"))
	c.timing(p, where)
}

// once checks a probe whose success is final.
func (c *checker) once(p *Probe, where fieldPath) {
	if p != nil && p.SuccessThreshold > 1 {
		c.failf(where.under("successThreshold"), "must be 1 here, as in a Pod")
	}
}

func (c *checker) timing(p *Probe, where fieldPath) {
	for _, f := range []struct {
		field       string
		n, min, max int32
	}{
		{"initialDelaySeconds", p.InitialDelaySeconds, 0, maxProbeSeconds},
		{"periodSeconds", p.PeriodSeconds, 1, maxProbeSeconds},
		{"timeoutSeconds", p.TimeoutSeconds, 1, maxProbeSeconds},
		{"successThreshold", p.SuccessThreshold, 1, maxThreshold},
		{"failureThreshold", p.FailureThreshold, 1, maxThreshold},
	} {
		if f.n < f.min || f.n > f.max {
			c.failf(where.under(f.field), "must be %d to %d", f.min, f.max)
		}
	}
	if p.PeriodSeconds > 0 && p.TimeoutSeconds > p.PeriodSeconds {
		c.concluded([]fieldPath{where.under("periodSeconds")}, where.under("timeoutSeconds"),
			"%d is longer than periodSeconds, %d", p.TimeoutSeconds, p.PeriodSeconds)
	}
}

// handler is one of several fields of which exactly one says what to do.
type handler struct {
	field string
	set   bool
}

func (c *checker) oneOf(where fieldPath, all ...handler) {
	var names, set []string
	for _, h := range all {
		names = append(names, h.field)
		if h.set {
			set = append(set, h.field)
		}
	}
	switch {
	case len(set) == 0:
		c.concluded([]fieldPath{where}, where, "says not how: write one of %s", strings.Join(names, ", "))
	case len(set) > 1:
		c.failf(where, "has %s: leave all but one out", strings.Join(set, " and "))
	}
}

func (c *checker) exec(a *ExecAction, where fieldPath) {
	if a == nil {
		return
	}
	switch where = where.under("command"); {
	case len(a.Command) == 0:
		c.failf(where, "is missing: write the program and its arguments as a list")
	case a.Command[0] == "":
		c.failf(where.under(0), "the program must not be empty")
	}
	c.arguments(a.Command, where)
}

func (c *checker) httpGet(s *Spec, a *HTTPGetAction, where fieldPath) {
	if a == nil {
		return
	}
	c.urlPath(a.Path, where.under("path"))
	c.host(a.Host, where.under("host"))
	c.portOf(s, a.Port, where.under("port"))
	where = where.under("httpHeaders")
	if len(a.HTTPHeaders) > maxHeaders {
		c.failf(where, "has %d headers, and may have %d", len(a.HTTPHeaders), maxHeaders)
		return
	}
	for i, h := range a.HTTPHeaders {
		if !isToken(h.Name) {
			c.failf(where.under(i, "name"), "%q is no name of a header", shorten(h.Name))
		}
		if strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			c.failf(where.under(i, "value"), "must be one line, without control characters")
		}
	}
}

// endpoint is where a protocol is spoken.
type endpoint struct{ port, path string }

func (m *MCP) endpoint() *endpoint {
	if m == nil {
		return nil
	}
	return &endpoint{m.Port, m.Path}
}

func (a *A2A) endpoint() *endpoint {
	if a == nil {
		return nil
	}
	return &endpoint{a.Port, a.Path}
}

// endpoint checks one; what it took from the general one is told there.
func (c *checker) endpoint(s *Spec, e, general *endpoint, where fieldPath) {
	if e == nil {
		return
	}
	if general == nil || e.port != general.port {
		c.portOf(s, e.port, where.under("port"))
	}
	if e.path != "" && (general == nil || e.path != general.path) {
		c.urlPath(e.path, where.under("path"))
	}
}

// protocols checks what a kind speaks.
func (c *checker) protocols(o *Object) {
	s := &o.Spec
	if s.MCP != nil && o.Kind == KindAgent {
		c.failf(at("spec", "mcp"), "is for an MCPServer: write a probe with mcp")
	} else {
		c.endpoint(s, s.MCP.endpoint(), nil, at("spec", "mcp"))
	}
	if s.A2A != nil && o.Kind == KindMCPServer {
		c.failf(at("spec", "a2a"), "is for an Agent: write a probe with a2a")
	} else {
		c.endpoint(s, s.A2A.endpoint(), nil, at("spec", "a2a"))
	}
}

// portOf checks the port that a probe or a protocol names.
func (c *checker) portOf(s *Spec, port string, where fieldPath) {
	var names []string
	for _, p := range s.Ports {
		names = append(names, p.Name)
	}
	if _, ok := portNumber(port); ok || slices.Contains(names, port) {
		return
	}
	from := []fieldPath{at("spec", "ports")}
	switch {
	case isWhole(port):
		c.failf(where, "%s is no port: write the name of a declared one, or 1 to 65535", shorten(port))
	case len(names) == 0 && port == "":
		c.concluded(from, where, "is missing, and spec.ports declares none: declare one, or write a number")
	case len(names) == 0:
		c.concluded(from, where, "no port is named %q: spec.ports declares none", shorten(port))
	case port == "":
		c.concluded(from, where, "is missing: write which is meant (%s)", shorten(strings.Join(names, ", ")))
	default:
		c.concluded(from, where, "no port is named %q%s (%s)", shorten(port), didYouMean(port, names), shorten(strings.Join(names, ", ")))
	}
}

func (c *checker) urlPath(p string, where fieldPath) {
	if !strings.HasPrefix(p, "/") {
		c.failf(where, "%q must begin with a slash", shorten(p))
		return
	}
	if _, err := url.Parse("http://" + localhost + p); err != nil || strings.ContainsAny(p, " #") {
		c.failf(where, "%q is no path of a URL", shorten(p))
	}
}

func (c *checker) host(h string, where fieldPath) {
	if _, err := netip.ParseAddr(h); err == nil || isHostName(h) {
		return
	}
	c.failf(where, "%q is no host: write an address or a name, without scheme, port and brackets", shorten(h))
}

func isHostName(s string) bool {
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(strings.ToLower(s), ".") {
		if checkDNSLabel(label) != "" {
			return false
		}
	}
	return true
}

// isToken tells what can be the name of a header (RFC 9110, 5.6.2).
func isToken(s string) bool {
	return s != "" && all(s, func(b byte) bool { return isAlnum(b) || strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0 })
}
