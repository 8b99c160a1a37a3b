//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bystander is a rig with one workload that runs, and that nothing of what
// follows may stop: the returned check waits a while and then looks.
func bystander(t *testing.T) (r *rig, unharmed func()) {
	t.Helper()
	r = newRig(t)
	r.write("bystander.yaml", agent("bystander"))
	r.start()
	before := r.running("agent/bystander")
	return r, func() {
		t.Helper()
		throughout(t, 1500*time.Millisecond, "the bystander runs on", func() error { return stillRuns(before.Status.PID) })
		r.alive()
	}
}

// said waits until the controller has told of something: in its log, or in what
// get shows on either stream. All words must be in one line.
func (r *rig) said(words ...string) {
	r.t.Helper()
	eventually(r.t, soon, fmt.Sprintf("a line with %q", words), func() error {
		res := r.run("get", "-o", "wide")
		all := r.proc.stderr.String() + res.stdout + res.stderr
	line:
		for line := range strings.Lines(all) {
			for _, w := range words {
				if !strings.Contains(line, w) {
					continue line
				}
			}
			return nil
		}
		return fmt.Errorf("no such line in\n%s", all)
	})
}

// TestMistakesInManifests breaks the manifest of a running workload in each way.
// It keeps running, and validate and status both tell what is wrong and where.
func TestMistakesInManifests(t *testing.T) {
	t.Parallel()
	head := "apiVersion: proc-controller.dev/v1alpha1\nkind: Agent\nmetadata: {name: a}\n"
	good := head + "spec:\n  command: [sleep, '1000']\n"
	mistakes := []struct {
		name, content string
		want          []string // in the findings
	}{
		{"unknown key", good + "  restartPolcy: Never\n", []string{":6:3: ", "restartPolcy", "restartPolicy"}},
		{"duplicate key", good + "  command: [true]\n", []string{":6:3: ", "command"}},
		{"wrong case", head + "spec:\n  Command: [sleep]\n", []string{":5:3: ", "Command", "command"}},
		{"wrong type", good + "  replicas: many\n", []string{":6:", "replicas"}},
		{"a boolean where a string is due", good + "  env: [{name: A, value: yes}]\n", []string{":6:", "yes"}},
		{"an octal where a string is due", good + "  env: [{name: A, value: 0777}]\n", []string{":6:", "0777"}},
		{"a boolean for a key", good + "  on: x\n", []string{":6:3: ", "on"}},
		{"no document", "# nothing\n", []string{":1:1: ", "no object"}},
		{"an empty document", "---\n---\n" + good + "  restartPolcy: Never\n", []string{":1:1: ", "empty"}},
		{"one key twice", good + "---\n" + good, []string{":7:", "Agent/a"}},
		{"no command", head + "spec: {}\n", []string{"command"}},
		{"a bad name", strings.Replace(good, "{name: a}", "{name: A_b}", 1), []string{":3:", "A_b"}},
		{"an unknown kind", strings.Replace(good, "Agent", "Agnet", 1), []string{":2:", "Agnet", "Agent"}},
		{"an unknown version", strings.Replace(good, "v1alpha1", "v9", 1), []string{":1:", "v9"}},
		{"a string of more than 128 KiB", good + "  env: [{name: A, value: " + strings.Repeat("x", 129<<10) + "}]\n", []string{":6:", "128 KiB"}},
		{"a file of more than 1 MiB", good + strings.Repeat("# filler\n", 2<<20/9), []string{"1 MiB"}},
		{"an alias bomb", strings.Replace(good, "{name: a}", "\n  name: a\n  labels:\n"+aliasBomb(), 1), []string{":"}},
		{"broken syntax", good + "  env: [\n", []string{":"}},
		{"binary", "\x00\x01\x02\xff\xfe a \x00", []string{":"}},
		{"replicas with a fixed port", good + "  replicas: 2\n  ports: [{port: 8080}]\n", []string{":", "port"}},
	}
	r, unharmed := bystander(t)
	r.write("a.yaml", good)
	before := r.running("agent/a")
	for _, m := range mistakes {
		path := filepath.Join(r.dir, "a.yaml")
		if err := os.WriteFile(path, []byte(m.content), 0o644); err != nil {
			t.Fatal(err)
		}
		res := r.exec("validate", path)
		if res.code != 1 {
			t.Errorf("%s: validate ends with %d, want 1", m.name, res.code)
		}
		for _, want := range append(m.want, path+":") {
			if !strings.Contains(res.stdout, want) {
				t.Errorf("%s: validate does not say %q: %s%s", m.name, want, res.stdout, res.stderr)
			}
		}
		if strings.Count(res.stdout, "\n") > 12 {
			t.Errorf("%s: more than 12 findings for one mistake: %s", m.name, res.stdout)
		}

		r.write("a.yaml", m.content)
		o := r.until("agent/a", "is not accepted with "+m.name, func(o object) bool { return o.condition("Accepted").Status == "False" })
		if o.Status.PID != before.Status.PID {
			t.Errorf("%s: pid %d, was %d", m.name, o.Status.PID, before.Status.PID)
		}
		r.write("a.yaml", good)
		r.until("agent/a", "is accepted after "+m.name, func(o object) bool { return o.condition("Accepted").Status == "True" })
	}
	if err := stillRuns(before.Status.PID); err != nil {
		t.Error(err)
	}
	unharmed()
}

