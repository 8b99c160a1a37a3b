//go:build linux

package actuate

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// playController starts one workload, says so on stdout, and stays until its
// stdin is closed.
func playController() {
	var e spec.Entry
	if err := json.Unmarshal([]byte(os.Getenv("ACTUATE_TEST_ENTRY")), &e); err != nil {
		fatal(err)
	}
	a, err := New(Options{
		Owner: "test", UID: os.Getuid(), StateDir: os.Getenv("ACTUATE_TEST_STATE"),
		Environ: []string{"PATH=" + os.Getenv("PATH")}, Scopes: scope.Mode(os.Getenv("ACTUATE_TEST_SCOPES")), Log: logr.Discard(),
	})
	if err != nil {
		fatal(err)
	}
	in, err := a.Start(&e, "token", nil)
	if err != nil {
		fatal(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(started{in.LastMain, in.ID, in.Log, in.Scope})
	if script := os.Getenv(envErrand); script != "" {
		fatal(a.RunErrand(context.Background(), &e, in, []string{"/bin/sh", "-c", script}))
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	a.Close()
}

// envErrand is a script that a miniController runs for its workload.
const envErrand = "ACTUATE_TEST_ERRAND"

// started is what a miniController says of its workload.
type started struct {
	Main  observe.Ident
	ID    spec.Instance
	Log   string
	Scope observe.Scope
}

// miniController is a process of its own with an Actuator and one workload.
type miniController struct {
	cmd   *exec.Cmd
	stdin io.Closer
	started
}

// startMini re-executes the test binary in the given part, through the given
// wrapper if any.
func startMini(t *testing.T, part string, mode scope.Mode, e *spec.Entry, wrapper ...string) *miniController {
	t.Helper()
	description, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	argv := append(wrapper, os.Args[0])
	m := &miniController{cmd: exec.Command(argv[0], argv[1:]...)}
	m.cmd.Env = append(os.Environ(), envPart+"="+part,
		"ACTUATE_TEST_SCOPES="+string(mode), "ACTUATE_TEST_ENTRY="+string(description), "ACTUATE_TEST_STATE="+filepath.Join(t.TempDir(), "state"))
	m.cmd.Stderr = os.Stderr
	if null, err := os.Open(os.DevNull); err == nil {
		// What a careless parent leaves open above stderr.
		m.cmd.ExtraFiles = []*os.File{null, null}
		defer null.Close()
	}
	m.stdin, _ = m.cmd.StdinPipe()
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.kill)
	hurry := time.AfterFunc(patience, func() { _ = m.cmd.Process.Kill() })
	defer hurry.Stop()
	if err := json.NewDecoder(out).Decode(&m.started); err != nil {
		t.Fatalf("the controller said nothing: %v", err)
	}
	t.Cleanup(func() { endByPID(t, m.Main) })
	return m
}

// kill ends the controller with SIGKILL and waits.
func (m *miniController) kill() {
	if m.cmd.ProcessState == nil {
		_ = m.cmd.Process.Kill()
		_ = m.cmd.Wait()
	}
}
