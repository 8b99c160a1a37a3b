package source

import "golang.org/x/sys/unix"

// readOnlyMount tells whether nobody can write through the mount that a path
// lies in: package stores and Kubernetes volumes have modes of their own.
func readOnlyMount(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}

// hasACL tells whether a path has a POSIX access control list (acl(5)). An
// answer that cannot be had counts as none: the attribute then is unsupported.
func hasACL(path string) bool {
	n, err := unix.Lgetxattr(path, "system.posix_acl_access", nil)
	return err == nil && n > 0
}
