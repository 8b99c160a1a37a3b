//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// withMarker is in the environment of everything that one run of "with" starts.
const withMarker = "E2E_WITH"

// withRun is one run of "with", in a temporary directory of its own.
type withRun struct {
	t    testing.TB
	dir  string // of the manifests
	temp string // its TMPDIR
	id   string
	// tag is an argument that programs which clear their environment are to have.
	tag string
	cmd *exec.Cmd
	out bytes.Buffer
	err bytes.Buffer
	env []string
}

// newWithRun prepares a run with these manifests, by file name.
func newWithRun(t testing.TB, manifests map[string]string) *withRun {
	t.Helper()
	n := rigs.Add(1)
	w := &withRun{t: t, dir: t.TempDir(), temp: t.TempDir(), id: fmt.Sprintf("with-%s-%d", runID, n)}
	w.tag = fmt.Sprintf("1000.%d%04d", os.Getpid(), n)
	must(t, os.Chmod(w.dir, 0o755))
	for name, content := range manifests {
		must(t, os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o644))
	}
	w.env = append(cleanEnvironment(), runMarker+"="+runID, withMarker+"="+w.id, "TMPDIR="+w.temp, "HOME="+w.temp)
	return w
}

// start starts it: flags, "--", a command.
func (w *withRun) start(args ...string) {
	w.t.Helper()
	w.cmd = exec.Command(controllerBinary, append([]string{"with", "--scopes", "off"}, args...)...)
	w.cmd.Env, w.cmd.Dir, w.cmd.Stdout, w.cmd.Stderr = w.env, w.dir, &w.out, &w.err
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// What holds our ends of its pipes is what the test looks for by itself.
	w.cmd.WaitDelay = soon
	must(w.t, w.cmd.Start())
}

// run runs a command with the manifests and gives the exit code.
func (w *withRun) run(command ...string) int {
	w.t.Helper()
	w.start(append([]string{"-f", w.dir, "--"}, command...)...)
	return w.wait()
}

// wait gives the exit code, and checks that nothing is left.
func (w *withRun) wait() int {
	w.t.Helper()
	_ = w.cmd.Wait()
	if err := w.left(); err != nil {
		w.t.Errorf("%v\n%s", err, w.err.String())
	}
	return w.cmd.ProcessState.ExitCode()
}

// left names what is there of the run: processes and files.
func (w *withRun) left() error {
	found := living(func(p proc) bool {
		return p.has(withMarker, w.id) || strings.Contains(commandLine(p.pid), w.tag)
	})
	files, _ := filepath.Glob(filepath.Join(w.temp, "*"))
	if len(found)+len(files) > 0 {
		return fmt.Errorf("left: %v, files %v", found, files)
	}
	return nil
}

// ends fails the test unless the run ends so, and says each of these texts.
func (w *withRun) ends(code, want int, texts ...string) {
	w.t.Helper()
	if code != want {
		w.t.Errorf("exit code %d, want %d", code, want)
	}
	for _, text := range texts {
		if !strings.Contains(w.err.String(), text) {
			w.t.Errorf("it does not say %q", text)
		}
	}
	if w.t.Failed() {
		w.t.Logf("stdout:\n%s\nstderr:\n%s", w.out.String(), w.err.String())
	}
}

func listener(name, ports, more string) string {
	return manifest("Agent", name, fmt.Sprintf("command: [%s]\nenv: [{name: %s, value: listen}]\nports: [%s]\n%s", os.Args[0], payloadVariable, ports, more))
}

func TestWithExitCodes(t *testing.T) {
	t.Parallel()
	set := map[string]string{"a.yaml": agent("a", "onControllerExit: Keep"), "note.txt": "not read"}
	for _, tt := range []struct {
		name    string
		command []string
		code    int
		says    []string
	}{
		{"good", []string{"true"}, 0, []string{"ready after", "agent/a"}},
		{"its own", []string{"sh", "-c", "exit 3"}, 3, nil},
		{"signal", []string{"sh", "-c", "kill -TERM $$"}, 128 + 15, nil},
		{"not found", []string{"no-such-program"}, 127, []string{"cannot run no-such-program"}},
		{"no program", []string{"/dev/null"}, 127, []string{"cannot run /dev/null"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWithRun(t, set)
			w.ends(w.run(tt.command...), tt.code, tt.says...)
		})
	}
}

