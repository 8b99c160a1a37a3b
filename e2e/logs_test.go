//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lineReader is a `logs` that runs.
type lineReader struct {
	r              *rig
	cmd            *exec.Cmd
	stdout, stderr logFile
	exited         chan struct{}
}

// readLines runs `logs`, which writes to a file.
func (r *rig) readLines(args ...string) *lineReader {
	r.t.Helper()
	out, err := os.CreateTemp(r.dir, "lines")
	must(r.t, err)
	defer out.Close()
	l := r.readLinesTo(out, args...)
	l.stdout = logFile(out.Name())
	return l
}

func (r *rig) readLinesTo(out *os.File, args ...string) *lineReader {
	r.t.Helper()
	return r.viewTo(out, "logs", args...)
}

// viewTo runs a verb that goes on until somebody has seen enough.
func (r *rig) viewTo(out *os.File, verb string, args ...string) *lineReader {
	r.t.Helper()
	said, err := os.CreateTemp(r.dir, "said")
	must(r.t, err)
	defer said.Close()
	l := &lineReader{r: r, stderr: logFile(said.Name()), exited: make(chan struct{})}
	l.cmd = exec.Command(controllerBinary, append(append([]string{verb}, r.paths()...), args...)...)
	l.cmd.Env, l.cmd.Stdout, l.cmd.Stderr = r.env, out, said
	must(r.t, l.cmd.Start())
	go func() {
		_ = l.cmd.Wait()
		close(l.exited)
	}()
	r.t.Cleanup(func() {
		_ = l.cmd.Process.Kill()
		<-l.exited
	})
	return l
}

// end sends what Ctrl-C sends, and wants exit code 0.
func (l *lineReader) end() {
	l.r.t.Helper()
	must(l.r.t, l.cmd.Process.Signal(os.Interrupt))
	l.ended()
}

// ended waits for a good end.
func (l *lineReader) ended() {
	l.r.t.Helper()
	select {
	case <-l.exited:
	case <-time.After(soon):
		l.r.t.Fatal("the reader has not ended")
	}
	if code := l.cmd.ProcessState.ExitCode(); code != 0 {
		l.r.t.Errorf("the reader ended with %v: %s", l.cmd.ProcessState, l.stderr)
	}
}

// shows waits until a line is there.
func (l *lineReader) shows(line string) {
	l.r.t.Helper()
	eventually(l.r.t, soon, "shown: "+line, func() error {
		if all := "\n" + l.stdout.String(); !strings.Contains(all, "\n"+line+"\n") {
			return fmt.Errorf("the last of it is %q", all[max(0, len(all)-200):])
		}
		return nil
	})
}

// talker is an Agent that runs a script.
func talker(name, script string, more ...string) string {
	return manifest("Agent", name, fmt.Sprintf("command: [bash, -c, %q]\n%s", strings.ReplaceAll(script, "$", "$$"), strings.Join(more, "\n")))
}

// wrote waits until the present instance has written a line.
func (r *rig) wrote(key, line string) object {
	r.t.Helper()
	return r.until(key, "has written "+line, func(o object) bool {
		if len(o.Status.Instances) != 1 {
			return false
		}
		text, _ := os.ReadFile(o.Status.Instances[0].Log)
		return bytes.Contains(text, []byte(line+"\n"))
	})
}

