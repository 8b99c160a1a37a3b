//go:build linux

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The ways to run the workloads: plainly, or each in a scope of a systemd user
// manager that is started for the run.
const (
	scopesOff     = "off"
	scopesSystemd = "systemd"
)

// scopeMark stands in a plan for the scope that a manifest asks for: the stream
// of a seed is the same in each mode.
const scopeMark = "@SCOPE@"

// userManager is a systemd user manager apart from any that the machine has.
type userManager struct {
	script, dir string
}

// startManager starts one; its XDG_RUNTIME_DIR is below dir.
func startManager(ctx context.Context, dir string) (*userManager, error) {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot find the module: %w", err)
	}
	m := &userManager{
		script: filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "hack", "user-manager"),
		dir:    filepath.Join(dir, "um"),
	}
	if out, err := exec.CommandContext(ctx, m.script, "start", m.dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot start a user manager: %w\n%s", err, out)
	}
	return m, nil
}

func (m *userManager) stop() error {
	if out, err := exec.Command(m.script, "stop", m.dir).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot stop the user manager: %w\n%s", err, out)
	}
	return nil
}

// scopes gives the scopes of ours that there are and the pids in them, by the
// cgroups below those of the manager: the script keeps a list of them.
func (m *userManager) scopes() map[string][]string {
	if m == nil {
		return nil
	}
	found := map[string][]string{}
	list, _ := os.ReadFile(filepath.Join(m.dir, ".cgroups"))
	for _, root := range strings.Fields(string(list)) {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && isScope(d.Name()) {
				procs, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
				found[d.Name()] = append(found[d.Name()], strings.Fields(string(procs))...)
			}
			return nil // what goes away meanwhile is gone
		})
	}
	return found
}

func isScope(name string) bool {
	return strings.HasPrefix(name, "proc-controller-") && strings.HasSuffix(name, ".scope")
}

// scopeOf gives the scope of ours that a process is in, or "". See cgroups(7):
// on hybrid hosts systemd manages the hierarchy name=systemd.
func scopeOf(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || parts[0] != "0" && parts[1] != "name=systemd" {
			continue
		}
		for name := range strings.SplitSeq(parts[2], "/") {
			if isScope(name) {
				return name
			}
		}
	}
	return ""
}

// judgeScopes wants each main process in a scope of its own, what belongs to it
// in there too, and nothing in other scopes.
func judgeScopes(s scene) (wrong []string) {
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	of := map[int]string{} // by pid of the main process
	for _, c := range s.children {
		if !c.main {
			continue
		}
		if id := c.value("PROC_CONTROLLER_INSTANCE"); id == "" || !strings.HasSuffix(c.scope, ":"+id+".scope") {
			complain("%v is in the scope %q", c, c.scope)
		}
		of[c.pid] = c.scope
	}
	for _, c := range s.children {
		if want, ok := of[c.mainPID]; ok && c.scope != want {
			complain("%v is in the scope %q, its main process is in %q", c, c.scope, want)
		}
	}
	return append(wrong, strayScopes(s.scopes, s.children)...)
}

// strayScopes complains of scopes in which something runs that is no workload.
// Those in which nothing runs are not the product's: where a wrapper is killed
// while it asks for its scope, systemd may keep one that nobody ever entered.
func strayScopes(scopes map[string][]string, children []child) (wrong []string) {
	for name, pids := range scopes {
		if len(pids) > 0 && !slices.ContainsFunc(children, func(c child) bool { return c.scope == name }) {
			wrong = append(wrong, fmt.Sprintf("pids %v are left in the scope %s", pids, name))
		}
	}
	return wrong
}
