//go:build linux

package e2e

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The kills of TestWithKilledAtAnyMoment, and how many runs of such a test are at once.
const (
	withKills    = 200
	withTogether = 8
)

// killMoment is when a run is killed: after it has come so far, and a while.
type killMoment struct {
	phase string // "start", "command", "end"
	after time.Duration
}

func (m killMoment) String() string { return m.phase + " + " + m.after.String() }

// momentOf spreads the kills over all that a run does: the most while it starts.
func momentOf(n int, r *rand.Rand) killMoment {
	switch n % 4 {
	case 0:
		return killMoment{"command", time.Duration(r.IntN(50)) * time.Millisecond}
	case 1:
		return killMoment{"end", time.Duration(r.IntN(150)) * time.Millisecond}
	}
	return killMoment{"start", time.Duration(r.IntN(400)) * time.Millisecond}
}

// Whenever it is killed, nothing stays: not the set, not what the command has
// started, whether that can be told by its environment or not, and no file.
func TestWithKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	atMoments(t, withKills, momentOf, killedAt)
}

// atMoments has so many runs, each at a moment of its own, withTogether at once; in
// short mode two for each of those.
func atMoments[M any](t *testing.T, runs int, moment func(n int, r *rand.Rand) M, run func(*testing.T, M)) {
	if testing.Short() {
		runs = 2 * withTogether
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	moments := make(chan M, runs)
	for n := range runs {
		moments <- moment(n, r)
	}
	close(moments)
	var workers sync.WaitGroup
	for range withTogether {
		workers.Go(func() {
			for m := range moments {
				run(t, m)
			}
		})
	}
	workers.Wait()
}

// killedAt is one such run.
func killedAt(t *testing.T, m killMoment) {
	w := newWithRun(t, map[string]string{
		"a.yaml": agent("a"),
		"b.yaml": manifest("Agent", "b", "command: [sh, -c, 'setsid sleep 1000 & wait']\nonControllerExit: Keep"),
	})
	script := "touch there; sleep 1000 & env -i setsid sleep " + w.tag + " & until [ -e done ]; do sleep 0.01; done"
	w.start("-f", w.dir, "--", "sh", "-c", script)
	exited := make(chan struct{})
	go func() {
		_ = w.cmd.Wait()
		close(exited)
	}()
	if m.phase != "start" {
		err := within(context.Background(), soon, func() error {
			_, err := os.Stat(filepath.Join(w.dir, "there"))
			return err
		})
		if err != nil {
			t.Errorf("%v: the command does not run: %v", m, err)
		}
	}
	if m.phase == "end" {
		_ = os.WriteFile(filepath.Join(w.dir, "done"), nil, 0o644)
	}
	<-time.After(m.after)
	if err := w.cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("%v: %v", m, err)
	}
	if err := within(context.Background(), soon, w.left); err != nil {
		t.Errorf("%v: %v", m, err)
	}
	<-exited
}

// withKeys are those of TestWithInterruptedAtAnyMoment.
const withKeys = 120

// Whenever Ctrl-C comes, the run ends of that, with the code for it: a key is neither
// lost between the set and the command, nor taken for a fault of ours.
func TestWithInterruptedAtAnyMoment(t *testing.T) {
	t.Parallel()
	inStart := func(_ int, r *rand.Rand) time.Duration { return time.Duration(r.IntN(400)) * time.Millisecond }
	atMoments(t, withKeys, inStart, interruptedAt)
}

// interruptedAt is one such run.
func interruptedAt(t *testing.T, after time.Duration) {
	w := newWithRun(t, map[string]string{"a.yaml": agent("a")})
	w.start("-f", w.dir, "--", "sleep", "1000")
	<-time.After(after)
	must(t, syscall.Kill(-w.cmd.Process.Pid, syscall.SIGINT)) // as a terminal does
	ended := make(chan struct{})
	go func() {
		_ = w.cmd.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(soon):
		t.Errorf("%v: the key was lost\n%s", after, w.err.String())
		_ = w.cmd.Process.Kill()
		<-ended
	}
	status, _ := w.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if w.cmd.ProcessState.ExitCode() != 128+int(syscall.SIGINT) && status.Signal() != syscall.SIGINT {
		t.Errorf("%v: it ends with %v\n%s", after, w.cmd.ProcessState, w.err.String())
	}
	if err := within(context.Background(), soon, w.left); err != nil {
		t.Errorf("%v: %v", after, err)
	}
}