// Whoever follows sees every line of every instance once, in order: also of those
// that are removed from the disk while they are read.
func TestLogsFollowTenReplacements(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const script = `exec 2>/dev/null # bash tells of its children
trap 'echo "run $RUN end"; exit 0' TERM
i=0; while [ $i -lt 300 ]; do echo "run $RUN line $i"; i=$((i+1)); done
while :; do sleep 0.05; echo "run $RUN line $i"; i=$((i+1)); done`
	run := func(n int) {
		r.write("a.yaml", talker("a", script, fmt.Sprintf("env: [{name: RUN, value: '%d'}]", n), "logs: {keep: 1}"))
	}
	run(0)
	r.start()
	l := r.readLines("agent/a", "-f")
	l.shows("run 0 line 0")
	const replacements = 10
	for n := range replacements {
		r.wrote("agent/a", fmt.Sprintf("run %d line %d", n, 10*n))
		run(n + 1)
	}
	r.wrote("agent/a", fmt.Sprintf("run %d line 300", replacements))
	l.shows(fmt.Sprintf("run %d line 300", replacements))
	r.remove("a.yaml")
	l.shows(fmt.Sprintf("run %d end", replacements))
	l.end()
	n, i := 0, 0
	for line := range strings.Lines(l.stdout.String()) {
		switch line {
		case fmt.Sprintf("run %d line %d\n", n, i):
			i++
		case fmt.Sprintf("run %d end\n", n):
			n, i = n+1, 0
		default:
			t.Fatalf("after line %d of run %d came %q", i-1, n, line)
		}
	}
	if n != replacements+1 {
		t.Errorf("%d runs were shown to their end", n)
	}
}

// The controller ends, and another begins: neither is in the way of the lines.
func TestLogsFollowThroughARestartOfTheController(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", talker("a", `i=0; while :; do echo "line $i"; i=$((i+1)); sleep 0.05; done`, "onControllerExit: Keep"))
	r.start()
	before := r.wrote("agent/a", "line 1")
	l := r.readLines("agent/a", "-f")
	l.shows("line 1")
	r.crash()
	n := strings.Count(l.stdout.String(), "\n")
	l.shows(fmt.Sprintf("line %d", n+5))
	r.start()
	r.kept("agent/a", before)
	n = strings.Count(l.stdout.String(), "\n")
	l.shows(fmt.Sprintf("line %d", n+5))
	l.end()
	i := 0
	for line := range strings.Lines(l.stdout.String()) {
		if line != fmt.Sprintf("line %d\n", i) {
			t.Fatalf("line %d is %q", i, line)
		}
		i++
	}
}

func TestLogsTailAndPrevious(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", talker("a", `echo "run $RUN"; echo two; printf last; exec sleep 1000`, "env: [{name: RUN, value: '1'}]"))
	r.start()
	r.wrote("agent/a", "two")
	if res := r.run("logs", "agent/a", "--previous"); res.code != 1 || !strings.Contains(res.stderr, "no former run of agent/a is kept") {
		t.Errorf("before the first run: %+v", res)
	}
	r.write("a.yaml", talker("a", `echo "run $RUN"; echo two; printf last; exec sleep 1000`, "env: [{name: RUN, value: '2'}]"))
	r.wrote("agent/a", "run 2\ntwo")
	for _, tc := range []struct{ args, want string }{
		{"agent/a", "run 2\ntwo\nlast\n"},
		{"agent/a --tail 2", "two\nlast\n"},
		{"agent/a --tail 0", ""},
		{"agent/a --previous", "run 1\ntwo\nlast\n"},
		{"agent/a -p --tail 3 --timestamps=false", "run 1\ntwo\nlast\n"},
		{"agent --tail 1", "last\n"},
	} {
		eventually(t, soon, "logs "+tc.args, func() error {
			if res := r.run("logs", strings.Fields(tc.args)...); res.code != 0 || res.stdout != tc.want || res.stderr != "" {
				return fmt.Errorf("%+v, want %q", res, tc.want)
			}
			return nil
		})
	}
}

