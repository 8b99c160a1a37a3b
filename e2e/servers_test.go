//go:build linux

package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// reader is an agent that asks the server clock, with further lines of spec.
func reader(more string) string {
	return manifest("Agent", "reader", fmt.Sprintf(
		"command: [%s]\nenv: [{name: %s, value: ask-servers}]\nmcpServers: [{name: clock}]\n%s", os.Args[0], payloadVariable, more))
}

// clock is a server on a port; 0 is one that the controller picks.
func clock(port int) string {
	return manifest("MCPServer", "clock", fmt.Sprintf("command: [%s]\nports: [{name: http, port: %d}]", clockBinary, port))
}

func clockURL(port int) string { return fmt.Sprintf("http://127.0.0.1:%d/mcp", port) }

// unusedPort is one that nobody listens on, and that no connection and no other
// test gets.
func unusedPort(t *testing.T) int {
	t.Helper()
	for range 1000 {
		port := 21_000 + (os.Getpid()+int(portsUsed.Add(1)))%11_000
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

var portsUsed atomic.Int64

// finds waits until the file of the agent names the URL, and until the agent has
// had an answer there.
func (r *rig) finds(agent object, url string) {
	r.t.Helper()
	path := filepath.Join(r.state, "mcp", "reader.json")
	eventually(r.t, soon, "the agent is told of "+url, func() error {
		c, err := readMCPConfig(path)
		if err == nil && (c.MCPServers["clock"].URL != url || c.MCPServers["clock"].Type != "http") {
			err = fmt.Errorf("it is told %v", c)
		}
		return err
	})
	eventually(r.t, soon, "the agent has an answer at "+url, func() error {
		log, err := os.ReadFile(agent.Status.Instances[0].Log)
		if err == nil && !strings.Contains(string(log), "clock answers at "+url+"\n") {
			err = fmt.Errorf("it wrote %q", log)
		}
		return err
	})
}

// An agent follows its server wherever it goes, and whatever becomes of the
// controller, without ever being restarted. Its file goes with it.
func TestAgentFollowsItsServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("reader.yaml", reader("onControllerExit: Keep"))
	r.write("clock.yaml", clock(0))
	r.start()
	_, port := r.available("mcp/clock")
	first := r.stamped("agent/reader")
	r.finds(first, clockURL(port))
	path := filepath.Join(r.state, "mcp", "reader.json")
	if first.Status.MCPConfig != path {
		t.Errorf("status names %q, want %q", first.Status.MCPConfig, path)
	}
	if p, _ := lookup(first.Status.PID); !p.has("MCP_CONFIG", path) {
		t.Errorf("MCP_CONFIG is not %s: %q", path, p.env)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, st.Mode())
	}

	second := unusedPort(t)
	r.write("clock.yaml", clock(second))
	r.finds(first, clockURL(second))

	for _, forget := range []bool{false, true} {
		r.stop()
		if forget {
			r.forget()
		}
		r.start()
		_, port := r.available("mcp/clock")
		eventually(t, soon, "the next controller tells of it", func() error {
			c, err := readMCPConfig(path)
			if err == nil && c.MCPServers["clock"].URL != clockURL(port) {
				err = fmt.Errorf("it is told %v", c)
			}
			return err
		})
	}
	before := fileStat(t, path)
	r.write("clock.yaml", strings.Replace(clock(second), "spec:", "spec:\n  suspend: true", 1))
	r.until("mcp/clock", "is suspended", func(o object) bool { return o.Status.Phase == "Suspended" })
	if after := fileStat(t, path); !os.SameFile(before, after) {
		t.Error("its file was written although the server has only stopped")
	}
	if last := r.running("agent/reader"); last.Status.PID != first.Status.PID || last.Status.Restarts > first.Status.Restarts {
		t.Errorf("the agent is pid %d with %d restarts, was %d with %d", last.Status.PID, last.Status.Restarts, first.Status.PID, first.Status.Restarts)
	}

	r.stop()
	r.remove("reader.yaml")
	r.start()
	gone(t, first.Status.PID)
	eventually(t, 2*soon, "its file is gone", func() error {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s is there", path)
		}
		return nil
	})
}

func fileStat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	st, err := os.Stat(path)
	must(t, err)
	return st
}

// An agent that is deleted loses its file soon.
func TestDeletedAgentLosesItsFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("reader.yaml", reader(""))
	r.write("clock.yaml", clock(0))
	r.start()
	o := r.running("agent/reader")
	r.remove("reader.yaml")
	gone(t, o.Status.PID)
	eventually(t, soon, "its file is gone", func() error {
		if left, err := os.ReadDir(filepath.Dir(o.Status.MCPConfig)); err != nil || len(left) > 0 {
			return fmt.Errorf("%v, %v", left, err)
		}
		return nil
	})
}

// Without a place for its file an agent is not started, and told why; one that
// runs goes on, with a warning. Both end when there is a place again.
func TestAgentWithoutAPlaceForItsFile(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a file system")
	}
	r := newRig(t)
	r.mkdir(r.state, 0o700)
	r.wrap = []string{
		"unshare", "--mount", "--propagation", "private", "sh", "-c",
		`mount -t tmpfs -o mode=700,ro,size=1m tmpfs "$1"; shift; exec "$@"`, "sh", r.state,
	}
	r.write("reader.yaml", reader("backoff: {initial: 100ms, max: 500ms}"))
	r.write("clock.yaml", clock(0))
	r.write("plain.yaml", agent("plain"))
	r.start()
	r.running("agent/plain")
	r.available("mcp/clock")
	o := r.until("agent/reader", "says why", func(o object) bool { return o.Status.Reason == "MCPConfigFailed" })
	if !strings.Contains(o.Status.Message, "read-only file system") || o.condition("Stalled").Status != "True" || o.Status.PID != 0 {
		t.Errorf("status %+v", o.Status)
	}

	r.inside("mount", "-o", "remount,rw", r.state)
	before := r.running("agent/reader")
	// Not the whole of it: the journals have files open for writing.
	dir := filepath.Join(r.state, "mcp")
	r.inside("sh", "-ec", `mount --bind "$1" "$1"; mount -o remount,ro,bind "$1"`, "sh", dir)
	r.write("clock.yaml", clock(unusedPort(t)))
	r.until("agent/reader", "has a warning", func(o object) bool {
		return len(o.Status.Warnings) == 1 && o.Status.Warnings[0].Reason == "MCPConfigFailed" && o.Status.Phase == "Running"
	})
	throughout(t, time.Second, "it runs on", func() error { return stillRuns(before.Status.PID) })
	r.inside("umount", dir)
	r.until("agent/reader", "has no warning any more", func(o object) bool { return len(o.Status.Warnings) == 0 })
	throughout(t, time.Second, "it still is the same", func() error { return stillRuns(before.Status.PID) })
}
