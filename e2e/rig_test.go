//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// rig is one controller with everything of its own.
type rig struct {
	t         testing.TB
	dir       string // holds all below; short, because of the socket's path
	manifests string
	state     string
	socket    string
	owner     string
	env       []string      // of the controller; clients are of controllerBinary
	flags     []string      // of run, beside the paths
	patience  time.Duration // with what a workload becomes; soon if zero
	binary    string        // of the controller; clients are of controllerBinary
	wrap      []string      // a command that the controller is run through
	user      *syscall.Credential
	proc      *controllerProcess // nil while none was started
	logs      []logFile          // of all that were started
}

// controllerProcess is one run of the controller.
type controllerProcess struct {
	cmd    *exec.Cmd
	stderr logFile
	exited chan struct{} // closed once it has ended
}

// logFile is the path of what a controller wrote to stderr.
type logFile string

func (l logFile) String() string {
	content, err := os.ReadFile(string(l))
	if err != nil {
		return err.Error()
	}
	return string(content)
}

// rigs numbers the owners of this run.
var rigs atomic.Int64

// newRig makes directories, and sees to it that nothing is left at the end. The
// controller is not started yet. Scopes are off unless a test sets other flags.
func newRig(t testing.TB) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		t: t, dir: dir,
		manifests: filepath.Join(dir, "m"),
		state:     filepath.Join(dir, "s"),
		socket:    filepath.Join(dir, "r", "api.sock"),
		owner:     fmt.Sprintf("e2e-%s-%d", runID, rigs.Add(1)),
		flags:     []string{"--scopes=off", "--delete-hold=1s"},
		binary:    controllerBinary,
	}
	r.env = append(cleanEnvironment(), runMarker+"="+runID, "HOME="+dir)
	r.mkdir(r.manifests, 0o755)
	r.mkdir(filepath.Dir(r.socket), 0o700)
	t.Cleanup(r.tearDown)
	return r
}

// cleanEnvironment is that of the tests without what would lead the controller
// to the services, or the markers, of whoever runs them.
func cleanEnvironment() (env []string) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case strings.HasPrefix(name, "PROC_CONTROLLER_"), strings.HasPrefix(name, "XDG_"), strings.HasPrefix(name, "npm_"):
		case name == "HOME", name == "NOTIFY_SOCKET", name == "DBUS_SESSION_BUS_ADDRESS", name == runMarker:
		case name == "AGENT_NAME", name == "MCP_SERVICE_ID":
		default:
			env = append(env, v)
		}
	}
	return env
}

// paths are the flags that every verb takes.
func (r *rig) paths() []string {
	return []string{"--manifests", r.manifests, "--state-dir", r.state, "--socket", r.socket, "--owner", r.owner}
}

// start runs the controller and waits until it says that it is ready.
func (r *rig) start() {
	r.t.Helper()
	p := r.launch()
	eventually(r.t, soon, "the controller is ready", func() error {
		select {
		case <-p.exited:
			r.t.Fatalf("the controller ended with %v:\n%s", p.cmd.ProcessState, p.stderr)
		default:
		}
		if !strings.Contains(p.stderr.String(), "ready") {
			return errors.New("it has not said so")
		}
		return nil
	})
}

// launch runs the controller and does not wait.
func (r *rig) launch() *controllerProcess {
	r.t.Helper()
	argv := append(append([]string{}, r.wrap...), r.binary, "run")
	argv = append(append(argv, r.paths()...), r.flags...)
	p := &controllerProcess{cmd: exec.Command(argv[0], argv[1:]...), exited: make(chan struct{})}
	// A file and no pipe: the guard of a controller that died writes to it too,
	// and its end is not that of the controller.
	stderr, err := os.CreateTemp(r.dir, "stderr")
	if err != nil {
		r.t.Fatal(err)
	}
	defer stderr.Close()
	p.stderr = logFile(stderr.Name())
	r.logs = append(r.logs, p.stderr)
	p.cmd.Env, p.cmd.Stderr, p.cmd.Stdout = r.env, stderr, stderr
	// A session of its own: what is sent to the group of the tests does not
	// reach it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: r.user}
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	r.proc = p
	return p
}

// pid is that of the running controller.
func (r *rig) pid() int { return r.proc.cmd.Process.Pid }

