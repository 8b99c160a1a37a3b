//go:build linux

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// recorderVariable names the file that a recorder writes signals to.
const recorderVariable = "E2E_SIGNALS"

// recordSignals appends the number of each signal that it gets to a file. It
// ends at SIGTERM, unless it is told to be deaf.
func recordSignals(deaf bool) int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGCONT, syscall.SIGUSR1, syscall.SIGUSR2)
	f, err := os.OpenFile(os.Getenv(recorderVariable), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(f, "ready")
	fmt.Println("ready")
	for s := range signals {
		fmt.Fprintln(f, s)
		if s == syscall.SIGTERM && !deaf {
			return 0
		}
	}
	return 0
}

// recorded gives what a recorder has written but for its first line; it fails
// the test if there is none.
func recorded(t testing.TB, file string) []string {
	t.Helper()
	content, err := os.ReadFile(file)
	lines := strings.Fields(string(content))
	if err != nil || len(lines) == 0 || lines[0] != "ready" {
		t.Fatalf("the recorder of %s has written %q: %v", file, content, err)
	}
	return lines[1:]
}

// lookalike is a process that the test has started with the markers of its
// choice; it records the signals that it gets.
type lookalike struct {
	proc
	cmd  *exec.Cmd
	file string // of signals
}

// pose starts a recorder as a session leader with the rig's run marker and
// these variables beside. An instance of TICK- stands for one of this moment.
func (r *rig) pose(payload string, env ...string) *lookalike {
	r.t.Helper()
	for range 20 {
		if l := r.tryToPose(payload, env); l != nil {
			return l
		}
	}
	r.t.Fatal("no process began at the tick that its markers name")
	return nil
}

// tryToPose gives nil where the process began too late for its markers.
func (r *rig) tryToPose(payload string, env []string) *lookalike {
	r.t.Helper()
	f, err := os.CreateTemp(r.dir, "signals")
	if err != nil {
		r.t.Fatal(err)
	}
	f.Close()
	tick := bootTick(r.t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(cleanEnvironment(), runMarker+"="+runID, payloadVariable+"="+payload, recorderVariable+"="+f.Name())
	for _, v := range env {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(v, "TICK", fmt.Sprint(tick)))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(io.LimitReader(out, 100)).ReadString('\n'); line != "ready\n" {
		r.t.Fatalf("the recorder said %q: %v", line, err)
	}
	p, ok := lookup(cmd.Process.Pid)
	if !ok {
		r.t.Fatal("the recorder has ended")
	}
	if p.late(tick) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil
	}
	return &lookalike{proc: p, cmd: cmd, file: f.Name()}
}

// late says that a process began too long after the tick in the name of an instance to
// be told by its markers as the main one.
func (p proc) late(tick uint64) bool { return p.start > tick+2 }

// bootTick is the time since boot in clock ticks of a hundredth of a second, as
// proc_pid_stat(5) counts.
func bootTick(t testing.TB) uint64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		t.Fatal(err)
	}
	return uint64(ts.Sec)*100 + uint64(ts.Nsec)/10_000_000
}

// posedMarkers are the variables that a controller of the owner gives to an agent.
func posedMarkers(owner, name, token, onExit string) []string {
	return []string{
		"PROC_CONTROLLER_SUBPROCESS=1", "PROC_CONTROLLER_OWNER=" + owner, "PROC_CONTROLLER_INSTANCE=" + token + "-TICK",
		"PROC_CONTROLLER_SPEC=0123456789abcdef", "PROC_CONTROLLER_ON_EXIT=" + onExit, "AGENT_NAME=" + name,
	}
}

// untouched fails the test if the look-alike has ended or was signalled.
func (l *lookalike) untouched(t testing.TB, what string) {
	t.Helper()
	if now, ok := lookup(l.pid); !ok || now.start != l.start {
		t.Errorf("%s has ended", what)
	}
	if got := recorded(t, l.file); len(got) > 0 {
		t.Errorf("%s was signalled: %v", what, got)
	}
}

// file gives a path in the directory of the rig.
func (r *rig) file(name string) string { return filepath.Join(r.dir, name) }
