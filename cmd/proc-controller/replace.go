package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/proc-controller/proc-controller/actuate"
	"github.com/proc-controller/proc-controller/controller"
)

// How long the new program may take to say its version, and what is in flight
// to end.
const (
	checkWithin = 10 * time.Second
	restWithin  = 30 * time.Second
)

// replacing is the way from this image of the controller to the next.
type replacing struct {
	m *machine
	// program is the path that this image was started by, with its symlinks:
	// where they lead by now is what is executed.
	program string

	mu      sync.Mutex
	busy    bool
	failure string // of the last attempt
}

// programPath is the path by which this program was started. It is asked for at
// the start: later the working directory, or the file, may be another.
func programPath() string {
	self, err := os.Executable()
	if err != nil {
		self = ""
	}
	given, err := exec.LookPath(os.Args[0])
	if err == nil {
		given, err = filepath.Abs(given)
	}
	if err != nil || !sameFile(given, "/proc/self/exe") {
		return self // the name that it was given says nothing
	}
	return given
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// Prepare checks the program on the disk. What it gives carries out the upgrade,
// and is called once; until then nothing has changed. One upgrade is under way
// at a time.
func (r *replacing) Prepare(ctx context.Context) (commit func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy {
		return nil, errors.New("cannot upgrade: another upgrade is under way")
	}
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	r.busy, r.failure = true, ""
	return func() { go r.carryOut() }, nil
}

// Failure says why the last upgrade that was begun did not happen.
func (r *replacing) Failure() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// check runs "version" of the program on the disk: a controller that cannot
// start must not take the place of one that works.
func (r *replacing) check(ctx context.Context) error {
	if r.program == "" {
		return errors.New("cannot upgrade: this controller lives no longer than the command that it was started for")
	}
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	code, out, err := r.m.actuator.RunHelper(ctx, []string{r.program, "version", "-o", "json"}, os.Environ(), "/")
	switch {
	case err != nil:
		return fmt.Errorf("cannot upgrade: %v", err)
	case code != 0:
		return fmt.Errorf("cannot upgrade: %s version ended with exit code %d: %s", r.program, code, strings.TrimSpace(out))
	}
	var v versionInfo
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Version == "" {
		return fmt.Errorf("cannot upgrade: %s is no %s", r.program, program)
	}
	if v.Heirloom != heirloomFormat {
		return fmt.Errorf("cannot upgrade: %s %s could not go on with what runs; restart the controller instead", r.program, v.Version)
	}
	return nil
}

// carryOut ends with this image, or goes on as before and says why.
func (r *replacing) carryOut() {
	r.m.log.Info("upgrading", "program", r.program, "upgrades", r.m.upgrades()+1)
	ctx, cancel := context.WithTimeout(context.Background(), restWithin)
	defer cancel()
	err := r.m.controller.HandOver(ctx, controller.Handover{
		Pause: r.m.actuator.Pause, Replace: r.replace, Resume: r.m.actuator.Resume,
	})
	r.m.log.Error(err, "cannot upgrade; going on as before")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy, r.failure = false, err.Error()
}

// replace is called while the controller stands still.
func (r *replacing) replace(state []byte) error {
	m := r.m
	parcel, err := actuate.WrapParcel(state)
	if err != nil {
		return err
	}
	defer parcel.Close()
	h := heirloom{Upgrades: m.upgrades() + 1, Ledger: noMirror, History: int(parcel.Fd())}
	keep := []int{h.History}
	if h.Lock, err = m.lock.Descriptors(); err != nil {
		return err
	}
	keep = append(keep, h.Lock...)
	if m.records.mirror != nil {
		h.Ledger = m.records.mirror.Descriptor()
		keep = append(keep, h.Ledger)
	}
	var more []int
	h.Actuator, more = m.actuator.Bequeath(m.guard)
	env, err := h.environ()
	if err != nil {
		return err
	}
	m.prober.Close() // or each image would leave a session at every MCP server
	m.records.flush()
	m.flushLog()
	if m.signals.hangupIgnored && runtime.GOOS != "windows" {
		signal.Ignore(syscall.SIGHUP) // as it was when we began; it is caught by now
	}
	defer m.signals.catch()
	if !m.signals.release() {
		return controller.ErrShutDown
	}
	return m.actuator.Exec(r.program, os.Args, env, append(keep, more...))
}

// upgrades counts the images before this one.
func (m *machine) upgrades() int {
	if m.heirloom == nil {
		return 0
	}
	return m.heirloom.Upgrades
}
