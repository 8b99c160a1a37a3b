//go:build linux || darwin || freebsd

package source

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/proc-controller/proc-controller/spec"
)

// trust judges who could change a path. A manifest runs commands, so whoever
// can write one can run commands as the controller's user.
//
// It may be used by many goroutines.
type trust struct {
	uid    int
	also   []int
	groups groups
}

func newTrust(uid int, also []int) *trust { return &trust{uid: uid, also: also} }

// parent judges a directory above the manifests. A sticky one may be writable
// by all: nobody can remove or rename in it what is not theirs.
func (t *trust) parent(path string, st stamp) *refusal {
	if st.mode&fs.ModeSticky != 0 {
		return t.owner(path, st)
	}
	return t.place(path, st)
}

// place judges the manifest directory or a file.
func (t *trust) place(path string, st stamp) *refusal {
	if r := t.owner(path, st); r != nil {
		return r
	}
	return t.writers(path, st)
}

// owner judges who a path belongs to, which is who may change its mode.
func (t *trust) owner(path string, st stamp) *refusal {
	uid := int(st.uid)
	if uid == 0 || uid == t.uid || slices.Contains(t.also, uid) || readOnlyMount(path) {
		return nil
	}
	return refuse(spec.ReasonUntrusted,
		"%s belongs to uid %d, who could change what is run: chown %d %s, or start with --trust-uid %d",
		path, uid, t.uid, path, uid)
}

// writers judges who may write beside the owner.
func (t *trust) writers(path string, st stamp) *refusal {
	others := st.mode&0o002 != 0
	group := st.mode&0o020 != 0 && !t.privateGroup(path, st)
	if (!others && !group) || readOnlyMount(path) {
		return nil
	}
	who, mend := "others", "o-w"
	switch {
	case others && group:
		who, mend = fmt.Sprintf("group %d and others", st.gid), "go-w"
	case group:
		who, mend = fmt.Sprintf("group %d", st.gid), "g-w"
	}
	return refuse(spec.ReasonUntrusted, "%s is writable by %s: chmod %s %s", path, who, mend, spec.ShellWord(path))
}

// privateGroup tells whether the group of a path is its owner alone, as with
// a umask of 002. Where the path has an access control list, the group bits
// are its mask, and say nothing about who is let in.
func (t *trust) privateGroup(path string, st stamp) bool {
	return t.groups.private(st.uid, st.gid) && !hasACL(path)
}
