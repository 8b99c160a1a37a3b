package spec

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// problem is something wrong with the value of a field. Its place in the file
// is looked up only once there is one.
type problem struct {
	path    fieldPath
	message string
	// from are other values that it was concluded from.
	from []fieldPath
}

type checker struct{ problems []problem }

func (c *checker) failf(p fieldPath, format string, args ...any) {
	c.problems = append(c.problems, problem{path: p, message: fmt.Sprintf(format, args...)})
}

// concluded is failf for what follows from other values too. Where one of them
// was found wrong before, nothing is said.
func (c *checker) concluded(from []fieldPath, p fieldPath, format string, args ...any) {
	c.problems = append(c.problems, problem{p, fmt.Sprintf(format, args...), from})
}

// problemsOf validates the values of an object: everything beyond the form,
// which the walk has checked.
func problemsOf(o *Object) []problem {
	var c checker
	c.header(o)
	c.metadata(&o.Metadata)
	c.command(&o.Spec)
	c.user(o.Spec.User)
	c.environment(&o.Spec)
	c.ports(&o.Spec)
	c.lifecycle(&o.Spec)
	c.resources(&o.Spec)
	c.probes(&o.Spec)
	c.protocols(o)
	c.stdio(o)
	c.hooks(&o.Spec)
	c.dependencies(o)
	c.strategy(&o.Spec)
	c.exitCodes(&o.Spec)
	c.logs(&o.Spec.Logs)
	return c.problems
}

func (c *checker) header(o *Object) {
	switch {
	case o.APIVersion == "":
		c.failf(at("apiVersion"), "is missing: write %s", APIVersion)
	case o.APIVersion != APIVersion:
		c.failf(at("apiVersion"), "unknown version %q: write %s", o.APIVersion, APIVersion)
	}
	if o.Kind == "" {
		c.failf(at("kind"), "is missing: write %s or %s", KindAgent, KindMCPServer)
	}
}

func (c *checker) metadata(m *Metadata) {
	if m.Name == "" {
		c.failf(at("metadata", "name"), "is missing")
	} else if why := checkDNSLabel(m.Name); why != "" {
		c.failf(at("metadata", "name"), "%q %s", shorten(m.Name), why)
	}
	for k, v := range m.Labels {
		if why := checkLabelKey(k); why != "" {
			c.failf(at("metadata", "labels", k), "the key %s", why)
		}
		if why := checkLabelValue(v); why != "" {
			c.failf(at("metadata", "labels", k), "%q %s", shorten(v), why)
		}
	}
	size := 0
	for k, v := range m.Annotations {
		size += len(k) + len(v)
		if why := checkLabelKey(strings.ToLower(k)); why != "" {
			c.failf(at("metadata", "annotations", k), "the key %s", why)
		}
	}
	if size > maxAnnotations {
		c.failf(at("metadata", "annotations"), "are larger than %d KiB together", maxAnnotations>>10)
	}
}

func (c *checker) command(s *Spec) {
	switch {
	case len(s.Command) == 0:
		c.failf(at("spec", "command"), "is missing: write the program and its arguments as a list")
	case s.Command[0] == "":
		c.failf(at("spec", "command", 0), "the program must not be empty")
	}
	c.arguments(s.Command, at("spec", "command"))
	c.arguments(s.Args, at("spec", "args"))
	c.path(s.WorkingDir, "spec", "workingDir")
}

func (c *checker) arguments(args []string, where fieldPath) {
	for i, a := range args {
		if len(a)+1 > MaxEnvString {
			c.failf(where.under(i), "is longer than the %d KiB that the kernel takes", MaxEnvString>>10)
		}
	}
}

// path checks what ResolvePath would refuse.
func (c *checker) path(p string, where ...any) { c.pathAt(p, at(where...)) }

func (c *checker) pathAt(p string, where fieldPath) {
	if strings.HasPrefix(p, "~") && p != "~" && !strings.HasPrefix(p, "~/") {
		c.failf(where, "%q: only ~/ is the home directory; write another user's in full", p)
	}
}

