package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/observe"
)

// newInstall is the verb that lets the controller start with the user's session.
func newInstall(std streams, at *placeFlags) *cobra.Command {
	var printOnly, user bool
	cmd := &cobra.Command{
		Use:   "install [--user | --print] [flags] [-- RUN-FLAG...]",
		Short: "Let the controller start by itself: a systemd user unit, or a launchd agent",
		Long: `Write a systemd user unit (on macOS a launchd agent) that runs this program with
the same --manifests, --owner, --state-dir and --socket, enable it, and start it.
Flags of "run" may follow after --. Run again after a change, it says what it has
changed, or that nothing was to be done.

The unit stops the controller alone (KillMode=process), so that workloads with
onControllerExit: Keep live on, and gives it all the time that their grace periods
need. It finds programs by the PATH of this moment.

A user unit ends with the last session of its user, unless that user lingers:
loginctl enable-linger.`,
		Example: `  proc-controller install
  proc-controller install --manifests ~/src/machine/manifests
  proc-controller install --print                # show the unit, and do nothing
  proc-controller install -- --scopes off -v`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return misused(cmd, "cannot understand %q: flags of run follow after --", args[0])
			}
			if err := checkRunFlags(std, args); err != nil {
				return err
			}
			s, err := newService(at, args)
			switch {
			case err != nil:
				return err
			case printOnly:
				_, err := std.out.Write(s.text)
				return err
			}
			return s.install(std)
		},
	}
	cmd.Flags().BoolVar(&printOnly, "print", false, "print the unit, and do nothing")
	cmd.Flags().BoolVar(&user, "user", true, "for this user (the only way so far)")
	return cmd
}

// newUninstall is the verb that undoes it.
func newUninstall(std streams, at *placeFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "uninstall",
		Short: "Stop the controller that was installed, and remove its unit",
		Long: `Stop the controller that "install" has set up for these --manifests, and remove
its unit. Workloads are stopped as at any end of the controller; those with
onControllerExit: Keep are left running, and "reap --include-keep" stops them.
Manifests and state stay.`,
		Example: `  proc-controller uninstall
  proc-controller uninstall --manifests ~/src/machine/manifests`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			s, err := newService(at, nil)
			if err != nil {
				return err
			}
			return s.uninstall(std)
		},
	}
}

// checkRunFlags finds a mistake now that would else keep the unit from starting.
func checkRunFlags(std streams, args []string) error {
	run := newRun(std, &placeFlags{})
	(&cobra.Command{Use: program}).AddCommand(run) // for its path in messages
	if err := run.ParseFlags(args); err != nil {
		return flagError(run, err)
	}
	if run.Flags().NArg() > 0 {
		return misused(run, "cannot understand %q: run takes flags alone", run.Flags().Arg(0))
	}
	return nil
}

// service is a controller that is started by a service manager.
type service struct {
	place   place
	name    string // of the unit, or the label of the agent
	path    string // of the file
	text    []byte
	manager serviceManager
}

// serviceManager starts what a file says. Each method is idempotent.
type serviceManager interface {
	// enable has a service started now and with each session; changed says that
	// its file is another than before. It says whether it had to do anything.
	enable(s *service, changed bool) (started bool, err error)
	// disable stops it, and has it started no more.
	disable(s *service) error
	// forget comes after the file was removed.
	forget(s *service) error
	// active says that it runs now.
	active(s *service) bool
	// how is what a person has to do to enable it.
	how(s *service) string
}

// newService says how the controller of this place is to be run.
func newService(at *placeFlags, more []string) (*service, error) {
	p, err := at.locate(thisHost())
	if err != nil {
		return nil, err
	}
	argv, err := p.serviceCommand(more)
	if err != nil {
		return nil, err
	}
	s := &service{place: p}
	if runtime.GOOS == "darwin" {
		s.manager, s.name = launchd{}, "dev.proc-controller"
		if !p.isDefault() {
			s.name += "." + string(p.owner)
		}
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("cannot find the launch agents: %w", err)
		}
		s.path = filepath.Join(home, "Library", "LaunchAgents", s.name+".plist")
		s.text = launchdPlist(s.name, argv, os.Getenv("PATH"))
		return s, nil
	}
	base, err := p.host.xdg("XDG_CONFIG_HOME", ".config", "manifests")
	if err != nil {
		return nil, fmt.Errorf("cannot find the user units: neither HOME nor XDG_CONFIG_HOME is an absolute path")
	}
	s.manager, s.name = systemd{}, program
	if !p.isDefault() {
		s.name += "-" + string(p.owner)
	}
	s.name += ".service"
	s.path = filepath.Join(base, "systemd", "user", s.name)
	s.text = systemdUnit(p.manifests, argv, os.Getenv("PATH"))
	return s, nil
}

