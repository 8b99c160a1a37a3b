//go:build linux

package actuate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

func TestStartGivesTheChildItsOwnSessionAndNothingElse(t *testing.T) {
	a := newActuator(t)
	in := mustStart(t, a, shell(t, `cd /proc/self/fd && ls -l . | sed -n 's/.* \([0-9]*\) -> /\1 /p'; sleep 100`))
	sid, _ := unix.Getsid(in.Main.PID)
	pgid, _ := unix.Getpgid(in.Main.PID)
	if sid != in.Main.PID || pgid != in.Main.PID {
		t.Errorf("pid %d has session %d and group %d", in.Main.PID, sid, pgid)
	}
	for line := range strings.Lines(output(t, in)) {
		fd, target, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case fd == "0" && target == "/dev/null", (fd == "1" || fd == "2") && strings.HasSuffix(target, ".log") || strings.HasPrefix(target, "pipe:"):
		case strings.HasPrefix(target, "/proc/"): // the directory that ls reads
		default:
			t.Errorf("descriptor %s is %s", fd, target)
		}
	}
}

func TestStartNamesTheInstanceByTheTickOfItsFork(t *testing.T) {
	a := newActuator(t)
	// The thread that forks is held up for many ticks after the start is ready.
	a.spawner.forking.Lock()
	time.AfterFunc(time.Second, a.spawner.forking.Unlock)
	in := mustStart(t, a, shell(t, `echo "$PROC_CONTROLLER_INSTANCE"; sleep 100`))
	if got := strings.TrimSpace(output(t, in)); got != string(in.ID) {
		t.Errorf("the child knows itself as %q, the instance is %q", got, in.ID)
	}
	tick, _ := in.ID.Tick()
	// A hundred ticks have passed. On a busy machine the thread can lose the
	// processor for some between the last look at the clock and the fork.
	if in.LastMain.Start < tick || in.LastMain.Start > tick+50 {
		t.Errorf("start tick %d is not that of %s", in.LastMain.Start, in.ID)
	}
	if in.Log == "" || in.Log != a.LogPath(in.Key, in.ID) {
		t.Errorf("the output of %s is in %s", in.ID, in.Log)
	}
	if fi, _ := os.Stat(in.Log); fi.Mode().Perm() != 0o600 {
		t.Errorf("mode of the output file is %v", fi.Mode())
	}
}

func TestExitsTellHowTheChildEnded(t *testing.T) {
	a := newActuator(t)
	for _, tc := range []struct {
		script       string
		code, signal int
	}{
		{"exit 0", 0, 0},
		{"exit 7", 7, 0},
		{"exit 255", 255, 0}, // $$ is how a manifest writes a dollar sign
		{"kill -9 $$$$", -1, 9},
		{"kill -15 $$$$", -1, 15},
	} {
		in := mustStart(t, a, shell(t, tc.script))
		x := nextExit(t, a, in.LastMain)
		if !x.Known || x.Code != tc.code || x.Signal != tc.signal {
			t.Errorf("%s: known %v, code %d, signal %d", tc.script, x.Known, x.Code, x.Signal)
		}
		if state(in.LastMain.PID) == 'Z' {
			t.Errorf("%s: not reaped", tc.script)
		}
	}
}

func TestStartErrorsLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "echo hello\n", 0o755)
	lost := write("lost", "#!/nonexistent/python -u\n", 0o755)
	data := write("data", "\x00\x01\x02\x03", 0o755)
	locked := write("locked", "#!/bin/sh\n", 0o644)
	a := newActuator(t)
	for _, tc := range []struct {
		name   string
		change func(*spec.Spec)
		reason spec.Reason
		says   string
	}{
		{"missing", func(s *spec.Spec) { s.Command = []string{"no-such-program"} }, spec.ReasonProgramNotFound, "in PATH=/bin:/usr/bin"},
		{"missing path", func(s *spec.Spec) { s.Command = []string{"./nothing"} }, spec.ReasonProgramNotFound, "/nothing"},
		{"directory", func(s *spec.Spec) { s.Command = []string{dir} }, spec.ReasonNotExecutable, "is a directory"},
		{"device", func(s *spec.Spec) { s.Command = []string{"/dev/null"} }, spec.ReasonNotExecutable, "not a regular file"},
		{"no x bit", func(s *spec.Spec) { s.Command = []string{locked} }, spec.ReasonNotExecutable, "chmod +x " + locked},
		{"no interpreter", func(s *spec.Spec) { s.Command = []string{plain} }, spec.ReasonNotExecutable, "#!/bin/sh"},
		{"lost interpreter", func(s *spec.Spec) { s.Command = []string{lost} }, spec.ReasonNotExecutable, "/nonexistent/python"},
		{"no program", func(s *spec.Spec) { s.Command = []string{data} }, spec.ReasonNotExecutable, "no program for this machine"},
		{"working dir", func(s *spec.Spec) { s.WorkingDir = "/nonexistent/dir" }, spec.ReasonWorkingDir, "does not exist"},
		{"working dir is a file", func(s *spec.Spec) { s.WorkingDir = plain }, spec.ReasonWorkingDir, "not a directory"},
		{"env file", func(s *spec.Spec) { s.EnvFrom = []spec.EnvFromSource{{File: &spec.FileSource{Path: "x.env"}}} }, spec.ReasonEnvironment, "x.env"},
		{"scope", func(s *spec.Spec) { s.Scope = spec.ScopeRequired }, spec.ReasonScopeFailed, "scope"},
		{"too long", func(s *spec.Spec) { s.Args = make([]string, 3<<20) }, spec.ReasonEnvironment, "too long"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := entry(t, "/bin/true")
			e.Object.Spec.InheritEnv = nil
			e.Object.Spec.Ports = []spec.Port{{Name: "http"}}
			tc.change(&e.Object.Spec)
			in, err := a.Start(e, newToken(), nil)
			var se *StartError
			if !errors.As(err, &se) {
				t.Fatalf("Start gave %v, %v", in, err)
			}
			if se.StartReason() != tc.reason || !strings.Contains(se.Error(), tc.says) {
				t.Errorf("got %s: %s", se.Reason, se)
			}
			if len(a.ports.reserved) != 0 {
				t.Errorf("ports stay reserved: %v", a.ports.reserved)
			}
			if logs, _ := filepath.Glob(filepath.Join(a.opts.StateDir, "logs/*")); len(logs) != 0 {
				t.Errorf("empty output is left: %v", logs)
			}
		})
	}
}