func (c *checker) ports(s *Spec) {
	if len(s.Ports) > maxPorts {
		c.failf(at("spec", "ports"), "has %d ports, and may have %d", len(s.Ports), maxPorts)
		return
	}
	for i, p := range s.Ports {
		if p.Port < 0 || p.Port > math.MaxUint16 {
			c.failf(at("spec", "ports", i, "port"), "%d is no port: 0 to 65535", p.Port)
		}
		if p.Name != "" {
			if why := checkPortName(p.Name); why != "" {
				c.failf(at("spec", "ports", i, "name"), "%q %s", shorten(p.Name), why)
			}
		}
		c.portTwin(s.Ports[:i], i, p)
		if p.Port > 0 && *s.Replicas > 1 {
			c.failf(at("spec", "ports", i, "port"), "%d replicas cannot share the fixed port %d: write 0", *s.Replicas, p.Port)
		}
	}
}

func (c *checker) portTwin(before []Port, i int, p Port) {
	if j := slices.IndexFunc(before, func(q Port) bool { return q.Name == p.Name }); j >= 0 {
		if p.Name == "" {
			c.failf(at("spec", "ports", i), "needs a name: ports[%d] has none either", j)
		} else {
			c.failf(at("spec", "ports", i, "name"), "ports[%d] is named %s too", j, p.Name)
		}
	}
	if j := slices.IndexFunc(before, func(q Port) bool { return q.Port == p.Port }); j >= 0 && p.Port != 0 {
		c.failf(at("spec", "ports", i, "port"), "ports[%d] is %d too", j, p.Port)
	}
}

func (c *checker) lifecycle(s *Spec) {
	if *s.Replicas < 0 {
		c.failf(at("spec", "replicas"), "must not be negative")
	}
	b := &s.Backoff
	for _, f := range []struct {
		name string
		d    Duration
	}{{"initial", b.Initial}, {"max", b.Max}, {"resetAfter", b.ResetAfter}} {
		if f.d < 0 {
			c.failf(at("spec", "backoff", f.name), "must not be negative")
		}
	}
	if b.Max < b.Initial {
		c.failf(at("spec", "backoff", "max"), "%v is less than initial, %v", b.Max, b.Initial)
	}
	if b.Factor < 1 {
		c.failf(at("spec", "backoff", "factor"), "must be at least 1")
	}
	if n, ok := SignalNumber(s.StopSignal); !ok {
		c.failf(at("spec", "stopSignal"), "unknown signal %q%s", s.StopSignal, didYouMean(s.StopSignal, signalNames[1:]))
	} else if n == sigStop {
		c.failf(at("spec", "stopSignal"), "SIGSTOP does not end a process")
	}
	if g := *s.TerminationGracePeriodSeconds; g < 0 || g > maxGraceSeconds {
		c.failf(at("spec", "terminationGracePeriodSeconds"), "must be 0 to %d (a year)", maxGraceSeconds)
	}
}

const sigStop = 19

func (c *checker) resources(s *Spec) {
	l := &s.Resources.Limits
	if _, ok := l.MemoryBytes(); l.Memory != "" && !ok {
		c.failf(at("spec", "resources", "limits", "memory"), "%q is no amount of memory: write 512Mi or 1Gi", l.Memory)
	}
	if _, ok := l.CPUMillis(); l.CPU != "" && !ok {
		c.failf(at("spec", "resources", "limits", "cpu"), "%q is no number of cores: write 1.5 or 500m", l.CPU)
	}
	if l.PIDs != nil && *l.PIDs <= 0 {
		c.failf(at("spec", "resources", "limits", "pids"), "must be at least 1")
	}
	if s.Scope == ScopeOff && *l != (Limits{}) {
		c.failf(at("spec", "resources"), "limits need a scope: write scope: %s or %s, or leave the limits out", ScopeAuto, ScopeRequired)
	}
}