// aliasBomb is a few labels that would be of some gigabytes if they were
// expanded.
func aliasBomb() string {
	var b strings.Builder
	b.WriteString("    a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		fmt.Fprintf(&b, "    a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// TestProgramsThatCannotStart edits a running workload so that its new program
// could not start: the old one keeps running, and status says why. A new
// workload with the same mistake is shown, too.
func TestProgramsThatCannotStart(t *testing.T) {
	t.Parallel()
	r, unharmed := bystander(t)
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(r.dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cases := []struct {
		name, spec string
		want       []string
	}{
		{"missing", "command: [no-such-program]", []string{"no-such-program", "PATH"}},
		{"missing-path", "command: [/no/such/program]", []string{"/no/such/program"}},
		{"directory", "command: [/etc]", []string{"/etc", "directory"}},
		{"not-executable", "command: [" + file("plain", "#!/bin/sh\n", 0o644) + "]", []string{"plain", "executable"}},
		{"no-interpreter", "command: [" + file("script", "#!/no/such/interpreter\n", 0o755) + "]", []string{"/no/such/interpreter"}},
		{"no-directory", "command: [sleep, '1000']\nworkingDir: /no/such/directory", []string{"/no/such/directory"}},
		{"no-env-file", "command: [sleep, '1000']\nenvFrom: [{file: {path: no-such.env}}]", []string{"no-such.env"}},
		{"no-value-file", "command: [sleep, '1000']\nenv: [{name: A, valueFrom: {file: {path: no-such-value}}}]", []string{"no-such-value"}},
	}
	for _, c := range cases {
		r.write(c.name+".yaml", agent(c.name))
	}
	before := map[string]object{}
	for _, c := range cases {
		before[c.name] = r.running("agent/" + c.name)
	}
	for _, c := range cases {
		r.write(c.name+".yaml", manifest("Agent", c.name, c.spec))
		r.write("new-"+c.name+".yaml", manifest("Agent", "new-"+c.name, c.spec))
	}
	for _, c := range cases {
		for _, key := range []string{"agent/" + c.name, "agent/new-" + c.name} {
			r.until(key, "says why it cannot start", func(o object) bool {
				told := o.Status.Message
				for _, cond := range o.Status.Conditions {
					told += "\n" + cond.Message
				}
				for _, want := range c.want {
					if !strings.Contains(told, want) {
						return false
					}
				}
				return o.condition("Ready").Status != "True" || o.Status.PID != 0
			})
		}
		if err := stillRuns(before[c.name].Status.PID); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	unharmed()
}

// A command that exits at once, a thousand times, costs nobody else anything.
func TestCommandThatExitsAtOnce(t *testing.T) {
	t.Parallel()
	r, unharmed := bystander(t)
	r.write("flap.yaml", manifest("Agent", "flap", "command: ['false']\nbackoff: {initial: 1ms, max: 1ms}"))
	var before footprint
	o := r.until("agent/flap", "has crashed 100 times", func(o object) bool { return o.Status.Restarts >= 100 })
	before = r.footprint()
	eventually(t, 2*time.Minute, "it has crashed a thousand times", func() (err error) {
		if o, err = r.get("agent/flap"); err == nil && o.Status.Restarts < 1000 {
			err = fmt.Errorf("restarts = %d", o.Status.Restarts)
		}
		return err
	})
	if after := r.footprint(); after.descriptors > before.descriptors+8 || after.threads > max(before.threads+4, maxThreads) || after.zombies > 4 {
		t.Errorf("footprint %+v after 1,000 crashes, %+v after 100", after, before)
	}
	if lt := o.Status.LastTermination; lt == nil || lt.ExitCode != 1 {
		t.Errorf("last termination = %+v, want exit code 1", lt)
	}
	unharmed()
}

// Each further start waits twice as long: the fourth comes 3.5 s after the first at
// the earliest.
func TestBackOff(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ran := filepath.Join(r.dir, "ran")
	r.write("a.yaml", manifest("Agent", "a", "command: [sh, -c, 'echo x >>"+ran+"; exit 1']\nbackoff: {initial: 500ms, max: 1m}"))
	began := time.Now()
	r.start()
	eventually(t, soon, "the fourth start", func() error {
		data, _ := os.ReadFile(ran)
		n := len(data) / 2
		if pauses := 500 * time.Millisecond * time.Duration(1<<max(n-1, 0)-1); time.Since(began) < pauses {
			t.Fatalf("%d starts after %v, want the last after %v", n, time.Since(began), pauses)
		}
		if n < 4 {
			return fmt.Errorf("%d starts", n)
		}
		return nil
	})
}

// TestOddEntries fills the directory with what is no manifest.
func TestOddEntries(t *testing.T) {
	t.Parallel()
	r, unharmed := bystander(t)
	in := func(name string) string { return filepath.Join(r.manifests, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(syscall.Mkfifo(in("fifo.yaml"), 0o644))
	must(os.Mkdir(in("x.yaml"), 0o755))
	must(os.Symlink("loop2.yaml", in("loop1.yaml")))
	must(os.Symlink("loop1.yaml", in("loop2.yaml")))
	must(os.Symlink("/no/such/file", in("dangling.yaml")))
	must(os.WriteFile(in("big.yaml"), []byte(strings.Repeat("# filler\n", 2<<20/9)), 0o644))
	must(os.WriteFile(in("binary.yaml"), []byte("\x7fELF\x00\x01\x02\xff\xfe"), 0o644))
	must(os.WriteFile(in("notes.txt"), []byte("no manifest"), 0o644))
	for _, name := range []string{"fifo.yaml", "x.yaml", "loop1.yaml", "dangling.yaml", "big.yaml", "binary.yaml"} {
		r.said(name)
	}
	// It still takes what is good.
	r.write("good.yaml", agent("good"))
	r.running("agent/good")
	unharmed()
}

// Two files with one key: the one already running wins, and both are told.
func TestNameUsedTwice(t *testing.T) {
	t.Parallel()
	r, unharmed := bystander(t)
	r.write("a-second.yaml", agent("bystander", "env: [{name: WHICH, value: second}]"))
	r.said("a-second.yaml", "bystander.yaml")
	unharmed()
	r.remove("a-second.yaml")
	r.until("agent/bystander", "is accepted", func(o object) bool { return o.condition("Accepted").Status == "True" })
	unharmed()
}
