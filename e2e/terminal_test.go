//go:build linux

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// screen is a program that runs in a pseudo-terminal.
type screen struct {
	t   *testing.T
	cmd *exec.Cmd
	pty *os.File // our end
	tty *os.File // the program's, kept open to see what it is left as
	was unix.Termios

	mu      sync.Mutex
	written bytes.Buffer
	exited  chan struct{}
}

// inTerminal runs a verb in a terminal of so many columns, with further variables
// in its environment.
func (r *rig) inTerminal(t *testing.T, columns int, env []string, verb string, args ...string) *screen {
	t.Helper()
	s := &screen{t: t, exited: make(chan struct{})}
	var err error
	if s.pty, s.tty, err = pty.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.pty.Close(); s.tty.Close() })
	must(t, pty.Setsize(s.pty, &pty.Winsize{Cols: uint16(columns), Rows: 12}))
	s.was = s.modes()
	s.cmd = exec.Command(controllerBinary, append(append([]string{verb}, r.paths()...), args...)...)
	s.cmd.Env = append(append(append([]string{}, r.env...), "TERM=xterm", "NO_COLOR="), env...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.tty, s.tty, s.tty
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(t, s.cmd.Start())
	go func() {
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); <-s.exited })
	go s.read()
	return s
}

func (s *screen) read() {
	buf := make([]byte, 4096)
	for {
		n, err := s.pty.Read(buf)
		s.mu.Lock()
		s.written.Write(buf[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// text is all that was written so far.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(s.written.String(), "\r\n", "\n")
}

// shows waits until a text was written.
func (s *screen) shows(text string) {
	s.t.Helper()
	eventually(s.t, soon, fmt.Sprintf("%q on the screen", text), func() error {
		if got := s.text(); !strings.Contains(got, text) {
			return fmt.Errorf("there is %q", got)
		}
		return nil
	})
}

// modes are those of the terminal.
func (s *screen) modes() unix.Termios {
	s.t.Helper()
	m, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	must(s.t, err)
	return *m
}

// ends waits for the end, wants the exit code and the terminal as it was, and
// gives all that was written. What was written last may still be on its way.
func (s *screen) ends(code int, last string) string {
	s.t.Helper()
	eventually(s.t, soon, "the program ends", func() error {
		select {
		case <-s.exited:
			return nil
		default:
			return errors.New("it runs")
		}
	})
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code %d, want %d:\n%s", got, code, s.text())
	}
	if is := s.modes(); is != s.was {
		s.t.Errorf("the terminal is left with %+v, and was %+v", is, s.was)
	}
	s.shows(last)
	return s.text()
}

func (s *screen) types(keys string) {
	s.t.Helper()
	_, err := s.pty.WriteString(keys)
	must(s.t, err)
}

// A table is readable in twenty columns, and has colours only where they are
// wanted.
func TestTablesInATerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", agent("steady"))
	r.write("b.yaml", manifest("MCPServer", "failing", "command: [sh, -c, 'echo the configuration is missing; exit 3']\nrestartPolicy: Never"))
	r.start()
	r.running("agent/steady")
	r.until("mcp/failing", "has failed", func(o object) bool { return o.Status.Phase == "Failed" })

	narrow := r.inTerminal(t, 20, []string{"NO_COLOR=1"}, "get").ends(0, "missing")
	for line := range strings.Lines(narrow) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 20 {
			t.Errorf("%q is %d wide", line, n)
		}
	}
	for _, want := range []string{"NAME steady\nSTATUS Running\n", "NAME failing\nSTATUS Failed\n"} {
		if !strings.Contains(narrow, want) {
			t.Errorf("no %q in\n%s", want, narrow)
		}
	}
	story := r.inTerminal(t, 20, []string{"NO_COLOR=1"}, "describe", "mcp/failing").ends(0, "| the configuration is missing")
	if !strings.Contains(story, "Status:\n  Failed") || strings.Contains(story, "\x1b") {
		t.Errorf("described in 20 columns:\n%q", story)
	}
	wide := r.inTerminal(t, 120, nil, "get").ends(0, "missing")
	if !strings.Contains(wide, "\x1b[32mRunning\x1b[0m  1/1") || !strings.Contains(wide, "\x1b[31mFailed\x1b[0m") {
		t.Errorf("no colours: %q", wide)
	}
	for _, env := range []string{"NO_COLOR=1", "TERM=dumb", "CLICOLOR=0"} {
		if got := r.inTerminal(t, 120, []string{env}, "get").ends(0, "missing"); strings.Contains(got, "\x1b") {
			t.Errorf("%s: %q", env, got)
		}
	}
	if piped := r.run("get"); strings.Contains(piped.stdout, "\x1b") {
		t.Errorf("in a pipe: %q", piped.stdout)
	}
}

