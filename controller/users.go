package controller

import (
	"fmt"
	"maps"
	"slices"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// UsersOf gives the workloads whose manifest names a user.
func UsersOf(desired *spec.Set) map[spec.Key]string {
	var users map[spec.Key]string
	for _, e := range desired.Entries {
		if e.Object == nil || e.Object.Spec.User == "" {
			continue
		}
		if users == nil {
			users = map[spec.Key]string{}
		}
		users[e.Key] = e.Object.Spec.User
	}
	return users
}

// UserWitnesses tells a scan which users workloads run as, in the order of their
// keys.
func UserWitnesses(users map[spec.Key]string) []observe.Witness {
	var ws []observe.Witness
	for _, k := range slices.SortedFunc(maps.Keys(users), spec.Key.Compare) {
		ws = append(ws, observe.Witness{Key: k, User: users[k]})
	}
	return ws
}

// userUnknown says that the last scan did not know which user the workload runs
// as: it would have taken its processes for forged, and another scan has to
// look first.
func (p *planner) userUnknown(s *situation) bool {
	user := s.entry.Object.Spec.User
	if user == "" || p.w.Observed.Users[s.key] == user {
		return false
	}
	p.look = true
	p.why(s.key, Reason{Reason: spec.ReasonChecking, Detail: fmt.Sprintf("looking for what runs as user %s", user)})
	return true
}