func TestLogsSinceAndTimestamps(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mark := filepath.Join(r.dir, "go-on")
	r.write("a.yaml", talker("a", "echo old; while ! test -e "+mark+"; do sleep 0.05; done; echo new; exec sleep 1000"))
	r.start()
	r.wrote("agent/a", "old")
	eventually(t, soon, "the line is older than two seconds", func() error {
		if res := r.run("logs", "agent/a", "--since", "2s"); res.code != 0 || res.stdout != "" {
			return fmt.Errorf("%+v", res)
		}
		return nil
	})
	then := time.Now()
	must(t, os.WriteFile(mark, nil, 0o600))
	r.wrote("agent/a", "new")
	// A command that begins late looks less far back than it is told to here.
	eventually(t, soon, "the line is newer", func() error {
		res := r.run("logs", "agent/a", "--since", (time.Since(then) + time.Second).String())
		if res.code != 0 || strings.Contains(res.stdout, "old") {
			t.Fatalf("%+v", res)
		}
		if res.stdout != "new\n" {
			return fmt.Errorf("%+v", res)
		}
		return nil
	})
	res := r.run("logs", "agent/a", "--timestamps")
	var times []time.Time
	for line := range strings.Lines(res.stdout) {
		stamp, _, _ := strings.Cut(strings.TrimPrefix(line, "~"), " ")
		at, err := time.Parse(time.RFC3339, stamp)
		if err != nil || !strings.HasPrefix(line, "~") {
			t.Fatalf("%v: %q", err, res.stdout)
		}
		times = append(times, at)
	}
	// They are written in whole seconds.
	if len(times) != 2 || times[0].After(then.Add(-time.Second)) || times[1].Before(then.Add(-time.Second)) {
		t.Errorf("the times are %v, and the second line came after %v", times, then)
	}
}

func TestLogsOfSeveralAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", talker("a", "echo one; exec sleep 1000"))
	r.write("bb.yaml", strings.Replace(talker("bb", "echo two; exec sleep 1000"), "spec:", "  labels: {team: dev}\nspec:", 1))
	r.write("crowd.yaml", talker("crowd", "echo three; exec sleep 1000", "replicas: 2"))
	r.start()
	r.wrote("agent/a", "one")
	r.wrote("agent/bb", "two")
	const both = "agent/a  | one\nagent/bb | two\n"
	if res := r.run("logs", "agent/a", "agent/bb", "agent/a"); res.stdout != both || res.stderr != "" {
		t.Errorf("%+v", res)
	}
	if res := r.run("logs", "-l", "team=dev"); res.stdout != "two\n" {
		t.Errorf("%+v", res)
	}
	if res := r.run("logs", "-l", "team=none"); res.code != 1 || !strings.Contains(res.stderr, "no workload matches") {
		t.Errorf("%+v", res)
	}
	l := r.readLines("agent/a", "agent/bb", "-f")
	l.shows("agent/a  | one")
	l.shows("agent/bb | two")
	l.end()
	var ids []string
	eventually(t, soon, "both instances are shown", func() error {
		res := r.run("logs", "agent/crowd", "--all-members")
		ids = nil
		for line := range strings.Lines(res.stdout) {
			id, text, _ := strings.Cut(line, " | ")
			if ids = append(ids, id); text != "three\n" {
				return fmt.Errorf("%q", res.stdout)
			}
		}
		if len(ids) != 2 || ids[0] == ids[1] {
			return fmt.Errorf("%q", res.stdout)
		}
		return nil
	})
	o := r.until("agent/crowd", "has two", func(o object) bool { return len(o.Status.Instances) == 2 })
	for _, in := range o.Status.Instances {
		if token, _, _ := strings.Cut(in.Instance, "-"); token != ids[0] && token != ids[1] {
			t.Errorf("%s is not among %q", in.Instance, ids)
		}
	}
	if res := r.run("logs", "agent/crowd"); res.stdout != "three\n" || !strings.Contains(res.stderr, "2 instances of agent/crowd run") {
		t.Errorf("%+v", res)
	}
}

