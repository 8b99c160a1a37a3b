//go:build linux || darwin || freebsd

package source

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
)

// groups answers whether a group is a user's private one. Answers are kept
// until forget, since with a umask of 002 every file asks.
type groups struct {
	mu    sync.Mutex
	known map[[2]uint32]bool
}

// private tells whether the group has the user's name, no other member, and is
// no other user's primary group, according to passwd(5) and group(5).
func (g *groups) private(uid, gid uint32) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	ask := [2]uint32{uid, gid}
	yes, ok := g.known[ask]
	if ok {
		return yes
	}
	// A file that cannot be read gives no accounts, and then nothing is private.
	passwd, _ := os.ReadFile("/etc/passwd")
	group, _ := os.ReadFile("/etc/group")
	yes = privateGroup(passwd, group, uid, gid)
	if g.known == nil {
		g.known = make(map[[2]uint32]bool)
	}
	g.known[ask] = yes
	return yes
}

// forget drops the answers: accounts may have changed.
func (t *trust) forget() {
	t.groups.mu.Lock()
	defer t.groups.mu.Unlock()
	clear(t.groups.known)
}

// privateGroup decides from the content of passwd(5) (name:password:UID:GID:…)
// and group(5) (name:password:GID:members). Lines that make no sense are
// passed over.
func privateGroup(passwd, group []byte, uid, gid uint32) bool {
	user := ""
	for f := range accounts(passwd, 4) {
		switch {
		case f[2] == strconv.FormatUint(uint64(uid), 10):
			if user == "" {
				user = f[0]
			}
		case f[3] == strconv.FormatUint(uint64(gid), 10):
			return false // another user's primary group
		}
	}
	for f := range accounts(group, 4) {
		if f[2] != strconv.FormatUint(uint64(gid), 10) {
			continue
		}
		return user != "" && f[0] == user && (f[3] == "" || f[3] == user)
	}
	return false
}

// accounts gives the fields of each line that has enough of them.
func accounts(data []byte, fields int) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		for line := range bytes.Lines(data) {
			f := strings.Split(strings.TrimSpace(string(line)), ":")
			if len(f) >= fields && !strings.HasPrefix(f[0], "#") && !yield(f) {
				return
			}
		}
	}
}