// signal sends a signal to the controller.
func (r *rig) signal(sig syscall.Signal) {
	r.t.Helper()
	if err := r.proc.cmd.Process.Signal(sig); err != nil {
		r.t.Fatal(err)
	}
}

// crash kills the controller as a crash would.
func (r *rig) crash() {
	r.t.Helper()
	r.signal(syscall.SIGKILL)
	r.exit(soon)
}

// stop ends the controller as a person would, and wants exit code 0.
func (r *rig) stop() {
	r.t.Helper()
	r.signal(syscall.SIGTERM)
	if code := r.exit(soon); code != 0 {
		r.t.Fatalf("the controller ended with %d after SIGTERM, want 0:\n%s", code, r.proc.stderr)
	}
}

// exit waits for the end of the controller and gives its exit code.
func (r *rig) exit(limit time.Duration) int {
	r.t.Helper()
	select {
	case <-r.proc.exited:
		return r.proc.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		r.t.Fatalf("the controller has not ended within %v:\n%s", limit, r.proc.stderr)
		return -1
	}
}

// alive fails the test if the controller has ended.
func (r *rig) alive() {
	r.t.Helper()
	if r.proc == nil {
		return // another one is looked at
	}
	select {
	case <-r.proc.exited:
		r.t.Fatalf("the controller has ended with %v:\n%s", r.proc.cmd.ProcessState, r.proc.stderr)
	default:
	}
}

// tearDown ends the controller and everything of its owner, and complains of
// what a controller that ended well has left.
func (r *rig) tearDown() {
	crashed := true
	if r.proc != nil {
		_ = r.proc.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-r.proc.exited:
			crashed = r.proc.cmd.ProcessState.ExitCode() != 0
		case <-time.After(30 * time.Second):
			r.t.Errorf("the controller did not end within 30 s of SIGTERM")
			_ = r.proc.cmd.Process.Kill()
			<-r.proc.exited
		}
		if strings.Contains(r.proc.stderr.String(), "DATA RACE") {
			r.t.Errorf("the race detector found something")
		}
		for i := 0; i < len(r.logs) && r.t.Failed(); i++ {
			r.t.Logf("stderr of controller %d of %d:\n%s", i+1, len(r.logs), r.logs[i])
		}
	}
	r.sweep(crashed)
	// A guard may still write down what it has done.
	if err := within(context.Background(), soon, func() error { return os.RemoveAll(r.dir) }); err != nil {
		r.t.Errorf("cannot remove the directories of the rig: %v", err)
	}
}

// sweep kills what carries the owner's marker. After a controller that ended
// well only Keep workloads may be there.
func (r *rig) sweep(crashed bool) {
	var left []proc
	_ = within(context.Background(), 3*time.Second, func() error {
		left = marked(r.owner)
		for _, p := range left {
			if !p.has("PROC_CONTROLLER_ON_EXIT", "Keep") {
				return fmt.Errorf("%v is left", p)
			}
		}
		return nil
	})
	for _, p := range left {
		if !crashed && !p.has("PROC_CONTROLLER_ON_EXIT", "Keep") {
			r.t.Errorf("left behind after a good end: %v", p)
		}
		end(p)
	}
}

func (r *rig) mkdir(path string, mode os.FileMode) {
	r.t.Helper()
	if err := os.MkdirAll(path, mode); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask is
		r.t.Fatal(err)
	}
}

// write puts a file into the manifest directory as a careful editor does:
// whole, by rename.
func (r *rig) write(name, content string) {
	r.t.Helper()
	tmp := filepath.Join(r.manifests, "."+name+".tmp")
	if err := os.WriteFile(tmp, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(r.manifests, name)); err != nil {
		r.t.Fatal(err)
	}
}

// remove deletes a file of the manifest directory.
func (r *rig) remove(name string) {
	r.t.Helper()
	if err := os.Remove(filepath.Join(r.manifests, name)); err != nil {
		r.t.Fatal(err)
	}
}

// writeProgram writes a program that is to be executed at once. No process is
// forked meanwhile: one that another test starts would hold the file open for
// writing until its execve(2), and executing it would fail with ETXTBSY.
func writeProgram(path string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, 0o755)
}
