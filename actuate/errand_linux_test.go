package actuate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// errandWithin runs a script as an errand that may take as long as given.
func errandWithin(a *Actuator, e *spec.Entry, in *observe.Instance, within time.Duration, script string) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return a.RunErrand(ctx, e, in, []string{"sh", "-c", script})
}

// says checks that an error is one line with these words.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v does not say %q in one line", err, w)
		}
	}
}

func TestErrandHasTheSurroundingsOfItsWorkload(t *testing.T) {
	a, e := newActuator(t), shell(t, "exec sleep 100")
	e.Object.Spec.Env = []spec.EnvVar{{Name: "GREETING", Value: "hello"}}
	in := mustStart(t, a, e)
	err := errandWithin(a, e, in, patience, `echo one; echo "$GREETING $(pwd) $MCP_SERVICE_ID $PROC_CONTROLLER_INSTANCE" >&2; exit 3`)
	says(t, err, fmt.Sprintf("exit code 3: hello %s work %s", e.Dir, in.ID))
	if err := a.RunErrand(t.Context(), e, in, []string{"test", "$(GREETING)", "=", "hello"}); err != nil {
		t.Errorf("a variable is not expanded: %v", err)
	}
	says(t, errandWithin(a, e, in, patience, "echo bye; kill -SEGV $$$$"), "ended by SIGSEGV: bye")
	says(t, a.RunErrand(t.Context(), e, in, []string{"no-such-program"}), `exec no-such-program: cannot find the program "no-such-program" in PATH=`)
}

// TestErrandIsKilledWhole: on time, and what stays in its group at its end too.
func TestErrandIsKilledWhole(t *testing.T) {
	a, e := newActuator(t), shell(t, "exec sleep 100")
	in := mustStart(t, a, e)
	pids := filepath.Join(t.TempDir(), "pids")
	for script, words := range map[string]string{
		`trap "" TERM; sleep 100 & echo $$$$ $! >` + pids + `; echo hung; wait`: "no end within 3s: hung",
		`sleep 100 & echo $! >` + pids:                                          "",
	} {
		within := patience
		if words != "" {
			within = 3 * time.Second
		}
		if err := errandWithin(a, e, in, within, script); words != "" {
			says(t, err, words)
		} else if err != nil {
			t.Error(err)
		}
		for _, pid := range pidsIn(t, pids) {
			eventually(t, "all of the errand is dead", func() bool { return dead(pid) })
		}
	}
	if dead(in.LastMain.PID) {
		t.Error("the workload did not stay")
	}
}

func pidsIn(t *testing.T, path string) (pids []int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for field := range strings.FieldsSeq(string(b)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func TestErrandThatFloods(t *testing.T) {
	a, e := newActuator(t), shell(t, "exec sleep 100")
	in := mustStart(t, a, e)
	says(t, errandWithin(a, e, in, patience, "yes flood"), "it wrote more than 16 MiB")
	if err := errandWithin(a, e, in, patience, "yes much | head -c 1000000"); err != nil {
		t.Errorf("a megabyte is too much: %v", err)
	}
}

// TestErrandDoesNotOutliveItsInstance, and as long as it is there the end of the
// main process proves nothing.
func TestErrandDoesNotOutliveItsInstance(t *testing.T) {
	if byItself(t) {
		return
	}
	a, e := newActuator(t), shell(t, "exec sleep 100")
	in := mustStart(t, a, e)
	if err := errandWithin(a, e, in, patience, "true"); err != nil {
		t.Fatal(err)
	}
	pids := filepath.Join(t.TempDir(), "pids")
	done := make(chan error, 1)
	go func() {
		// No other program is run for it: killed with it, that would be an orphan
		// for a while, and an end beside it proves nothing.
		done <- errandWithin(a, e, in, patience, "echo $$$$ >"+pids+"; exec sleep 100")
	}()
	eventually(t, "the errand runs", func() bool { b, _ := os.ReadFile(pids); return strings.HasSuffix(string(b), "\n") })
	endByPID(t, in.LastMain)
	if x := nextExit(t, a, in.LastMain); x.Alone {
		t.Error("it ended alone, while an errand ran")
	}
	if err := <-done; !errors.Is(err, ErrGone) {
		t.Errorf("the errand: %v", err)
	}
	if pid := pidsIn(t, pids)[0]; !dead(pid) {
		t.Errorf("pid %d of the errand lives", pid)
	}
	if err := errandWithin(a, e, in, patience, "true"); !errors.Is(err, ErrGone) {
		t.Errorf("another one after the end: %v", err)
	}
	next := mustStart(t, a, e)
	if err := errandWithin(a, e, next, patience, "true"); err != nil {
		t.Fatal(err)
	}
	endByPID(t, next.LastMain)
	if x := nextExit(t, a, next.LastMain); !x.Alone {
		t.Error("an errand that is over keeps an end from proving that nothing is left")
	}
}

// TestErrandsEndBeforeAnUpgrade: the next image would not know of them.
func TestErrandsEndBeforeAnUpgrade(t *testing.T) {
	a, e := newActuator(t), shell(t, "exec sleep 100")
	in := mustStart(t, a, e)
	done := make(chan error, 1)
	up := filepath.Join(t.TempDir(), "up")
	go func() { done <- errandWithin(a, e, in, patience, "echo >"+up+"; exec sleep 100") }()
	eventually(t, "the errand runs", func() bool { _, err := os.Stat(up); return err == nil })
	a.Pause()
	says(t, <-done, context.Canceled.Error())
	says(t, errandWithin(a, e, in, patience, "true"), "given up")
	a.Resume()
	if err := errandWithin(a, e, in, patience, "true"); err != nil {
		t.Error(err)
	}
}

// TestErrandOfADeadController: its process dies with the controller, and what has
// detached itself is known for a member of the instance by whoever looks.
func TestErrandOfADeadController(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	t.Setenv(envErrand, `setsid sleep 1000 & echo $$$$ $! >`+pids+`.new; mv `+pids+`.new `+pids+`; wait`)
	e := shell(t, "exec sleep 1000")
	e.Object.Spec.OnControllerExit = spec.ExitKeep
	m := startMini(t, "controller", scope.Off, e)
	eventually(t, "the errand runs", func() bool { _, err := os.Stat(pids); return err == nil })
	errand, detached := pidsIn(t, pids)[0], pidsIn(t, pids)[1]
	eventually(t, "it has detached itself", func() bool { sid, err := unix.Getsid(detached); return err == nil && sid == detached })
	id, err := identOf(child{pid: detached})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { endByPID(t, id) })
	m.kill()
	eventually(t, "the errand is dead", func() bool { return dead(errand) })
	verdict, evidence := observe.Confirm(id, observe.Claim{
		Owner: "test", UID: os.Getuid(), Key: e.Key, Instance: m.ID, Main: m.Main,
	})
	if verdict != observe.Ours {
		t.Errorf("what it has detached is %v: %q", verdict, evidence)
	}
}

// TestErrandsLeaveNothing: no descriptor, no child, no goroutine.
func TestErrandsLeaveNothing(t *testing.T) {
	a, e := newActuator(t), shell(t, "exec sleep 100")
	in := mustStart(t, a, e)
	if err := errandWithin(a, e, in, patience, "true"); err != nil {
		t.Fatal(err)
	}
	before := census(t)
	for range 50 {
		if err := errandWithin(a, e, in, patience, "true"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "as much is open as before", func() bool {
		now := census(t)
		return now.fds <= before.fds && now.children <= before.children && now.goroutines <= before.goroutines
	})
}
