package observe

import (
	"maps"

	"github.com/proc-controller/proc-controller/spec"
)

// resolveUsers finds the uids of the users that workloads run as, and says
// whether they are others than before. The user database is asked again at each
// resync, and not by each look.
func (s *Scanner) resolveUsers(known []Witness, depth Depth) (changed bool) {
	if depth != Look || s.accounts == nil {
		s.accounts = map[string]int64{}
	}
	var users map[spec.Key]uint32
	for i := range known {
		w := &known[i]
		if w.ID != "" || w.User == "" {
			continue
		}
		uid, asked := s.accounts[w.User]
		if !asked {
			uid = uidOfUser(w.User)
			s.accounts[w.User] = uid
		}
		if uid < 0 {
			continue
		}
		if users == nil {
			users = map[spec.Key]uint32{}
		}
		users[w.Key] = uint32(uid)
	}
	changed = !maps.Equal(users, s.who.users)
	s.who.users = users
	return changed
}

// uidOfUser gives the uid of a user in the form of a manifest, or -1. A number
// needs no look-up.
func uidOfUser(named string) int64 {
	name, _ := spec.SplitUser(named)
	if uid, ok := spec.AccountID(name); ok {
		return int64(uid)
	}
	a, err := LookupAccount(named)
	if err != nil {
		return -1
	}
	return int64(a.UID)
}