// A command finds a stdio server at a URL, like every other.
func TestWithStdioServer(t *testing.T) {
	t.Parallel()
	w := newWithRun(t, nil)
	more := fmt.Sprintf("command: [%s, %s, %s]\nmcp: {transport: stdio}", os.Args[0], stdioPayload, w.dir)
	w = newWithRun(t, map[string]string{"counter.yaml": manifest("MCPServer", "counter", more)})
	w.ends(w.run("sh", "-c", `case "$COUNTER_URL" in "http://127.0.0.1:$COUNTER_PORT/mcp") exec grep -q "$COUNTER_URL" "$MCP_CONFIG";; esac; exit 9`), 0, "ready after")
}

// sleeps is what a shell writes to leave a sleep behind that is one by the time
// that the shell goes on: a moment after the fork it still is a shell.
func (w *withRun) sleeps() string {
	return "sleep " + w.tag + " >/dev/null 2>&1 & until [ \"$(cat /proc/$!/comm)\" = sleep ]; do :; done; "
}

// What is left is named and ended, whether it still has its environment or not.
func TestWithNamesLeaks(t *testing.T) {
	t.Parallel()
	t.Run("of the command", func(t *testing.T) {
		t.Parallel()
		w := newWithRun(t, map[string]string{"a.yaml": agent("a")})
		code := w.run("sh", "-c", w.sleeps()+"exit 3")
		w.ends(code, 126, "the command has left a process: pid ", "(sleep "+w.tag+")")
	})
	t.Run("without environment and session", func(t *testing.T) {
		t.Parallel()
		w := newWithRun(t, map[string]string{"a.yaml": agent("a")})
		code := w.run("sh", "-c", "env -i setsid sh -c '"+w.sleeps()+": >left' & until [ -e left ]; do sleep 0.01; done")
		w.ends(code, 126, "the command has left a process: pid ", "(sleep "+w.tag+")")
	})
	t.Run("of a workload", func(t *testing.T) {
		t.Parallel()
		w := newWithRun(t, nil)
		must(t, os.WriteFile(filepath.Join(w.dir, "g.yaml"), []byte(manifest("Agent", "g",
			"command: [sh, -c, \"setsid sh -c ': >left; exec sleep "+w.tag+"' & exec sleep 1000\"]\nkillMode: Group")), 0o644))
		w.ends(w.run("sh", "-c", "until [ -e left ]; do sleep 0.01; done"), 126, "agent/g has left a process: pid ")
	})
}

// A set that does not get ready ends the run, with what is to be known of it.
func TestWithSetNotReady(t *testing.T) {
	t.Parallel()
	slow := manifest("Agent", "slow", "command: [sh, -c, 'echo still warming up; sleep 1000']\nreadinessProbe: {exec: {command: ['false']}}")
	for _, tt := range []struct {
		name, content string
		says          []string
	}{
		{
			// What nobody asks is ready while it runs, even for a moment.
			"fails", manifest("Agent", "b", "command: [sh, -c, 'echo out of cheese; exit 7']\nrestartPolicy: Never\nreadinessProbe: {exec: {command: ['false']}}"),
			[]string{"agent/b: ", "exit code 7", "| out of cheese"},
		},
		{"program", manifest("Agent", "b", "command: [no-such-program]"), []string{`cannot find the program "no-such-program"`}},
		{"too slow", slow, []string{"not ready after 1.5s", "agent/slow: ", "| still warming up"}},
		{"mistake", manifest("Agent", "b", "comand: [sleep]"), []string{"b.yaml:", "did you mean command?"}},
		{"none", "", []string{"no manifest in"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWithRun(t, map[string]string{"b.yaml": tt.content, "c.yaml": agent("c")})
			if tt.content == "" {
				w = newWithRun(t, nil)
			}
			limit := "20s"
			if tt.name == "too slow" {
				limit = "1500ms"
			}
			w.start("-f", w.dir, "--timeout", limit, "--", "touch", "ran")
			w.ends(w.wait(), 125, tt.says...)
			if _, err := os.Stat(filepath.Join(w.dir, "ran")); err == nil {
				t.Error("the command ran")
			}
		})
	}
	t.Run("untrusted", func(t *testing.T) {
		t.Parallel()
		w := newWithRun(t, map[string]string{"c.yaml": agent("c")})
		must(t, os.Chmod(filepath.Join(w.dir, "c.yaml"), 0o666))
		w.ends(w.run("true"), 125, "writable by", "chmod")
	})
}

