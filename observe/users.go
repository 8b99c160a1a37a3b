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
	users := uidsOf(known, func(user string) int64 {
		uid, asked := s.accounts[user]
		if !asked {
			uid = uidOfUser(user)
			s.accounts[user] = uid
		}
		return uid
	})
	changed = !maps.Equal(users, s.who.users)
	s.who.users = users
	return changed
}

// uidsOf gives the uids that the witnesses of users tell of; uidOf says -1 of a
// user that is not there.
func uidsOf(known []Witness, uidOf func(user string) int64) (users map[spec.Key]uint32) {
	for i := range known {
		w := &known[i]
		if w.ID != "" || w.User == "" {
			continue
		}
		uid := uidOf(w.User)
		if uid < 0 {
			continue
		}
		if users == nil {
			users = map[spec.Key]uint32{}
		}
		users[w.Key] = uint32(uid)
	}
	return users
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