// Of what is wrong with the question, the answer says what would be right.
func TestLogsOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", agent("reader"))
	r.start()
	r.running("agent/reader")
	for _, tc := range []struct {
		args, stderr string
		code         int
	}{
		{"agent/raeder", "did you mean reader?", 1},
		{"mcp/reader", "did you mean agent/reader?", 1},
		{"agent/reader", "note: agent/reader has written nothing that is kept", 0},
		{"", "say whose lines", 2},
		{"agent/reader -l a=b", "exclude one another", 2},
		{"agent/reader -f --previous", "a former run writes no more", 2},
		{"agent/reader --tail -5", "bad value -5 of --tail", 2},
		{"agent/reader --since 0s", "use more than 0s", 2},
		{"-l a=b=c", "cannot read the selector", 2},
		{"pod/reader", "unknown kind", 2},
	} {
		if res := r.run("logs", strings.Fields(tc.args)...); res.code != tc.code || !strings.Contains(res.stderr, tc.stderr) || res.stdout != "" {
			t.Errorf("logs %s: %+v, want %d and %q", tc.args, res, tc.code, tc.stderr)
		}
	}
}

// Without a controller the files are there all the same, also those of a workload
// that is wanted no more.
func TestLogsWithoutAController(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", talker("a", "echo words; exec sleep 1000"))
	r.start()
	r.wrote("agent/a", "words")
	r.remove("a.yaml")
	r.live(0)
	if res := r.run("logs", "agent/a"); res.code != 0 || res.stdout != "words\n" {
		t.Errorf("of a removed workload: %+v", res)
	}
	r.stop()
	res := r.run("logs", "agent/a")
	if res.code != 0 || res.stdout != "words\n" || !strings.Contains(res.stderr, "note: no controller runs for "+r.manifests) {
		t.Errorf("%+v", res)
	}
	if res := r.run("logs", "agent/b"); res.code != 1 || !strings.Contains(res.stderr, "no Agent named b") {
		t.Errorf("%+v", res)
	}
	if res := r.run("logs", "-l", "team=dev"); res.code != 1 || !strings.Contains(res.stderr, "start one with") {
		t.Errorf("%+v", res)
	}
}

// The bounds of a manifest hold, and an edit of them acts on what runs.
func TestLogsAreBoundedByTheManifest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mark := filepath.Join(r.dir, "go-on")
	script := `i=0; while [ $i -lt 30000 ]; do printf '%099d\n' $i; i=$((i+1)); done; echo done
while ! test -e ` + mark + `; do sleep 0.05; done
while [ $i -lt 60000 ]; do printf '%099d\n' $i; i=$((i+1)); done; echo done again; exec sleep 1000`
	r.write("a.yaml", talker("a", script))
	r.start()
	before := r.wrote("agent/a", "done")
	log := before.Status.Instances[0].Log
	if used := usedBytes(t, log); used < 3_000_000 {
		t.Fatalf("%d bytes are left of 3 MB without a bound", used)
	}
	bounded := func() {
		t.Helper()
		eventually(t, soon, "the output is bounded", func() error {
			if used := usedBytes(t, log); used > 1<<20 {
				return fmt.Errorf("%d bytes", used)
			}
			return nil
		})
	}
	edit := func(more ...string) {
		t.Helper()
		r.write("a.yaml", talker("a", script, more...))
	}
	edit("logs: {maxBytes: 1Mi, keep: 1}")
	bounded()
	r.kept("agent/a", before)
	must(t, os.WriteFile(mark, nil, 0o600))
	r.wrote("agent/a", "done again")
	bounded()
	lines := strings.Split(r.run("logs", "agent/a").stdout, "\n")
	if n := len(lines) - 2; n < 6000 || lines[0] != fmt.Sprintf("%099d", 60000-n) || lines[n] != "done again" {
		t.Errorf("%d lines, from %q to %q", n, lines[0], lines[len(lines)-2])
	}
	for i := range 3 {
		edit("logs: {maxBytes: 1Mi, keep: 1}", fmt.Sprintf("env: [{name: RUN, value: '%d'}]", i))
		before = r.replaced("agent/a", before)
	}
	eventually(t, soon, "one former run is left", func() error {
		left, err := filepath.Glob(filepath.Join(r.state, "logs", "Agent.a.*.log"))
		if err == nil && len(left) != 2 {
			err = fmt.Errorf("there are %q", left)
		}
		return err
	})
}

