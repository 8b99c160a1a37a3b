package spec

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// EnvInputs is what the environment of a child is made of beside its object.
type EnvInputs struct {
	// Inherit is the controller's own environment, as NAME=value.
	Inherit []string
	// Files holds the content of the files that the object names; see
	// Entry.Files.
	Files map[string][]byte
	// Dir is the absolute working directory of the child: its PWD.
	Dir     string
	Ports   PortMap
	Markers Markers
	// Account is what a user that is not the controller's brings along (HOME,
	// USER, LOGNAME, SHELL), as NAME=value. It takes the place of what is
	// inherited, and of what leads to the places of the controller's user.
	Account []string
	// MCPConfig is the path of the file that EnvMCPConfig names; empty for none.
	MCPConfig string
}

// defaultPath is what a child finds programs with where nothing says otherwise:
// the default of execvp(3) without the current directory.
const defaultPath = "/bin:/usr/bin"

// Environ builds the environment of a child, as NAME=value without duplicates,
// in an order that depends on the inputs alone. A later one of these wins over
// an earlier: what is inherited, the account, PWD, the ports and MCP_CONFIG, the
// env files, env. The markers cannot be overridden.
//
// It fails, naming the variable, for one that the kernel would not take, for a
// required file that is not in Files, and for a file that cannot be understood
// or that sets a variable of the controller's own.
func Environ(o *Object, in EnvInputs) ([]string, error) {
	e := newEnvironment(len(in.Inherit) + 16)
	e.inherit(in.Inherit, o.Spec.InheritEnv, len(in.Account) > 0)
	for _, a := range in.Account {
		name, _, _ := strings.Cut(a, "=")
		e.put(name, a)
	}
	for _, m := range in.Markers.Environ() {
		name, value, _ := strings.Cut(m, "=")
		e.set(name, value)
	}
	if in.Dir != "" {
		e.set("PWD", in.Dir)
	}
	e.ports(in.Ports, o.Spec.Ports)
	if in.MCPConfig != "" {
		e.set(EnvMCPConfig, in.MCPConfig)
	}
	for _, from := range o.Spec.EnvFrom {
		if err := e.envFile(from.File, in.Files); err != nil {
			return nil, err
		}
	}
	for i := range o.Spec.Env {
		if err := e.variable(&o.Spec.Env[i], in.Files); err != nil {
			return nil, err
		}
	}
	if _, ok := e.lookup("PATH"); !ok {
		e.set("PATH", defaultPath)
	}
	for _, entry := range e.entries {
		if err := checkSize(entry); err != nil {
			return nil, err
		}
	}
	return e.entries, nil
}

// environment is a list of NAME=value with an index by name.
type environment struct {
	entries []string
	index   map[string]int
}

func newEnvironment(size int) *environment {
	return &environment{entries: make([]string, 0, size), index: make(map[string]int, size)}
}

func (e *environment) set(name, value string) { e.put(name, name+"="+value) }

func (e *environment) put(name, entry string) {
	if i, ok := e.index[name]; ok {
		e.entries[i] = entry
		return
	}
	e.index[name] = len(e.entries)
	e.entries = append(e.entries, entry)
}

func (e *environment) lookup(name string) (string, bool) {
	i, ok := e.index[name]
	if !ok {
		return "", false
	}
	return e.entries[i][len(name)+1:], true
}

// inherit takes over what the globs let through. The first of two equal names
// counts, as for getenv(3). What is the controller's user's alone is not for
// another user.
func (e *environment) inherit(from, globs []string, otherUser bool) {
	all := slices.Contains(globs, "*")
	for _, entry := range from {
		name, _, found := strings.Cut(entry, "=")
		if !found || name == "" || neverInherited(name) || otherUser && personal(name) {
			continue
		}
		if _, twice := e.index[name]; !twice && (all || matchesAny(globs, name)) {
			e.put(name, entry)
		}
	}
}

func matchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		ok, _ := path.Match(g, name)
		return ok
	})
}

// neverInherited tells the variables that are meant for the controller alone:
// its markers (it may itself run in an agent) and what systemd passes to one
// process, see systemd.exec(5), sd_notify(3) and sd_listen_fds(3).
func neverInherited(name string) bool {
	switch name {
	case "NOTIFY_SOCKET", "JOURNAL_STREAM", "INVOCATION_ID":
		return true
	}
	return strings.HasPrefix(name, "LISTEN_") || strings.HasPrefix(name, "WATCHDOG_") || isMarkerName(name)
}

// WithoutControllers gives an environment, as NAME=value, without the variables
// that are meant for one controller alone.
func WithoutControllers(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return neverInherited(name)
	})
}

// personal tells the variables that name a place, or the session, of one user
// (the XDG Base Directory Specification, pam_systemd(8), environ(7)).
func personal(name string) bool {
	switch name {
	case "HOME", "USER", "LOGNAME", "SHELL", "MAIL", "DBUS_SESSION_BUS_ADDRESS",
		"XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
		"XDG_SESSION_ID", "XDG_SEAT", "XDG_VTNR":
		return true
	}
	return false
}

// ports sets PORT to the first port that is declared (an unnamed one before
// all others), and PORT_NAME for each that has a name.
func (e *environment) ports(chosen PortMap, declared []Port) {
	first := -1
	for i, p := range declared {
		number, ok := chosen.Lookup(p.Name)
		if !ok {
			continue
		}
		if first < 0 || p.Name == "" {
			first = i
			e.set("PORT", strconv.Itoa(int(number)))
		}
		if p.Name != "" {
			e.set(portVar(p.Name), strconv.Itoa(int(number)))
		}
	}
}

// portVar gives the variable of a named port: PORT_HTTP for http.
func portVar(name string) string {
	return "PORT_" + strings.ReplaceAll(strings.ToUpper(name), "-", "_")
}

func (e *environment) envFile(f *FileSource, files map[string][]byte) error {
	content, err := contentOf(f, files)
	if err != nil {
		return err
	}
	vars, err := ParseEnvFile(content)
	if err != nil {
		return fmt.Errorf("cannot read env file %s: %v", f.Path, err)
	}
	for _, v := range vars {
		if isMarkerName(v.Name) {
			return fmt.Errorf("cannot use env file %s: %s is set by the controller", f.Path, v.Name)
		}
		e.set(v.Name, v.Value)
	}
	return nil
}

func (e *environment) variable(v *EnvVar, files map[string][]byte) error {
	if v.ValueFrom == nil {
		e.set(v.Name, expand(v.Value, e.lookup))
		// Now, before another one doubles it.
		return checkSize(e.entries[e.index[v.Name]])
	}
	content, err := contentOf(v.ValueFrom.File, files)
	if err != nil {
		return err
	}
	value, err := fileValue(content)
	if err != nil {
		return fmt.Errorf("cannot take %s from %s: %v", v.Name, v.ValueFrom.File.Path, err)
	}
	e.set(v.Name, value)
	return nil
}

// contentOf gives the content of a file that an object names. A missing
// optional one is the same as an empty one.
func contentOf(f *FileSource, files map[string][]byte) ([]byte, error) {
	content, ok := files[f.Path]
	if !ok && !f.Optional {
		return nil, fmt.Errorf("cannot read %s: it is missing", f.Path)
	}
	return content, nil
}

// checkSize finds what execve(2) would refuse with E2BIG without saying why.
func checkSize(entry string) error {
	if len(entry)+1 <= MaxEnvString {
		return nil
	}
	name, _, _ := strings.Cut(entry, "=")
	return fmt.Errorf("cannot set %s: it is longer than the %d KiB that the kernel takes for one variable", name, MaxEnvString>>10)
}
