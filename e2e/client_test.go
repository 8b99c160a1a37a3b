//go:build linux

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// object is what `get -o json` shows of a workload, as far as the tests look.
type object struct {
	Kind     string
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Spec   map[string]any
	Status struct {
		Phase, Reason, Message string
		PID, Restarts          int
		Ports                  []port
		Hash                   string
		Conditions             []condition
		Instances              []instance
		LastTermination        *termination
		MCPConfig              string
		Warnings               []condition
		LastDeath              *dossier
		Server                 *serverInfo
		Card                   *cardInfo
		RestartAskedAt         string
		SuspendedAt            string
	}
}

type serverInfo struct {
	Name, Version, ProtocolVersion, Era, URL string
	Tools                                    int
}

type cardInfo struct {
	Name, Version, URL string
	Skills             int
}

type port struct {
	Name string
	Port int
}

type condition struct {
	Type, Status, Reason, Message string
	LastTransitionTime            time.Time
}

type instance struct {
	Instance, Scope, Hash, Log string
	PID, Restarts, Members     int
	Bridge                     *struct{ ServerPID, Sessions, Servers int }
}

type termination struct {
	ExitCode               int
	Signal, Reason, Output string
	FinishedAt             time.Time
}

type dossier struct {
	Instance, Hash, Signal, Reason, Message, Uptime, Probe string
	PID, ExitCode                                          int
	Output                                                 []string
	NextRetry, FinishedAt                                  time.Time
	Changes                                                *struct {
		LastGood             string
		Spec                 []string
		Program              *struct{ Was, Is struct{ Path string } }
		EnvAdded, EnvRemoved []string
	}
}

// condition gives the condition of the type, or one without a status.
func (o object) condition(typ string) condition {
	for _, c := range o.Status.Conditions {
		if c.Type == typ {
			return c
		}
	}
	return condition{}
}

// result is what a command wrote and how it ended.
type result struct {
	stdout, stderr string
	code           int
}

// run runs a verb of the binary with the rig's paths, for at most 20 s.
func (r *rig) run(verb string, args ...string) result {
	r.t.Helper()
	return r.exec(append(append([]string{verb}, r.paths()...), args...)...)
}

// exec runs the binary with exactly these arguments. One that does not end is ended.
// It writes into memory, so that it never waits for this process to read.
func (r *rig) exec(args ...string) result {
	r.t.Helper()
	stdout, stderr := memory(r.t), memory(r.t)
	cmd := exec.Command(controllerBinary, args...) // also where the rig's own is broken
	cmd.Env, cmd.Stdout, cmd.Stderr = r.env, stdout, stderr
	// The controller answers nobody but its own user.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: r.user}
	must(r.t, cmd.Start())
	timer := time.AfterFunc(3*soon, func() { _ = cmd.Process.Kill() })
	var failed *exec.ExitError
	err := cmd.Wait()
	res := result{written(r.t, stdout), written(r.t, stderr), cmd.ProcessState.ExitCode()}
	switch {
	case !timer.Stop():
		r.t.Fatalf("%q has not ended after %v; it wrote %d bytes, and %q", args, 3*soon, len(res.stdout), res.stderr)
	case err != nil && !errors.As(err, &failed):
		r.t.Fatal(err)
	}
	return res
}

// memory is a file that no directory has (memfd_create(2)).
func memory(t testing.TB) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("output", unix.MFD_CLOEXEC)
	must(t, err)
	return os.NewFile(uintptr(fd), "output")
}

// written gives what was written to memory, and closes it.
func written(t testing.TB, f *os.File) string {
	t.Helper()
	defer f.Close()
	_, err := f.Seek(0, io.SeekStart)
	must(t, err)
	data, err := io.ReadAll(f)
	must(t, err)
	return string(data)
}

// get asks the controller about one workload.
func (r *rig) get(key string) (o object, err error) {
	r.t.Helper()
	res := r.run("get", key, "-o", "json")
	if res.code != 0 {
		return o, fmt.Errorf("get %s: exit code %d: %s", key, res.code, strings.TrimSpace(res.stderr))
	}
	if err := json.Unmarshal([]byte(res.stdout), &o); err != nil {
		return o, fmt.Errorf("get %s: %w in %q", key, err, res.stdout)
	}
	return o, nil
}

