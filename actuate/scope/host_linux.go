package scope

import (
	"context"
	"os"

	"github.com/proc-controller/proc-controller/spec"
)

// host is what this machine has to offer, as found at the start.
type host struct {
	tree    tree
	own     delegated
	options knownOptions
}

func newHost(mode Mode, uid int) *host {
	info, _ := os.ReadFile("/proc/self/mountinfo")
	h := &host{tree: tree{parseMounts(string(info))}}
	if mode == Auto || mode == Cgroup {
		h.own = findDelegated(h.tree, mode == Cgroup, uid)
	}
	return h
}

// lacks says why no cgroup can be made.
func (h *host) lacks() string { return h.own.why }

// fence makes f a fence of the first kind that the mode allows and the machine
// has, or says why there is none.
func (s *Scopes) fence(ctx context.Context, f *Fence, r Request) (why string) {
	if s.mode != Cgroup {
		if why = s.systemdFence(ctx, f, r); why == "" || s.mode == Systemd || ctx.Err() != nil {
			return why
		}
	}
	whyNot := s.cgroupFence(f)
	switch {
	case whyNot == "":
		return ""
	case why == "":
		return whyNot
	}
	return why + "; " + whyNot
}

// lookupEnv gives a variable of an environment in which later entries win.
func lookupEnv(env []string, name string) string {
	value := ""
	for _, e := range env {
		if len(e) > len(name) && e[len(name)] == '=' && e[:len(name)] == name {
			value = e[len(name)+1:]
		}
	}
	return value
}

// describe is what systemctl shows for a scope.
func describe(key spec.Key) string { return "proc-controller " + key.String() }
