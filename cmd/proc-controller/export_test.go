package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/clients"
)

// cursorFile is a file of Cursor with a server in it that is not ours.
func cursorFile(t *testing.T) *clientFile {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	write(t, path, "{\n  \"mcpServers\": {} // none\n}\n")
	return &clientFile{client: clients.Named("cursor"), path: path, exports: filepath.Join(dir, "state", "exports")}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// told is what puts an entry with a URL in.
func told(f *clientFile, url string) changing {
	entry := f.client.Entry(clients.Endpoint{Name: "files", URL: url, Door: []string{"x"}}, false)
	return func(data []byte, r *clients.Record) (*clients.Change, error) {
		return f.client.Merge(data, r, []clients.Entry{entry}, false)
	}
}

func untold(f *clientFile) changing {
	return func(data []byte, r *clients.Record) (*clients.Change, error) {
		return f.client.Strip(data, r, nil, false)
	}
}

func becomes(t *testing.T, f *clientFile, change changing, want clients.Outcome) {
	t.Helper()
	done, err := f.apply(context.Background(), change)
	if err != nil {
		t.Fatal(err)
	}
	if got := done.Outcomes["files"]; got != want {
		t.Errorf("the outcome is %q, want %q", got, want)
	}
}

// A link stays one, and what it leads to keeps its mode.
func TestExportFollowsLinks(t *testing.T) {
	f := cursorFile(t)
	before := read(t, f.path)
	real := filepath.Join(filepath.Dir(f.path), "dotfiles.json")
	if err := errors.Join(os.Rename(f.path, real), os.Symlink("dotfiles.json", f.path)); err != nil {
		t.Fatal(err)
	}
	becomes(t, f, told(f, "http://127.0.0.1:1/mcp"), clients.Added)
	if to, err := os.Readlink(f.path); err != nil || to != "dotfiles.json" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if fi, err := os.Stat(real); err != nil || fi.Mode().Perm() != 0o640 {
		t.Errorf("what it leads to is %v, %v", fi, err)
	}
	if got := read(t, f.path+backupSuffix); got != before {
		t.Errorf("the backup is %q", got)
	}
	becomes(t, f, untold(f), clients.Removed)
	if got := read(t, real); got != before {
		t.Errorf("it is not what it was: %q", got)
	}
}

// What another program writes in the meantime is not lost.
func TestExportSeesOtherWriters(t *testing.T) {
	f := cursorFile(t)
	theirs := `{"mcpServers": {"theirs": {}}}`
	_, err := f.apply(context.Background(), func(data []byte, r *clients.Record) (*clients.Change, error) {
		write(t, f.path, theirs)
		return told(f, "http://127.0.0.1:1/mcp")(data, r)
	})
	if !errors.Is(err, errMeanwhile) || read(t, f.path) != theirs {
		t.Fatalf("%v: it is %q", err, read(t, f.path))
	}
	becomes(t, f, told(f, "http://127.0.0.1:1/mcp"), clients.Added)
	becomes(t, f, untold(f), clients.Removed)
	if got := read(t, f.path); got != theirs {
		t.Errorf("it is not what it was: %q", got)
	}
}

// One that ended between the record and the file has made nothing foreign.
func TestExportAfterAnInterruption(t *testing.T) {
	f := cursorFile(t)
	becomes(t, f, told(f, "http://127.0.0.1:1/mcp"), clients.Added)
	file, first := read(t, f.path), recordOf(t, f)
	becomes(t, f, told(f, "http://127.0.0.1:2/mcp"), clients.Updated)
	second := recordOf(t, f)
	write(t, f.path, file) // as if it had not come to that
	if err := f.keep(second.Both(first)); err != nil {
		t.Fatal(err)
	}
	becomes(t, f, told(f, "http://127.0.0.1:3/mcp"), clients.Updated)
	if got := read(t, f.path); !strings.Contains(got, ":3/mcp") {
		t.Errorf("it is %q", got)
	}
}

// What is read-only stays as it is, and nothing is kept of the attempt.
func TestExportWritesOverNothingReadOnly(t *testing.T) {
	f := cursorFile(t)
	before := read(t, f.path)
	if err := os.Chmod(f.path, 0o444); err != nil {
		t.Fatal(err)
	}
	_, err := f.apply(context.Background(), told(f, "http://127.0.0.1:1/mcp"))
	if err == nil || !strings.HasSuffix(err.Error(), "chmod u+w "+f.path) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	if got := read(t, f.path); got != before {
		t.Errorf("it has become %q", got)
	}
	for _, path := range []string{f.path + backupSuffix, f.recordPath()} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is there", path)
		}
	}
	if err := os.Chmod(f.path, 0o644); err != nil {
		t.Fatal(err)
	}
	becomes(t, f, told(f, "http://127.0.0.1:1/mcp"), clients.Added)
	if err := os.Chmod(f.path, 0o444); err != nil {
		t.Fatal(err)
	}
	becomes(t, f, told(f, "http://127.0.0.1:1/mcp"), clients.Same)
}