// until waits until a workload is as ok wants it, and gives it as it was then.
func (r *rig) until(key, what string, ok func(object) bool) (o object) {
	r.t.Helper()
	eventually(r.t, cmp.Or(r.patience, soon), key+" "+what, func() (err error) {
		r.alive()
		if o, err = r.get(key); err == nil && !ok(o) {
			err = fmt.Errorf("it is %s %s %q, pid %d, conditions %+v", o.Status.Phase, o.Status.Reason, o.Status.Message, o.Status.PID, o.Status.Conditions)
		}
		return err
	})
	return o
}

// running waits until a workload runs, and that its pid is a live process that
// carries the markers.
func (r *rig) running(key string) object {
	r.t.Helper()
	o := r.until(key, "runs", func(o object) bool { return o.Status.Phase == "Running" && o.Status.PID > 0 })
	eventually(r.t, soon, key+" carries its markers", func() error {
		p, ok := lookup(o.Status.PID)
		if !ok || !p.has("PROC_CONTROLLER_OWNER", r.owner) || !p.has("PROC_CONTROLLER_SUBPROCESS", "1") {
			return fmt.Errorf("pid %d (live: %v) has %q", o.Status.PID, ok, p.env)
		}
		return nil
	})
	return o
}

// kept waits until a workload runs, and wants it under the same pid as before.
func (r *rig) kept(key string, before object) object {
	r.t.Helper()
	o := r.running(key)
	if o.Status.PID != before.Status.PID {
		r.t.Errorf("%s has pid %d, had %d", key, o.Status.PID, before.Status.PID)
	}
	return o
}

// count objects unless n live processes carry the owner's marker.
func (r *rig) count(n int) error {
	if live := marked(r.owner); len(live) != n {
		return fmt.Errorf("%d processes of the owner, want %d: %v", len(live), n, live)
	}
	return nil
}

// live waits until that many do.
func (r *rig) live(n int) {
	r.t.Helper()
	eventually(r.t, soon, fmt.Sprintf("%d processes live", n), func() error { return r.count(n) })
}

// replaced waits until a workload runs under another pid than old's, and that
// the old process is gone.
func (r *rig) replaced(key string, old object) object {
	r.t.Helper()
	o := r.until(key, "is replaced", func(o object) bool {
		return o.Status.Phase == "Running" && o.Status.PID > 0 && o.Status.PID != old.Status.PID
	})
	gone(r.t, old.Status.PID)
	return o
}

// surroundings is what the controller says of itself, as far as the tests look.
type surroundings struct {
	PID                  int
	Others, Unattributed []listed
	Unreadable           int
}

// controller asks the socket for what no verb shows whole.
func (r *rig) controller() (c surroundings) {
	r.t.Helper()
	status, body, err := r.ask("/apis/proc-controller.dev/v1alpha1/controller")
	if err == nil {
		err = json.Unmarshal([]byte(body), &c)
	}
	if err != nil || status != http.StatusOK {
		r.t.Fatalf("status %d, %v", status, err)
	}
	return c
}

// ask gives what the socket answers at a path.
func (r *rig) ask(path string) (status int, body string, err error) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", r.socket)
		},
	}}
	res, err := client.Get("http://controller" + path)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	return res.StatusCode, string(content), err
}

// post asks the controller for something below the root of its API, and wants
// status 200.
func (r *rig) post(path string) {
	r.t.Helper()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", r.socket)
		},
	}}
	res, err := client.Post("http://controller/apis/proc-controller.dev/v1alpha1/"+path, "", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		r.t.Fatalf("POST %s gives %s", path, res.Status)
	}
}

// listed is one line of `ps -o json`.
type listed struct {
	PID                                 int
	Key, Instance, Owner, Role, Verdict string
	OwnerAlive                          bool
	Evidence                            []string
}

// ps asks the scan.
func (r *rig) ps(args ...string) (list []listed) {
	r.t.Helper()
	res := r.run("ps", append(args, "-o", "json")...)
	if res.code != 0 {
		r.t.Fatalf("ps: exit code %d: %s", res.code, res.stderr)
	}
	if err := json.Unmarshal([]byte(res.stdout), &list); err != nil {
		r.t.Fatalf("ps: %v in %q", err, res.stdout)
	}
	return list
}
