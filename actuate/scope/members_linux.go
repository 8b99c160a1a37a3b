package scope

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// tree is the cgroup v2 hierarchy as this machine shows it.
type tree struct{ mount mount }

// ours gives the directory of a scope. It refuses everything whose name is not
// that of a scope, above all the root and the empty path.
func (t tree) ours(cgroup string) (string, error) {
	if _, _, ok := observe.ParseScopeName(path.Base(cgroup)); !ok || path.Clean(cgroup) != cgroup {
		return "", fmt.Errorf("%w: %q", ErrForeign, cgroup)
	}
	dir, ok := t.mount.path(cgroup)
	if !ok {
		return "", fmt.Errorf("%w: %q is not visible here", ErrForeign, cgroup)
	}
	return dir, nil
}

// Kill sends SIGKILL to every process in the scope and below it, at once and
// so that none can fork out of it (cgroup.kill, kernel 5.14). A cgroup that is
// gone already is no error. On ErrNoKill the members have to be signalled one
// by one.
func (s *Scopes) Kill(sc observe.Scope) error {
	if sc.Cgroup == "" {
		return ErrNoKill
	}
	dir, err := s.host.tree.ours(sc.Cgroup)
	if err != nil {
		return err
	}
	err = writeFile(filepath.Join(dir, "cgroup.kill"), "1")
	switch {
	case err == nil, errors.Is(err, unix.ENODEV):
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot kill the cgroup %s: %v", sc.Cgroup, err)
	case !isFile(filepath.Join(dir, "cgroup.procs")):
		return nil // gone
	}
	return ErrNoKill
}

// Members gives the processes in the scope and in cgroups below it, zombies
// not among them. A scope that is gone has none.
func (s *Scopes) Members(sc observe.Scope) ([]int, error) {
	if sc.Cgroup == "" {
		return nil, nil
	}
	dir, err := s.host.tree.ours(sc.Cgroup)
	if err != nil {
		return nil, err
	}
	var pids []int
	err = eachCgroup(dir, func(dir string) error {
		content, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		switch {
		case err == nil:
			pids = appendPIDs(pids, string(content))
		case errors.Is(err, unix.EOPNOTSUPP): // threaded: its processes are listed above it
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENODEV):
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list the cgroup %s: %v", sc.Cgroup, err)
	}
	return pids, nil
}

// OOMKilled says whether the kernel has killed a process of the scope, or
// below it, for want of memory (memory.events). A scope that is gone, or has
// no memory controller, says no.
func (s *Scopes) OOMKilled(sc observe.Scope) bool {
	dir, err := s.host.tree.ours(sc.Cgroup)
	if err != nil {
		return false
	}
	content, err := os.ReadFile(filepath.Join(dir, "memory.events"))
	return err == nil && oomKills(string(content)) > 0
}

// Release removes the cgroup of a scope once nothing is in it. The user manager
// removes its own (--collect).
func (s *Scopes) Release(sc observe.Scope) {
	if sc.Mode == observe.ScopeCgroup {
		s.host.tree.remove(sc.Cgroup)
	}
}

// remove removes a cgroup of ours and what a child made below it. The kernel
// refuses, harmlessly, while a process lives in one of them.
func (t tree) remove(cgroup string) {
	dir, err := t.ours(cgroup)
	if err != nil {
		return
	}
	var dirs []string
	_ = eachCgroup(dir, func(dir string) error {
		dirs = append(dirs, dir)
		return nil
	})
	for i := len(dirs) - 1; i >= 0; i-- {
		if unix.Rmdir(dirs[i]) != nil {
			return
		}
	}
}

// maxCgroups bounds a walk: a child may make cgroups without end.
const maxCgroups = 10_000

// eachCgroup visits a cgroup, then those below it.
func eachCgroup(dir string, visit func(dir string) error) error {
	queue := []string{dir}
	for n := 0; n < len(queue); n++ {
		if n == maxCgroups {
			return fmt.Errorf("more than %d cgroups in it", maxCgroups)
		}
		if err := visit(queue[n]); err != nil {
			return err
		}
		entries, err := os.ReadDir(queue[n])
		if err != nil {
			continue // it vanished
		}
		for _, e := range entries {
			if e.IsDir() {
				queue = append(queue, filepath.Join(queue[n], e.Name()))
			}
		}
	}
	return nil
}

// appendPIDs reads cgroup.procs. A process of another pid namespace shows as 0
// and is left out: there is no number to signal it by.
func appendPIDs(pids []int, content string) []int {
	for field := range strings.FieldsSeq(content) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// oomKills reads the line "oom_kill N" of memory.events.
func oomKills(content string) int {
	for line := range strings.Lines(content) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			kills, _ := strconv.Atoi(strings.TrimSpace(n))
			return kills
		}
	}
	return 0
}
