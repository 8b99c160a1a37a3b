//go:build darwin || freebsd

package source

import "golang.org/x/sys/unix"

// readOnlyMount tells whether nobody can write through the mount that a path
// lies in.
func readOnlyMount(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Flags&unix.MNT_RDONLY != 0
}

// hasACL is false: on these systems an access control list does not hide
// behind the group bits.
func hasACL(string) bool { return false }