func TestStartWaitsForABusyProgram(t *testing.T) {
	a := newActuator(t)
	e := entry(t, "./program")
	path := filepath.Join(e.Dir, "program")
	content, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Start(e, newToken(), nil); err == nil || !strings.Contains(err.Error(), "busy") {
		t.Fatalf("with the file open for writing all the time: %v", err)
	}
	defer func(before []time.Duration) { busyWaits = before }(busyWaits)
	busyWaits = slices.Repeat(busyWaits, 100) // on a busy machine the file is closed late
	time.AfterFunc(20*time.Millisecond, func() { f.Close() })
	in := mustStart(t, a, e)
	if x := nextExit(t, a, in.LastMain); x.Code != 0 {
		t.Errorf("%+v", x)
	}
}

func TestStartGoesOnWithoutAStateDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := newActuator(t, func(o *Options) { o.StateDir = filepath.Join(file, "state") })
	in := mustStart(t, a, shell(t, "echo lost; exit 3"))
	if in.Log != "" {
		t.Errorf("Log is %q", in.Log)
	}
	if x := nextExit(t, a, in.LastMain); x.Code != 3 {
		t.Errorf("%+v", x)
	}
}

func TestStartHandsOutPorts(t *testing.T) {
	a := newActuator(t)
	e := shell(t, `echo "$PORT_HTTP $PROC_CONTROLLER_PORTS"; sleep 100`)
	e.Object.Spec.Ports = []spec.Port{{Name: "http"}}
	one, two := mustStart(t, a, e), mustStart(t, a, e)
	want := fmt.Sprintf("%d http=%[1]d\n", one.Ports[0].Port)
	if got := output(t, one); got != want {
		t.Errorf("the child sees %q, not %q", got, want)
	}
	if one.Ports[0].Port == two.Ports[0].Port {
		t.Errorf("both have port %d", one.Ports[0].Port)
	}
}

func TestResolve(t *testing.T) {
	a := newActuator(t)
	if err := a.Resolve(entry(t, "sh")); err != nil {
		t.Error(err)
	}
	e := entry(t, "./script")
	if err := os.WriteFile(filepath.Join(e.Dir, "script"), []byte("#!/nonexistent/ruby\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := a.Resolve(e); err == nil || !strings.Contains(err.Error(), "/nonexistent/ruby") {
		t.Errorf("missing interpreter: %v", err)
	}
}

// Two hundred starts and ends, some of which fail, must leave the process as it
// was: no descriptor, no goroutine, no zombie.
func TestCyclesLeaveNothing(t *testing.T) {
	a := newActuator(t)
	e := entry(t, "/bin/true")
	e.Object.Spec.Ports = []spec.Port{{Name: "http"}}
	bad := entry(t, "./nothing")
	cycle := func() {
		in, err := a.Start(e, newToken(), nil)
		if err != nil {
			t.Fatal(err)
		}
		nextExit(t, a, in.LastMain)
		a.Forget(in)
		if _, err := a.Start(bad, newToken(), nil); err == nil {
			t.Fatal("a program that is not there was started")
		}
	}
	for range 10 {
		cycle()
	}
	before := census(t)
	for range 200 {
		cycle()
	}
	eventually(t, fmt.Sprintf("as before: %+v", before), func() bool {
		now := census(t)
		return now.fds <= before.fds && now.goroutines <= before.goroutines && now.children <= before.children
	})
	eventually(t, "old output is thinned out", func() bool {
		logs, _ := filepath.Glob(filepath.Join(a.opts.StateDir, "logs/*.log"))
		return len(logs) <= spec.DefaultLogBounds.Keep+1
	})
}
