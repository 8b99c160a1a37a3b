//go:build linux

package actuate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

// reader is an agent that uses two servers.
func reader(t testing.TB, command ...string) *spec.Entry {
	t.Helper()
	e := entry(t, command...)
	e.Object.Kind = spec.KindAgent
	e.Object.Spec.MCPServers = []spec.ServerRef{{Name: "files"}, {Name: "clock"}}
	e.Key = e.Object.Key()
	return e
}

func endpoint(name string, port int) spec.ServerEndpoint {
	s := spec.ServerEndpoint{Name: name, Type: spec.TransportHTTP}
	if port > 0 {
		s.URL = fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
	}
	return s
}

func mustPublish(t *testing.T, a *Actuator, e *spec.Entry, servers ...spec.ServerEndpoint) spec.MCPConfigFile {
	t.Helper()
	f, err := a.Publish(e, servers)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPublishWritesWhatHasChanged(t *testing.T) {
	a, e := newActuator(t), reader(t, "true")
	f := mustPublish(t, a, e, endpoint("files", 8123), endpoint("clock", 0))
	const one = `{
  "mcpServers": {
    "files": {
      "type": "http",
      "url": "http://127.0.0.1:8123/mcp"
    }
  }
}
`
	if got := read(t, f.Path); got != one || !f.Written {
		t.Errorf("written: %v, it is %s", f.Written, got)
	}
	before, _ := os.Stat(f.Path)
	if before.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", before.Mode())
	}
	if dir, _ := os.Stat(filepath.Dir(f.Path)); dir.Mode().Perm() != 0o700 {
		t.Errorf("mode of the directory %v", dir.Mode())
	}

	f = mustPublish(t, a, e, endpoint("files", 8123), endpoint("clock", 0))
	if after, _ := os.Stat(f.Path); f.Written || !os.SameFile(before, after) {
		t.Errorf("it was written again, with nothing new")
	}

	// What is not known stays, also for a controller that knows nothing.
	open, err := os.Open(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	f = mustPublish(t, a, e, endpoint("files", 0), endpoint("clock", 9000))
	if got := read(t, f.Path); !strings.Contains(got, ":8123/") || !strings.Contains(got, ":9000/") {
		t.Errorf("it is %s", got)
	}
	if f.Servers[0] != endpoint("files", 8123) || f.Servers[1] != endpoint("clock", 9000) {
		t.Errorf("it says that %v are in it", f.Servers)
	}
	// Whoever has it open reads the former one to its end.
	if b := make([]byte, len(one)+1); true {
		if n, _ := open.Read(b); string(b[:n]) != one {
			t.Errorf("a reader was given %q", b[:n])
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(f.Path)); len(left) != 1 {
		t.Errorf("beside it there is something: %v", left)
	}
	if got := a.Published(); len(got) != 1 || got[0] != e.Key {
		t.Errorf("published: %v", got)
	}
	for range 2 { // the second time there is none
		if err := a.Withdraw(e.Key); err != nil || len(a.Published()) > 0 {
			t.Errorf("%v, %v are left", err, a.Published())
		}
	}
}

// Whatever is in the place of the file, it is replaced and not followed.
func TestPublishReplacesWhatIsThere(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a link":         func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "elsewhere"), path) },
		"a FIFO":         func(path string) error { return unix.Mkfifo(path, 0o600) },
		"garbage":        func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"open to others": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o644)) },
		"a torn attempt": func(path string) error {
			return os.WriteFile(filepath.Join(filepath.Dir(path), ".work.json.new"), nil, 0o400)
		},
		"a large document": func(path string) error { return os.WriteFile(path, make([]byte, maxMCPConfig+1), 0o600) },
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			a, e := newActuator(t), reader(t, "true")
			path := MCPConfigPath(a.opts.StateDir, e.Key)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), put(path)); err != nil {
				t.Fatal(err)
			}
			mustPublish(t, a, e, endpoint("files", 1))
			st, err := os.Lstat(path)
			if err != nil || st.Mode() != 0o600 || !strings.Contains(read(t, path), ":1/") {
				t.Errorf("%v, mode %v", err, st.Mode())
			}
			if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
				t.Errorf("beside it there is something: %v", left)
			}
		})
	}
}

