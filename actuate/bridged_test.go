//go:build linux

package actuate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/bridge"
	"github.com/proc-controller/proc-controller/bearer"
	"github.com/proc-controller/proc-controller/spec"
)

// stdioEntry is a stdio server.
func stdioEntry(t *testing.T, mcp string, command ...string) *spec.Entry {
	t.Helper()
	e := entry(t, command...)
	manifest := "apiVersion: proc-controller.dev/v1alpha1\nkind: MCPServer\nmetadata: {name: memory}\nspec:\n  command: [x]\n  mcp: " + mcp + "\n"
	docs := spec.Decode("memory.yaml", []byte(manifest))
	if docs[0].Object == nil {
		t.Fatal(docs[0].Findings)
	}
	docs[0].Object.Spec.Command = command
	e.Object, e.Key, e.Hash = docs[0].Object, docs[0].Key, "0123456789abcdef"
	return e
}

func TestABridgeIsToldWhatItsManifestSays(t *testing.T) {
	a := newActuator(t)
	e := stdioEntry(t, "{transport: stdio, sharing: PerSession, maxSessions: 3, idleTimeout: 5m, protocol: Modern, path: /x}", "sh", "-c", "--", "-x")
	e.Object.Spec.StopSignal, e.Object.Spec.TerminationGracePeriodSeconds = "SIGINT", new(int64(20))
	c, err := a.commandOf(e, "", spec.NewPortMap(spec.NamedPort{Name: "http", Port: 8123}))
	if err != nil {
		t.Fatal(err)
	}
	self, _ := os.Executable()
	if c.program != self || c.argv[0] != self || c.argv[1] != BridgeVerb || !strings.HasSuffix(c.wanted, "/sh") || c.comm() != BridgeName {
		t.Errorf("program %s, wanted %s, %q", c.program, c.wanted, c.argv[:2])
	}
	got, err := ParseBridge(c.argv[2:])
	if err != nil {
		t.Fatal(err)
	}
	want := bridge.Options{
		Name: "memory", Listen: "127.0.0.1:8123", Path: "/x", Sharing: spec.SharingPerSession, Protocol: spec.ProtocolModern,
		MaxSessions: 3, IdleTimeout: 5 * time.Minute, Backoff: e.Object.Spec.Backoff, Grace: 18 * time.Second, StopSignal: 2,
		Memory: filepath.Join(a.opts.StateDir, "eras", "memory-0123456789abcdef"), Command: []string{c.wanted, "-c", "--", "-x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBadBridges(t *testing.T) {
	for says, args := range map[string][]string{
		"a controller starts by itself": {"--listen", "127.0.0.1:1"},
		"flag provided":                 {"--lisen", "127.0.0.1:1"},
		"no signal":                     {"--listen", "127.0.0.1:1", "--stop-signal", "SIGNOT", "--", "a"},
	} {
		if _, err := ParseBridge(args); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// What is wrong with the program is found before the bridge, which would be there.
func TestStdioStartErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask is
			t.Fatal(err)
		}
		return path
	}
	lost := write("lost", "#!/nonexistent/node\n", 0o755)
	open, blank, two, empty := write("open", "s3cret\n", 0o644), write("blank", "a b\n", 0o600), write("two", "a\nb\n", 0o600), write("empty", "\n", 0o600)
	long := write("long", strings.Repeat("x", bearer.MaxLength+1), 0o600)
	withToken := func(path string) string { return "{transport: stdio, auth: {tokenFile: " + path + "}}" }
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	a := newActuator(t)
	for _, tc := range []struct {
		mcp, program string
		reason       spec.Reason
		says         string
	}{
		{"{transport: stdio}", "no-such-program", spec.ReasonProgramNotFound, "in PATH="},
		{"{transport: stdio}", lost, spec.ReasonNotExecutable, "/nonexistent/node"},
		{withToken(filepath.Join(dir, "none")), "true", spec.ReasonTokenFile, "no such file"},
		{withToken(dir), "true", spec.ReasonTokenFile, "not a regular file"},
		{withToken(fifo), "true", spec.ReasonTokenFile, "not a regular file"},
		{withToken(open), "true", spec.ReasonTokenFile, "every user of this machine can read it (chmod o= " + open + ")"},
		{withToken(blank), "true", spec.ReasonTokenFile, "without blanks"},
		{withToken(two), "true", spec.ReasonTokenFile, "one line"},
		{withToken(empty), "true", spec.ReasonTokenFile, "it is empty"},
		{withToken(long), "true", spec.ReasonTokenFile, "longer than"},
	} {
		e := stdioEntry(t, tc.mcp, tc.program)
		_, started := a.Start(e, newToken(), nil)
		for _, err := range []error{started, a.Resolve(e)} {
			var se *StartError
			if !errors.As(err, &se) || se.Reason != tc.reason || !strings.Contains(se.Message, tc.says) || strings.Contains(se.Message, "s3cret") {
				t.Errorf("%s %s: %v, want %s", tc.mcp, tc.program, err, tc.says)
			}
		}
	}
	if len(a.ports.reserved) != 0 {
		t.Errorf("ports stay reserved: %v", a.ports.reserved)
	}
}

// The bridge of another manifest needs another memory: the former one goes. That of no
// manifest needs none.
func TestFormerErasGo(t *testing.T) {
	a, e := newActuator(t), stdioEntry(t, "{transport: stdio}", "true")
	dir := filepath.Join(a.opts.StateDir, eraDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"memory-fedcba9876543210", "memory-fedcba9876543210.new", "memory-0123456789abcdef",
		"memory-two-0123456789abcdef", "memory-0123456789abcdef-0123456789abcdef", "other-0123456789abcdef",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left := func(want ...string) {
		t.Helper()
		entries, _ := os.ReadDir(dir)
		var names []string
		for _, f := range entries {
			names = append(names, f.Name())
		}
		if !slices.Equal(names, want) {
			t.Errorf("left: %q", names)
		}
	}
	others := []string{"memory-0123456789abcdef-0123456789abcdef", "memory-two-0123456789abcdef", "other-0123456789abcdef"}
	a.prepareEras(e)
	left(append([]string{"memory-0123456789abcdef"}, others...)...)
	a.Dismiss(spec.Key{Kind: spec.KindAgent, Name: e.Key.Name})
	left(append([]string{"memory-0123456789abcdef"}, others...)...)
	a.Dismiss(e.Key)
	left(others...)
}

// An agent is told the token of a server, again when it has changed, and keeps what it
// was told where nothing is known of the server now.
func TestPublishTellsTokens(t *testing.T) {
	a, e := newActuator(t), reader(t, "true")
	dir := t.TempDir()
	write := func(token string) {
		if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	files := endpoint("files", 8123)
	files.TokenFile, files.Dir = "token", dir
	f := mustPublish(t, a, e, files, endpoint("clock", 8124))
	if got := spec.KnownTokens([]byte(read(t, f.Path))); len(got) != 1 || got["files"] != "one" {
		t.Errorf("told: %v", got)
	}
	if f.Servers[0] != files {
		t.Errorf("what is told is %+v", f.Servers[0])
	}
	write("two")
	if f = mustPublish(t, a, e, files, endpoint("clock", 8124)); !f.Written || spec.KnownTokens([]byte(read(t, f.Path)))["files"] != "two" {
		t.Errorf("told again: %v, %s", f.Written, read(t, f.Path))
	}
	if f = mustPublish(t, a, e, endpoint("files", 0), endpoint("clock", 8124)); f.Written || spec.KnownTokens([]byte(read(t, f.Path)))["files"] != "two" {
		t.Errorf("of a server that is not known: %v, %s", f.Written, read(t, f.Path))
	}
	if err := os.Remove(filepath.Join(dir, "token")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Publish(e, []spec.ServerEndpoint{files}); err == nil || !strings.Contains(err.Error(), "MCPServer/files: cannot use the token file") {
		t.Errorf("without the file: %v", err)
	}
}
