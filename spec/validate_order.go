package spec

// dependencies checks each reference by itself; whether it leads anywhere only
// Conflicts can tell.
func (c *checker) dependencies(o *Object) {
	s := &o.Spec
	if len(s.MCPServers) > 0 && o.Kind == KindMCPServer {
		c.failf(at("spec", "mcpServers"), "is for an Agent: write dependsOn")
	}
	if c.few(len(s.DependsOn), "dependsOn") {
		first := make(map[Key]int, len(s.DependsOn))
		for i := range s.DependsOn {
			c.dependency(o, i, first)
		}
	}
	if c.few(len(s.MCPServers), "mcpServers") {
		first := make(map[string]int, len(s.MCPServers))
		for i, r := range s.MCPServers {
			where := at("spec", "mcpServers", i, "name")
			if j, twin := first[r.Name]; !c.name(r.Name, where) {
				continue
			} else if twin {
				c.failf(where, "mcpServers[%d] is %s too", j, r.Name)
				continue
			}
			first[r.Name] = i
		}
	}
}

func (c *checker) dependency(o *Object, i int, first map[Key]int) {
	d := &o.Spec.DependsOn[i]
	where := at("spec", "dependsOn", i)
	if d.Kind == "" {
		c.failf(where.under("kind"), "is missing: write %s or %s", KindAgent, KindMCPServer)
	}
	if !c.name(d.Name, where.under("name")) || d.Kind == "" {
		return
	}
	j, twin := first[d.Key()]
	switch {
	case d.Key() == o.Key():
		c.failf(where, "%v cannot wait for itself", d.Key())
	case twin:
		c.failf(where, "dependsOn[%d] is %v too", j, d.Key())
	default:
		first[d.Key()] = i
	}
}

func (c *checker) few(n int, field string) bool {
	if n > maxDependencies {
		c.failf(at("spec", field), "has %d entries, and may have %d", n, maxDependencies)
	}
	return n <= maxDependencies
}

// name checks the name of another workload.
func (c *checker) name(name string, where fieldPath) bool {
	why := checkDNSLabel(name)
	switch {
	case name == "":
		c.failf(where, "is missing")
	case why != "":
		c.failf(where, "%q %s", shorten(name), why)
	}
	return why == ""
}

func (c *checker) strategy(s *Spec) {
	deadline := at("spec", "strategy", "progressDeadlineSeconds")
	if s.Strategy.Type != BlueGreen {
		if s.Strategy.ProgressDeadlineSeconds != 0 {
			c.concluded([]fieldPath{at("spec", "strategy", "type")}, deadline, "means something only with type: %s", BlueGreen)
		}
		return
	}
	if n := s.Strategy.ProgressDeadlineSeconds; n < 1 || n > maxProbeSeconds {
		c.failf(deadline, "must be 1 to %d", maxProbeSeconds)
	}
	if len(s.Ports) > maxPorts {
		return
	}
	for i, p := range s.Ports {
		if p.Port > 0 {
			c.failf(at("spec", "ports", i, "port"), "%s runs two at once, which cannot share the fixed port %d: write 0", BlueGreen, p.Port)
		}
	}
}

func (c *checker) hooks(s *Spec) {
	h := s.Lifecycle.PreStop
	if h == nil {
		return
	}
	where := at("spec", "lifecycle", "preStop")
	c.oneOf(where, handler{"exec", h.Exec != nil}, handler{"httpGet", h.HTTPGet != nil})
	c.exec(h.Exec, where.under("exec"))
	c.httpGet(s, h.HTTPGet, where.under("httpGet"))
}

func (c *checker) exitCodes(s *Spec) {
	where := at("spec", "successExitCodes")
	if len(s.SuccessExitCodes) > maxExitCode {
		c.failf(where, "has %d codes, and there are %d", len(s.SuccessExitCodes), maxExitCode)
		return
	}
	var first [maxExitCode + 1]int // from 1
	for i, code := range s.SuccessExitCodes {
		switch {
		case code == 0:
			c.failf(where.under(i), "0 is always success: leave it out")
		case code < 0 || code > maxExitCode:
			c.failf(where.under(i), "%d is no exit code: 1 to %d", code, maxExitCode)
		case first[code] > 0:
			c.failf(where.under(i), "successExitCodes[%d] is %d too", first[code]-1, code)
		default:
			first[code] = i + 1
		}
	}
}