// The agent is told by MCP_CONFIG, also in its arguments; a manifest may say
// something else.
func TestAgentIsToldOfTheFile(t *testing.T) {
	a := newActuator(t)
	e := reader(t, "/bin/sh", "-c", `cat "$MCP_CONFIG" "$1" "$COPY" | grep -c 8123`, "sh", "$(MCP_CONFIG)")
	e.Object.Spec.Env = []spec.EnvVar{{Name: "COPY", Value: "$(MCP_CONFIG)"}}
	mustPublish(t, a, e, endpoint("files", 8123))
	if got := output(t, mustStart(t, a, e)); got != "3\n" {
		t.Errorf("it wrote %q", got)
	}
	own := reader(t, "/bin/sh", "-c", `echo "$MCP_CONFIG"`)
	own.Object.Spec.Env = []spec.EnvVar{{Name: spec.EnvMCPConfig, Value: "/etc/mine.json"}}
	if got := output(t, mustStart(t, a, own)); got != "/etc/mine.json\n" {
		t.Errorf("it wrote %q", got)
	}
	if got := output(t, mustStart(t, a, shell(t, `echo "${MCP_CONFIG-none}"`))); got != "none\n" {
		t.Errorf("without servers it wrote %q", got)
	}
}

func TestPublishForAnotherUser(t *testing.T) {
	// Below a directory that is closed to others nobody could read it.
	closed := newActuator(t)
	e := asNobody(t, reader(t, "/bin/sh", "-c", `id -u; cat "$MCP_CONFIG" | grep -c 8123; ls "$(dirname "$MCP_CONFIG")" 2>&1 | grep -c denied`))
	if err := os.Chmod(filepath.Dir(closed.opts.StateDir), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := closed.Publish(e, []spec.ServerEndpoint{endpoint("files", 8123)})
	if reason, message := asStartError(t, err); reason != spec.ReasonMCPConfig || !strings.Contains(message, "nobody cannot enter "+filepath.Dir(closed.opts.StateDir)) {
		t.Errorf("%s: %s", reason, message)
	}

	dir, err := os.MkdirTemp("", "state")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	a := newActuator(t, func(o *Options) { o.StateDir = dir })
	f := mustPublish(t, a, e, endpoint("files", 8123))
	st, _ := os.Stat(f.Path)
	if uid := st.Sys().(*syscall.Stat_t).Uid; uid != 65534 || st.Mode().Perm() != 0o600 {
		t.Errorf("uid %d, mode %v", uid, st.Mode())
	}
	if mustPublish(t, a, e, endpoint("files", 8123)).Written {
		t.Error("it was written again, with nothing new")
	}
	in := mustStart(t, a, e)
	eventually(t, "it has read its file, and not the directory", func() bool { return output(t, in) == "65534\n1\n1\n" })

	e.Object.Spec.User = ""
	mustPublish(t, a, e, endpoint("files", 8123))
	if st, _ := os.Stat(f.Path); st.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Error("it still belongs to the former user")
	}
}

func asStartError(t *testing.T, err error) (spec.Reason, string) {
	t.Helper()
	var se *StartError
	if !errors.As(err, &se) {
		t.Fatalf("%v is no StartError", err)
	}
	return se.Reason, se.Message
}

func TestPublishFails(t *testing.T) {
	without := newActuator(t, func(o *Options) { o.StateDir = "" })
	_, err := without.Publish(reader(t, "true"), []spec.ServerEndpoint{endpoint("files", 1)})
	if reason, message := asStartError(t, err); reason != spec.ReasonMCPConfig || !strings.Contains(message, "--state-dir") {
		t.Errorf("%s: %s", reason, message)
	}

	a, e := newActuator(t), reader(t, "true")
	f := mustPublish(t, a, e, endpoint("files", 1))
	before := read(t, f.Path)
	// A directory that cannot be removed stands where the new file is to be made.
	blocker := filepath.Join(filepath.Dir(f.Path), ".work.json.new", "full")
	if err := os.MkdirAll(blocker, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = a.Publish(e, []spec.ServerEndpoint{endpoint("files", 2)})
	if reason, _ := asStartError(t, err); reason != spec.ReasonMCPConfig || read(t, f.Path) != before {
		t.Errorf("%s; it is %s", reason, read(t, f.Path))
	}
	if mustPublish(t, a, e, endpoint("files", 1)).Written {
		t.Error("it says that it has written")
	}
}
