package scope

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/observe"
)

// Verify looks at the child after 1 ms, then ever more seldom, for 5 s. There
// is no event for an execve(2) that an unprivileged process could wait for.
const (
	verifyWithin = 5 * time.Second
	firstLook    = time.Millisecond
	longestLook  = 50 * time.Millisecond
)

// await waits until the child runs its program, inside.
func (f *Fence) await(ctx context.Context, pid int) (place, error) {
	ctx, cancel := context.WithTimeout(ctx, verifyWithin)
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	pause := firstLook
	for {
		select {
		case <-ctx.Done():
			return place{}, fmt.Errorf("%w after %v: %s", ErrNotInside, verifyWithin, f.whatRuns(pid))
		case <-timer.C:
		}
		at, inside, err := f.look(pid)
		if inside || err != nil {
			return at, err
		}
		timer.Reset(pause)
		pause = min(pause*3/2, longestLook)
	}
}

// look says once whether the child runs its program inside. An error means
// that waiting is of no use.
func (f *Fence) look(pid int) (at place, inside bool, err error) {
	proc := "/proc/" + strconv.Itoa(pid)
	wrapped, dead, err := f.wrapped(proc)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return place{}, false, fmt.Errorf("%w: it ended at once", ErrNotInside)
	case err != nil:
		return place{}, false, fmt.Errorf("%w: %v", ErrNotInside, err)
	case wrapped && dead:
		return place{}, false, fmt.Errorf("%w: systemd-run failed", ErrNotInside)
	case wrapped:
		return place{}, false, nil
	}
	content, err := os.ReadFile(proc + "/cgroup")
	if err != nil {
		return place{}, false, fmt.Errorf("%w: %v", ErrNotInside, err)
	}
	at, inside = parsePlace(string(content)).within(f.cgroupName())
	if dead && !inside {
		return place{}, false, fmt.Errorf("%w: it ended outside", ErrNotInside)
	}
	return at, inside, nil
}

func (f *Fence) cgroupName() string {
	if f.scope.Mode == observe.ScopeSystemd {
		return f.scope.Unit
	}
	return path.Base(f.scope.Cgroup)
}

// wrapped says whether the wrapper has not yet executed the program, and
// whether what is there is a zombie. The name of the command tells quickly and
// is always readable; a program of the same name is told apart by the command
// line, which begins with the whole wrapper only before the execve(2).
func (f *Fence) wrapped(proc string) (wrapped, dead bool, err error) {
	stat, err := os.ReadFile(proc + "/stat")
	if err != nil {
		return false, false, err
	}
	comm, state := parseStat(string(stat))
	dead = state == 'Z' || state == 'X'
	if len(f.wrapper) == 0 || comm != path.Base(f.wrapper[0]) {
		return false, dead, nil
	}
	if dead {
		return true, true, nil // a zombie has no command line
	}
	line, err := os.ReadFile(proc + "/cmdline")
	if err != nil {
		return false, false, err
	}
	// Nothing is what a command line is for a moment, in the midst of execve.
	return len(line) == 0 || strings.HasPrefix(string(line), strings.Join(f.wrapper, "\x00")), false, nil
}

// parseStat gives fields 2 and 3 of proc_pid_stat(5): "11 (a b) S 1 ...". The
// name may hold parentheses, so its end is the last one.
func parseStat(line string) (comm string, state byte) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || end < open || end+2 >= len(line) {
		return "", 0
	}
	return line[open+1 : end], line[end+2]
}

// whatRuns says for an error message what became of the child.
func (f *Fence) whatRuns(pid int) string {
	wrapped, _, err := f.wrapped("/proc/" + strconv.Itoa(pid))
	switch {
	case err != nil:
		return "it is gone"
	case wrapped:
		return "the user manager does not answer systemd-run"
	}
	return "it runs outside of " + f.cgroupName()
}

// notInForce names the limits that the kernel does not hold the cgroup to. Of a
// cgroup that is gone already, nothing can be said.
func (t tree) notInForce(at place, l limits) (missing []string) {
	if at.gone {
		return nil
	}
	dir, ok := t.mount.path(at.unified)
	for _, file := range l.files() {
		content, err := os.ReadFile(path.Join(dir, file.name))
		if !ok || err != nil || !file.tight(string(content)) {
			missing = append(missing, file.controller)
		}
	}
	return slices.Compact(missing)
}