// isDefault says that this is the controller that is meant without any flag.
func (p place) isDefault() bool { return p.byDefault && p.flags.owner == "" }

// serviceCommand is the command line that comes to the same place in whatever
// surroundings.
func (p place) serviceCommand(more []string) ([]string, error) {
	binary := programPath()
	if !filepath.IsAbs(binary) {
		return nil, errors.New("cannot tell the path of this program: start it by its path")
	}
	argv := []string{binary, "run"}
	if !p.byDefault || p.host.getenv("XDG_CONFIG_HOME") != "" {
		argv = append(argv, "--manifests", p.manifests)
	}
	if p.flags.owner != "" {
		argv = append(argv, "--owner", p.flags.owner)
	}
	if p.flags.stateDir != "" || p.host.getenv("XDG_STATE_HOME") != "" {
		dir, err := p.stateDir()
		if err != nil {
			return nil, err
		}
		argv = append(argv, "--state-dir", dir)
	}
	if given := cmp.Or(p.flags.socket, p.host.getenv("PROC_CONTROLLER_SOCKET")); given != "" {
		socket, err := p.host.abs(given)
		if err != nil {
			return nil, err
		}
		argv = append(argv, "--socket", socket)
	}
	return append(argv, more...), nil
}

// install writes the file and has the service run.
func (s *service) install(std streams) error {
	if pid, alive, _ := observe.OwnerAlive(s.place.uid, s.place.owner); alive && !s.manager.active(s) {
		return fmt.Errorf("cannot install: a controller of %s runs already (pid %d); stop it first", s.place.manifests, pid)
	}
	former, err := os.ReadFile(s.path)
	changed := !bytes.Equal(former, s.text)
	what := "configured"
	if errors.Is(err, fs.ErrNotExist) {
		what = "created"
	}
	if changed {
		if err := s.write(); err != nil {
			return err
		}
	}
	started, err := s.manager.enable(s, changed)
	if err != nil {
		if changed {
			fmt.Fprintf(std.out, "%s %s\n", s.path, what)
		}
		return fmt.Errorf("cannot start %s: %w; when that is mended: %s", s.name, err, s.manager.how(s))
	}
	if !changed && !started {
		fmt.Fprintf(std.out, "%s unchanged\n", s.path)
	} else if !changed {
		fmt.Fprintf(std.out, "%s unchanged, started\n", s.path)
	} else {
		fmt.Fprintf(std.out, "%s %s, started\n", s.path, what)
	}
	s.hint(std)
	return nil
}

// write puts the file in the place of a former one.
func (s *service) write() error {
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make %s: %v", dir, cause(err))
	}
	temporary := s.path + ".new"
	if err := os.WriteFile(temporary, s.text, 0o644); err != nil {
		return fmt.Errorf("cannot write %s: %v", temporary, cause(err))
	}
	if err := os.Rename(temporary, s.path); err != nil {
		os.Remove(temporary)
		return fmt.Errorf("cannot write %s: %w", s.path, err)
	}
	return nil
}

// hint tells what a person would else find out too late.
func (s *service) hint(std streams) {
	here := thisSession(s.place.uid)
	if runtime.GOOS == "linux" && here.name != "" && !here.exists("/var/lib/systemd/linger/"+here.name) {
		fmt.Fprintf(std.err, "note: it ends when %s logs out; to keep it: loginctl enable-linger %s\n", here.name, here.name)
	}
}

// uninstall stops the service and removes its file.
func (s *service) uninstall(std streams) error {
	if _, err := os.Lstat(s.path); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(std.out, "%s is not installed\n", s.path)
		return nil
	}
	if err := s.manager.disable(s); err != nil {
		return fmt.Errorf("cannot stop %s: %w; nothing was removed", s.name, err)
	}
	if err := os.Remove(s.path); err != nil {
		return fmt.Errorf("cannot remove %s: %v", s.path, cause(err))
	}
	if err := s.manager.forget(s); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "%s removed\n", s.path)
	return nil
}