func recordOf(t *testing.T, f *clientFile) *clients.Record {
	t.Helper()
	r, err := readRecord(f.recordPath())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A file that was made is removed again, with its directory; one that got more stays.
func TestExportRemovesWhatItMade(t *testing.T) {
	dir := t.TempDir()
	f := &clientFile{
		client: clients.Named("vscode"), given: true, exports: filepath.Join(dir, "exports"),
		path: filepath.Join(dir, ".vscode", "mcp.json"),
	}
	becomes(t, f, told(f, "http://127.0.0.1:1/mcp"), clients.Added)
	becomes(t, f, untold(f), clients.Removed)
	if _, err := os.Stat(filepath.Dir(f.path)); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
	becomes(t, f, told(f, "http://127.0.0.1:1/mcp"), clients.Added)
	write(t, f.path, read(t, f.path)+"// mine\n")
	becomes(t, f, untold(f), clients.Removed)
	if got := read(t, f.path); got != "{}\n// mine\n" {
		t.Errorf("it is %q", got)
	}
}

func TestFixedPort(t *testing.T) {
	o := &api.Object{Spec: &spec.Spec{Ports: []spec.Port{{Name: "http", Port: 0}, {Name: "other", Port: 8123}}}}
	if fixedPort(o, "http://127.0.0.1:9000/mcp") || !fixedPort(o, "http://127.0.0.1:8123/mcp") {
		t.Error("it is not told whether a port is fixed")
	}
}

// The door finds the controller from surroundings that have nothing but a home.
func TestDoorNamesTheSocket(t *testing.T) {
	env := map[string]string{"HOME": "/home/me", "XDG_RUNTIME_DIR": "/run/user/1"}
	h := thisHost()
	h.uid, h.getenv = 1, func(name string) string { return env[name] }
	p, err := (&placeFlags{owner: "o"}).locate(h)
	if err != nil {
		t.Fatal(err)
	}
	argv, err := p.door("files")
	if err != nil || len(argv) < 5 || argv[1] != "connect" || argv[2] != "files" || argv[3] != "--owner" {
		t.Fatalf("the door is %q, %v", argv, err)
	}
	if argv[len(argv)-1] != "/run/user/1/proc-controller/o/api.sock" {
		t.Errorf("the door is %q", argv)
	}
}

func TestNotRunningIsSaidOnce(t *testing.T) {
	for want, status := range map[string]spec.Status{
		"BackOff: exit code 3":                  {Phase: spec.PhaseBackOff, Reason: spec.ReasonBackOff, Message: "exit code 3"},
		"Pending: NoFreePort: 8123 is not free": {Phase: spec.PhasePending, Reason: spec.ReasonNoFreePort, Message: "8123 is not free"},
	} {
		if got := notRunning(&api.Object{Status: api.Status{Status: status}}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