// A bound that is larger than usual holds from the start of the next controller
// on, too: what it finds is not cut before the manifests have been read.
func TestLogsAreNotCutByTheNextController(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", talker("a", `head -c 15000000 /dev/zero | tr '\0' '\n'; echo done; exec sleep 1000`,
		"onControllerExit: Keep", "logs: {maxBytes: 20Mi}"))
	r.start()
	before := r.wrote("agent/a", "done")
	log := before.Status.Instances[0].Log
	r.crash()
	r.start()
	r.kept("agent/a", before)
	r.write("a.yaml", talker("a", `head -c 15000000 /dev/zero | tr '\0' '\n'; echo done; exec sleep 1000`,
		"onControllerExit: Keep", "logs: {maxBytes: 15Mi}")) // it has looked at the file when this is done
	r.write("b.yaml", agent("b"))
	r.running("agent/b")
	if used := usedBytes(t, log); used < 15_000_000 {
		t.Errorf("%d bytes are left", used)
	}
}

// `| head` has had enough: that is no failure, and nobody is told.
func TestLogsIntoAClosedPipe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("busy.yaml", talker("busy", "yes | head -c 1000000; exec sleep 1000"))
	r.write("quiet.yaml", talker("quiet", "echo one; exec sleep 1000"))
	r.start()
	r.wrote("agent/quiet", "one")
	r.until("agent/busy", "has written", func(o object) bool {
		return len(o.Status.Instances) == 1 && fileSize(t, o.Status.Instances[0].Log) == 1000000
	})
	for _, args := range [][]string{{"agent/busy"}, {"agent/busy", "-f"}, {"agent/quiet", "-f"}, {"agent/busy", "agent/quiet", "-f"}} {
		in, out, err := os.Pipe()
		must(t, err)
		l := r.readLinesTo(out, args...)
		out.Close()
		first := make([]byte, 1)
		if _, err := io.ReadFull(in, first); err != nil {
			t.Error(err)
		}
		in.Close()
		l.ended()
		if l.stderr.String() != "" {
			t.Errorf("logs %q: %s", args, l.stderr)
		}
	}
}

// A reader that takes nothing any more does not keep it from ending.
func TestLogsIntoAFullPipe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", talker("a", "yes | head -c 1000000; exec sleep 1000"))
	r.start()
	r.until("agent/a", "has written", func(o object) bool {
		return len(o.Status.Instances) == 1 && fileSize(t, o.Status.Instances[0].Log) == 1000000
	})
	in, out, err := os.Pipe()
	must(t, err)
	defer in.Close()
	l := r.readLinesTo(out, "agent/a", "-f")
	out.Close()
	if _, err := io.ReadFull(in, make([]byte, 1)); err != nil {
		t.Error(err)
	}
	l.end()
}

func TestLogsWithHugeLines(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", talker("a", `echo before; head -c 20000000 /dev/zero | tr '\0' x; echo; echo after; exec sleep 1000`, "logs: {maxBytes: 50Mi}"))
	r.start()
	r.wrote("agent/a", "after")
	res := r.run("logs", "agent/a", "--tail", "2")
	if want := strings.Repeat("x", 20000000) + "\nafter\n"; res.stdout != want {
		t.Errorf("%d bytes, want %d; exit code %d: %s", len(res.stdout), len(want), res.code, res.stderr)
	}
}

// Who does not say where the state is, is told by the controller.
func TestLogsInAnotherStateDirectory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", talker("a", "echo one; exec sleep 1000"))
	r.start()
	r.wrote("agent/a", "one")
	res := r.exec("logs", "agent/a", "--manifests", r.manifests, "--socket", r.socket)
	if res.code != 0 || res.stdout != "one\n" {
		t.Errorf("%+v", res)
	}
}