// The live view ends by a key and by a signal, and leaves the terminal as it was.
func TestTopInATerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", agent("steady"))
	r.start()
	r.running("agent/steady")
	const entered, left = "\x1b[?1049h", "\x1b[?25h\x1b[?1049l"
	for how, end := range map[string]func(*screen){
		"q":       func(s *screen) { s.types("q") },
		"Ctrl-C":  func(s *screen) { s.types("\x03") },
		"SIGTERM": func(s *screen) { must(t, s.cmd.Process.Signal(syscall.SIGTERM)) },
		"SIGHUP":  func(s *screen) { must(t, s.cmd.Process.Signal(syscall.SIGHUP)) },
	} {
		s := r.inTerminal(t, 80, nil, "top")
		s.shows(entered)
		s.shows("agent/steady  0.0%") // a second sample has come
		s.shows("by cpu")
		s.types("m")
		s.shows("by memory")
		end(s)
		if got := s.ends(0, left); !strings.HasSuffix(got, left) {
			t.Errorf("%s: it ends with %q", how, got[max(0, len(got)-100):])
		}
	}
	dumb := r.inTerminal(t, 80, []string{"TERM=dumb"}, "top").ends(0, "agent/steady")
	once := r.inTerminal(t, 80, []string{"NO_COLOR=1"}, "top", "--once").ends(0, "agent/steady")
	if strings.Contains(dumb+once, "\x1b") {
		t.Errorf("in a terminal that cannot move: %q; once: %q", dumb, once)
	}
	// A controller that goes leaves the last numbers standing.
	s := r.inTerminal(t, 80, nil, "top")
	s.shows("agent/steady")
	r.stop()
	s.shows("The controller does not answer")
	s.types("q")
	s.ends(0, left)
}

// In a real terminal, which is made smaller and larger.
func TestTopInTmux(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed: run hack/install-tools")
	}
	r := newRig(t)
	r.write("a.yaml", agent("a-name-that-is-longer-than-the-terminal"))
	r.start()
	r.running("agent/a-name-that-is-longer-than-the-terminal")
	socket := filepath.Join(r.dir, "tmux")
	tmux := func(args ...string) (string, error) {
		cmd := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Env = append(append([]string{}, r.env...), "LC_ALL=C.UTF-8", "TERM=xterm")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	argv := append([]string{"new-session", "-d", "-s", "top", "-x", "20", "-y", "10", controllerBinary, "top"}, r.paths()...)
	if out, err := tmux(argv...); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	t.Cleanup(func() { _, _ = tmux("kill-server") })
	shows := func(lines ...string) {
		t.Helper()
		eventually(t, soon, fmt.Sprintf("%q on the screen", lines), func() error {
			out, err := tmux("capture-pane", "-p", "-t", "top")
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			for _, want := range lines {
				if !strings.Contains(out, want) {
					return fmt.Errorf("there is\n%s", out)
				}
			}
			return nil
		})
	}
	shows("NAME  CPU   MEMORY\n", "a-n…  0.0%  ")
	if out, err := tmux("resize-window", "-t", "top", "-x", "100", "-y", "10"); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	shows("DESCRIPTORS  PROCESSES  SOURCE\n", "agent/a-name-that-is-longer-than-the-terminal  0.0%")
	if out, err := tmux("send-keys", "-t", "top", "q"); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	eventually(t, soon, "the session ends with it", func() error {
		if out, err := tmux("has-session", "-t", "top"); err == nil {
			return fmt.Errorf("it is there: %s", out)
		}
		return nil
	})
}
