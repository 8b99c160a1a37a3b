package spec

import (
	"path"
	"strings"
)

func (c *checker) environment(s *Spec) {
	if len(s.Env) > maxEnv {
		c.failf(at("spec", "env"), "has %d variables, and may have %d: use a file", len(s.Env), maxEnv)
	}
	if len(s.EnvFrom) > maxEnvFrom {
		c.failf(at("spec", "envFrom"), "has %d files, and may have %d", len(s.EnvFrom), maxEnvFrom)
	}
	for i := range s.Env {
		c.variable(&s.Env[i], i)
	}
	for i := range s.EnvFrom {
		if s.EnvFrom[i].File == nil {
			c.failf(at("spec", "envFrom", i), "file is missing: write {file: {path: …}}")
			continue
		}
		c.file(s.EnvFrom[i].File, "spec", "envFrom", i, "file", "path")
	}
	for i, glob := range s.InheritEnv {
		if _, err := path.Match(glob, ""); err != nil || glob == "" || strings.Contains(glob, "=") {
			c.failf(at("spec", "inheritEnv", i), "%q is no name or glob of a variable", glob)
		}
	}
}

func (c *checker) variable(v *EnvVar, i int) {
	if why := checkEnvName(v.Name); why != "" {
		c.failf(at("spec", "env", i, "name"), "%s", why)
	}
	if len(v.Name)+len("=")+len(v.Value)+1 > MaxEnvString {
		c.failf(at("spec", "env", i, "value"), "the variable is longer than the %d KiB that the kernel takes", MaxEnvString>>10)
	}
	switch {
	case v.ValueFrom == nil:
	case v.Value != "":
		c.failf(at("spec", "env", i), "has both value and valueFrom: leave one out")
	case v.ValueFrom.File == nil:
		c.failf(at("spec", "env", i, "valueFrom"), "file is missing: write {file: {path: …}}")
	default:
		c.file(v.ValueFrom.File, "spec", "env", i, "valueFrom", "file", "path")
	}
}

func (c *checker) file(f *FileSource, where ...any) {
	if f.Path == "" {
		c.failf(at(where...), "must not be empty")
		return
	}
	c.path(f.Path, where...)
}

// checkEnvName says why the user may not set a variable of this name, or "".
func checkEnvName(name string) string {
	switch {
	case name == "":
		return "the name must not be empty"
	case strings.ContainsAny(name, "=\x00"):
		return "the name must not have '=' or NUL in it"
	case isMarkerName(name):
		return name + " is set by the controller: use another name"
	}
	return ""
}