// The command finds what runs, and the verbs find the controller.
func TestWithEnvironment(t *testing.T) {
	t.Parallel()
	w := newWithRun(t, map[string]string{
		"clock.yaml": manifest("MCPServer", "clock", "command: ["+clockBinary+"]\nports: [{name: http, port: 0}]\nmcp: {}"),
		"web.yaml":   listener("web-2", "{port: 0}, {name: admin-x, port: 0}", "readinessProbe: {httpGet: {port: ''}}"),
		"paths.yaml": manifest("Agent", "paths", "command: [sh, -c, 'pwd >where']\nenvFrom: [{file: {path: vars.env}}]\nrestartPolicy: Never"),
		"vars.env":   "A=1\n",
	})
	code := w.run("sh", "-c", "env && cat $MCP_CONFIG >config.json && stat -c %a $MCP_CONFIG $(dirname $MCP_CONFIG) >modes && exec "+controllerBinary+" get -o json >get.json")
	w.ends(code, 0)
	env := strings.Split(strings.TrimSpace(w.out.String()), "\n")
	value := func(name string) string {
		for _, v := range env {
			if rest, ok := strings.CutPrefix(v, name+"="); ok {
				return rest
			}
		}
		t.Errorf("%s is not set", name)
		return ""
	}
	if got, want := value("CLOCK_URL"), "http://127.0.0.1:"+value("CLOCK_PORT")+"/mcp"; got != want || value("CLOCK_PORT_HTTP") != value("CLOCK_PORT") {
		t.Errorf("CLOCK_URL = %q, want %q", got, want)
	}
	if got, want := value("WEB_2_URL"), "http://127.0.0.1:"+value("WEB_2_PORT"); got != want || value("WEB_2_PORT_ADMIN_X") == value("WEB_2_PORT") {
		t.Errorf("WEB_2_URL = %q, want %q", got, want)
	}
	var config struct {
		MCPServers map[string]struct{ URL string }
	}
	must(t, json.Unmarshal(w.file("config.json"), &config))
	if len(config.MCPServers) != 1 || config.MCPServers["clock"].URL != value("CLOCK_URL") {
		t.Errorf("MCP_CONFIG holds %v", config)
	}
	if got := string(w.file("modes")); got != "600\n700\n" {
		t.Errorf("modes of the file and the directory: %q, want 600 and 700", got)
	}
	var list struct{ Items []object }
	must(t, json.Unmarshal(w.file("get.json"), &list))
	if len(list.Items) != 3 {
		t.Errorf("get shows %d workloads, want 3", len(list.Items))
	}
	if got := strings.TrimSpace(string(w.file("where"))); got != w.dir {
		t.Errorf("a workload ran in %q, want the directory of its manifest, %q", got, w.dir)
	}
}

func (w *withRun) file(name string) []byte {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	must(w.t, err)
	return data
}

// Several at once share manifests and nothing else.
func TestWithSeveralAtOnce(t *testing.T) {
	t.Parallel()
	const several = 4
	dir := t.TempDir()
	set := map[string]string{"web.yaml": listener("web", "{port: 0}", "readinessProbe: {httpGet: {}}")}
	var runs []*withRun
	for i := range several {
		w := newWithRun(t, set)
		// None ends before all are there.
		w.start("-f", w.dir, "--", "sh", "-c", fmt.Sprintf(
			`touch %[1]s/%[2]d; echo $WEB_PORT; until [ $(ls %[1]s | wc -l) = %[3]d ]; do sleep 0.02; done`, dir, i, several))
		runs = append(runs, w)
	}
	ports := map[string]bool{}
	for _, w := range runs {
		w.ends(w.wait(), 0)
		ports[strings.TrimSpace(w.out.String())] = true
	}
	if len(ports) != several {
		t.Errorf("%d have the ports %v", several, ports)
	}
}

