//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ours drives the controller.
type ours struct {
	oneFile bool   // all workloads of the start in one file
	spare   int    // suspended workloads; then drop resumes one of them
	runtime string // runtime directory of a user manager; empty is scopes off
	probed  bool   // each workload serves HTTP, and is asked every ten seconds

	w       *world
	process *process
}

func (o *ours) name() string { return "ours" }

func (o *ours) manifests() string { return filepath.Join(o.w.dir, "manifests") }

func (o *ours) file(name string) string { return filepath.Join(o.manifests(), name+".yaml") }

// manifest is an ordinary small one. Back-off 0 asks for a restart at once.
func (o *ours) manifest(name string, suspend bool) string {
	port, probe := "", ""
	if o.probed {
		port = ", $(PORT)"
		probe = "  ports: [{name: http, port: 0}]\n  readinessProbe: {httpGet: {port: http}, periodSeconds: 10}\n"
	}
	return fmt.Sprintf(`---
apiVersion: proc-controller.dev/v1alpha1
kind: MCPServer
metadata:
  name: %s
  labels: {team: bench}
spec:
  command: [%s]
  args: [%s, %s%s]
  backoff: {initial: 0s}
  suspend: %t
%s`, name, o.w.bench.payload, o.w.record.path, name, port, suspend, probe)
}

func (o *ours) prepare(w *world, names []string) error {
	o.w = w
	for _, dir := range []string{"manifests", "state", "run"} {
		if err := os.Mkdir(filepath.Join(w.dir, dir), 0o700); err != nil {
			return err
		}
	}
	var all bytes.Buffer
	for _, name := range names {
		text := o.manifest(name, false)
		all.WriteString(text)
		if o.oneFile {
			continue
		}
		if err := os.WriteFile(o.file(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if o.oneFile {
		return os.WriteFile(o.file("all"), all.Bytes(), 0o600)
	}
	for i := range o.spare {
		name := spareName(i)
		if err := os.WriteFile(o.file(name), []byte(o.manifest(name, true)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func spareName(i int) string { return fmt.Sprintf("spare-%05d", i) }

func (o *ours) start() error {
	env, scopes := environment(), "off"
	if o.runtime != "" {
		env, scopes = environment("XDG_RUNTIME_DIR="+o.runtime), "systemd"
	}
	var err error
	o.process, err = o.w.spawn(nil, env, o.w.bench.controller, "run", "--manifests", o.manifests(),
		"--state-dir", filepath.Join(o.w.dir, "state"), "--socket", filepath.Join(o.w.dir, "run", "api.sock"),
		"--scopes="+scopes)
	return err
}

// ready waits for the word on stderr.
func (o *ours) ready() error {
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline); {
		out, err := os.ReadFile(o.process.output)
		if err != nil {
			return err
		}
		if bytes.Contains(out, []byte("ready")) {
			return nil
		}
		if err := o.w.bench.sleep(20 * time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("the controller did not become ready")
}

// drop writes the manifest beside the directory, so that only the rename is seen.
func (o *ours) drop(name string) (func() error, error) {
	return o.replace(name, false)
}

func (o *ours) replace(name string, suspend bool) (func() error, error) {
	from := filepath.Join(o.w.dir, name+".yaml")
	err := os.WriteFile(from, []byte(o.manifest(name, suspend)), 0o600)
	return func() error { return os.Rename(from, o.file(name)) }, err
}

func (o *ours) remove(name string, pid int) error {
	if o.spare == 0 {
		return os.Remove(o.file(name))
	}
	rename, err := o.replace(name, true)
	if err != nil {
		return err
	}
	return rename()
}

func (o *ours) stop() error { return o.process.terminate(syscall.SIGTERM) }

func (o *ours) pid() int { return o.process.pid() }
