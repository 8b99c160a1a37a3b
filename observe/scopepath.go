package observe

import (
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// scopeOf finds the scope of ours that a cgroup path leads through, the
// innermost if there are several.
func scopeOf(cgroup string) (name string, id spec.Instance, ok bool) {
	for cgroup != "" {
		i := strings.LastIndexByte(cgroup, '/')
		name = cgroup[i+1:]
		if _, id, ok = ParseScopeName(name); ok {
			return name, id, true
		}
		cgroup = cgroup[:max(i, 0)]
	}
	return "", "", false
}

// isUnit says that the name of a scope is that of a systemd unit.
func isUnit(name string) bool { return strings.HasSuffix(name, scopeSuffix) }

// isScopeOf says that a component of a cgroup path names the scope of an
// instance of the owner. The owner is not read out of it: a long one is a hash.
func isScopeOf(component string, owner spec.Owner, id spec.Instance) bool {
	return strings.TrimSuffix(component, scopeSuffix) == ScopeName(owner, id)
}

// ScopeOf gives the scope of an instance of the owner that a process lives in,
// as far as its cgroup tells. Without one, ok is false.
func ScopeOf(p *Process, owner spec.Owner) (sc Scope, ok bool) {
	name, id, ok := scopeOf(p.Cgroup)
	if !ok || !isScopeOf(name, owner, id) {
		return Scope{}, false
	}
	return scopeFrom(p.Cgroup, id), true
}
