//go:build linux || darwin || freebsd

package actuate

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// command is what is to be run, resolved.
type command struct {
	program string // absolute; what is executed
	// wanted is the program of the manifest; another than program where there is a
	// bridge before it.
	wanted  string
	bridged bool
	argv    []string
	env     []string
	dir     string // absolute
	markers spec.Markers
	// account is the user that the child becomes; nil where it stays as we are.
	account *observe.Account
}

// commandOf resolves what an entry wants to run, with an environment that is
// built afresh. The error is a *StartError.
func (a *Actuator) commandOf(e *spec.Entry, id spec.Instance, ports spec.PortMap) (command, error) {
	c, err := a.surroundingsOf(e, spec.MarkersFor(e.Object, a.opts.Owner, id, e.Hash, ports))
	if err != nil {
		return c, err
	}
	if err = a.resolve(&c, e, spec.Argv(e.Object, c.env)); err != nil || !e.Object.Spec.MCP.IsStdio() {
		return c, err
	}
	return c, a.bridge(&c, e, ports)
}

// surroundingsOf resolves all of a command but what is run: as whom, where, and
// with which environment. The error is a *StartError.
func (a *Actuator) surroundingsOf(e *spec.Entry, m spec.Markers) (c command, err error) {
	o := e.Object
	if c.account, err = a.accountOf(o.Spec.User); err != nil {
		return c, err
	}
	if c.dir, err = spec.ResolvePath(o.Spec.WorkingDir, e.Dir, a.opts.Home); err != nil {
		return c, startErrorf(spec.ReasonWorkingDir, "cannot use the working directory %s: %v", o.Spec.WorkingDir, err)
	}
	if err := checkDir(c.dir); err != nil {
		return c, err
	}
	c.markers = m
	c.env, err = spec.Environ(o, spec.EnvInputs{
		Inherit: a.opts.Environ, Files: e.Files, Dir: c.dir, Ports: m.Ports, Markers: m,
		Account: accountEnviron(c.account), MCPConfig: a.mcpConfigPath(e),
	})
	if err != nil {
		return c, startErrorf(spec.ReasonEnvironment, "cannot build the environment: %v", err)
	}
	return c, nil
}

// resolve finds the program of a command line in the surroundings of a command.
// The error is a *StartError.
func (a *Actuator) resolve(c *command, e *spec.Entry, argv []string) (err error) {
	if c.argv = argv; len(argv) == 0 {
		return startErrorf(spec.ReasonProgramNotFound, "cannot start: there is no command")
	}
	name := argv[0]
	if strings.HasPrefix(name, "~/") {
		if name, err = spec.ResolvePath(name, e.Dir, a.opts.Home); err != nil {
			return startErrorf(spec.ReasonProgramNotFound, "cannot find the program %s: %v", argv[0], err)
		}
	}
	c.program, err = resolveProgram(name, c.env, c.dir)
	c.wanted = c.program
	return err
}

// rename gives the instance another name, in the markers and in the
// environment.
func (c *command) rename(id spec.Instance) {
	old := spec.EnvInstance + "=" + string(c.markers.Instance)
	c.markers.Instance = id
	if i := slices.Index(c.env, old); i >= 0 {
		c.env[i] = spec.EnvInstance + "=" + string(id)
	}
}

// withoutMarkers gives an environment from which nobody would take a process
// for a workload.
func withoutMarkers(env []string, m spec.Markers) []string {
	markers := m.Environ()
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool { return slices.Contains(markers, v) })
}

// stopSignal is the signal that stops a workload; its name was validated. A bridge
// has its own, and knows that of its server.
func stopSignal(s *spec.Spec) syscall.Signal {
	if s.MCP.IsStdio() {
		return syscall.SIGTERM
	}
	if n, ok := spec.SignalNumber(s.StopSignal); ok {
		return syscall.Signal(n)
	}
	return syscall.SIGTERM
}

// mainProcess is a child as a scan will see it.
func (c *command) mainProcess(id observe.Ident, uid uint32, ppid int, key spec.Key, cgroup string) *observe.Process {
	return &observe.Process{
		Ident: id, PPID: ppid, PGID: id.PID, SID: id.PID, State: 'R', Threads: 1,
		UID: uid, EUID: uid,
		Markers: c.markers, Command: c.comm(), Cgroup: cgroup,
		Verdict: observe.Ours, Evidence: []string{"a handle has been held since it was spawned"},
		Role: observe.Main, Key: key, Instance: c.markers.Instance,
	}
}

// comm is the name of the main process as comm has it.
func (c *command) comm() string {
	if c.bridged {
		return BridgeName
	}
	return commOf(c.program)
}

// commOf is the name of a program as comm has it (proc_pid_comm(5)).
func commOf(program string) string {
	const max = 15
	name := filepath.Base(program)
	return strings.ToValidUTF8(name[:min(len(name), max)], "")
}
