//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// asking are verbs that need a controller, each with what it is asked.
var asking = [][]string{
	{"get"},
	{"get", "-w"},
	{"get", "mcp/files", "-o", "json"},
	{"describe", "mcp/files"},
	{"events", "-w"},
	{"top", "--once"},
}

// A socket that nobody listens on any more is no controller: each verb says in
// one line how to start one.
func TestStaleSocket(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.socket = filepath.Join(r.dir, "a name with 'quotes'.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: r.socket, Net: "unix"})
	must(t, err)
	l.SetUnlinkOnClose(false)
	must(t, l.Close())
	hint := fmt.Sprintf("proc-controller: no controller runs for %s; start one with: proc-controller run --manifests %s", r.manifests, r.manifests)
	check := func() {
		t.Helper()
		for _, verb := range asking {
			res := r.run(verb[0], verb[1:]...)
			if res.code != 1 || res.stdout != "" || strings.Count(res.stderr, "\n") != 1 || !strings.HasPrefix(res.stderr, hint) ||
				!strings.Contains(res.stderr, `/a name with '\''quotes'\''.sock'`) {
				t.Errorf("%v: exit code %d: %q, %q", verb, res.code, res.stdout, res.stderr)
			}
		}
	}
	check()
	must(t, os.Remove(r.socket))
	check()
}

// A controller of another user answers nobody, and is not believed.
func TestSocketOfAnotherUser(t *testing.T) {
	t.Parallel()
	r := newRigAs(t, 54329)
	r.write("a.yaml", agent("a"))
	r.start()
	r.running("agent/a")
	const other = "54330"
	refused := func(why string) {
		t.Helper()
		for _, verb := range [][]string{{"get"}, {"top"}, {"describe", "agent/a"}, {"events", "-w"}} {
			out := r.asUser(other, verb[0], verb[1:]...)
			if strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "proc-controller: ") || !strings.Contains(out, why) {
				t.Errorf("%v: %q, want a line with %q", verb, out, why)
			}
		}
	}
	refused("permission denied")
	// Where the way to it is open, each end looks who the other is.
	for _, path := range []string{filepath.Dir(r.socket), r.socket} {
		must(t, os.Chmod(path, 0o777))
	}
	refused("the peer is uid 54329; only uid 54330 and root may")
}

// Whoever reads no further ends a verb without a word.
func TestClosedPipes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", agent("a"))
	r.start()
	r.running("agent/a")
	for _, verb := range [][]string{{"get", "-o", "yaml"}, {"describe", "agents"}, {"events"}, {"top"}} {
		argv := append(append([]string{"-c", `"$@" | head -n 1`, "sh", controllerBinary, verb[0]}, r.paths()...), verb[1:]...)
		cmd := exec.Command("sh", argv...)
		cmd.Env = r.env
		if out, err := cmd.CombinedOutput(); err != nil || bytes.Count(out, []byte{'\n'}) != 1 || bytes.HasPrefix(out, []byte("proc-controller: ")) {
			t.Errorf("%v: %q, %v", verb, out, err)
		}
	}
	// A watch notices at once, and has done what it was there for.
	for _, verb := range [][]string{{"get", "-w"}, {"events", "-w", "-o", "json"}} {
		cmd := exec.Command(controllerBinary, append(append([]string{verb[0]}, r.paths()...), verb[1:]...)...)
		cmd.Env = r.env
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatalf("%v: %v", verb, err)
		}
		must(t, out.Close())
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		select {
		case <-ended:
			if code := cmd.ProcessState.ExitCode(); code != 0 {
				t.Errorf("%v ended with %v", verb, cmd.ProcessState)
			}
		case <-time.After(soon):
			t.Fatalf("%v goes on without a reader", verb)
		}
	}
}
