package spec

import (
	"strconv"
	"strings"
)

// SplitUser takes a user in the form USER[:GROUP] apart. The group is empty
// where none is given.
func SplitUser(s string) (user, group string) {
	user, group, _ = strings.Cut(s, ":")
	return user, group
}

// AccountID gives the number that a user or group is written as; ok is false for
// a name. The highest number is none: system calls use it for "no change"
// (chown(2), setresuid(2)).
func AccountID(s string) (id uint32, ok bool) {
	if !isWhole(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil && n <= maxAccountID
}

const (
	maxAccountID   = 1<<32 - 2
	maxAccountName = 255
)

func (c *checker) user(s string) {
	if s == "" {
		return
	}
	user, group := SplitUser(s)
	switch {
	case user == "":
		c.failf(at("spec", "user"), "%q has no user before the colon: write NAME, UID, NAME:GROUP or UID:GID", shorten(s))
		return
	case group == "" && strings.Contains(s, ":"):
		c.failf(at("spec", "user"), "%q has no group after the colon: leave the colon out for the user's own", shorten(s))
		return
	}
	c.account("user", user)
	if group != "" {
		c.account("group", group)
	}
}

// account checks the name or number of a user or group. Names are let through
// in the form that useradd(8) and directory services make; who is there is only
// known on the machine.
func (c *checker) account(what, s string) {
	if isDigits(strings.TrimPrefix(s, "-")) {
		if _, ok := AccountID(s); !ok {
			c.failf(at("spec", "user"), "%q is no number of a %s: 0 to %d, without leading zeros", shorten(s), what, uint32(maxAccountID))
		}
		return
	}
	inner := func(b byte) bool { return isAlnum(b) || strings.IndexByte("_-.@+\\$", b) >= 0 }
	if len(s) > maxAccountName || s[0] == '-' || !all(s, inner) {
		c.failf(at("spec", "user"), "%q is no name of a %s", shorten(s), what)
	}
}