// Each signal reaches the command, which decides; then the set goes.
func TestWithSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		for _, group := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v group %v", sig, group), func(t *testing.T) {
				t.Parallel()
				w := newWithRun(t, map[string]string{"a.yaml": agent("a")})
				script := fmt.Sprintf("trap 'n=$((n+1)); echo got %d' %d; touch there; while [ -z \"$n\" ]; do sleep 0.01; done; sleep 0.3; exit $((40+n))", sig, sig)
				w.start("-f", w.dir, "--", "sh", "-c", script)
				eventually(t, soon, "the command runs", func() error {
					_, err := os.Stat(filepath.Join(w.dir, "there"))
					return err
				})
				pid := w.cmd.Process.Pid
				if group { // as a terminal does
					pid = -pid
				}
				must(t, syscall.Kill(pid, sig))
				code := w.wait()
				if sig != syscall.SIGINT && group && code == 42 {
					code = 41 // these may come twice
				}
				w.ends(code, 41)
			})
		}
	}
	t.Run("before the command", func(t *testing.T) {
		t.Parallel()
		w := newWithRun(t, map[string]string{"a.yaml": agent("a", "readinessProbe: {exec: {command: [touch, asked], }, successThreshold: 100}")})
		w.start("-f", w.dir, "--", "touch", "ran")
		eventually(t, soon, "the set starts", func() error {
			_, err := os.Stat(filepath.Join(w.dir, "asked"))
			return err
		})
		must(t, w.cmd.Process.Signal(syscall.SIGINT))
		w.ends(w.wait(), 128+2)
	})
}

// Where the controller of the set is killed, its guard does the work.
func TestWithControllerKilled(t *testing.T) {
	t.Parallel()
	w := newWithRun(t, map[string]string{"a.yaml": manifest("Agent", "a", "command: [sh, -c, 'sleep 1000 & wait']")})
	code := w.run("sh", "-c", `kill -9 $(ps -eo pid,args | awk -v o="$(basename $(dirname $PROC_CONTROLLER_SOCKET) | sed s/proc-controller-//)" '$3=="controller-of" && $4==o {print $1}'); exit 5`)
	w.ends(code, 5)
}

func TestWithMisused(t *testing.T) {
	t.Parallel()
	w := newWithRun(t, map[string]string{"a.yaml": agent("a")})
	for _, tt := range []struct {
		args []string
		says string
	}{
		{nil, "say which command"},
		{[]string{"true"}, "write -- before the command"},
		{[]string{"x", "--", "true"}, `cannot understand "x"`},
		{[]string{"--timeout", "0s", "--", "true"}, "timeout"},
		{[]string{"--owner", "me", "--", "true"}, "--owner"},
		{[]string{"--scopes", "of", "--", "true"}, "use auto"},
	} {
		w.err.Reset()
		w.start(tt.args...)
		w.ends(w.wait(), 2, tt.says)
	}
	w.start("-f", "-", "--", "true")
	w.ends(w.wait(), 125, "standard input")
}

// A server answers while the command runs, and its port is free afterwards.
func TestWithServerIsThere(t *testing.T) {
	t.Parallel()
	w := newWithRun(t, map[string]string{"web.yaml": listener("web", "{port: 0}", "readinessProbe: {httpGet: {}}")})
	w.start("-f", filepath.Join(w.dir, "web.yaml"), "--", "sh", "-c", "echo $WEB_PORT >port.new; mv port.new port; until [ -e done ]; do sleep 0.02; done")
	port := 0
	eventually(t, soon, "the server answers", func() error {
		data, err := os.ReadFile(filepath.Join(w.dir, "port"))
		if err != nil {
			return err
		}
		if port, err = strconv.Atoi(strings.TrimSpace(string(data))); err != nil {
			return err
		}
		res, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", port))
		if err != nil {
			return err
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
		return nil
	})
	must(t, os.WriteFile(filepath.Join(w.dir, "done"), nil, 0o644))
	w.ends(w.wait(), 0)
	portFree(t, port)
}
