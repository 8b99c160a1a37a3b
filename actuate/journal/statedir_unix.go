//go:build unix

package journal

import (
	"fmt"
	"os"
	"syscall"
)

// checkOwner takes a directory of ours or of root. A symbolic link to one must
// be of the same: whoever owns a link decides where it leads.
func checkOwner(dir string, uid int) error {
	for _, stat := range []func(string) (os.FileInfo, error){os.Lstat, os.Stat} {
		st, err := stat(dir)
		if err != nil {
			return fmt.Errorf("cannot use the state directory: %v", err)
		}
		owner := int(st.Sys().(*syscall.Stat_t).Uid)
		if owner != uid && owner != 0 {
			return fmt.Errorf("cannot use the state directory %s: it belongs to uid %d; chown it to uid %d, or choose another one with --state-dir", dir, owner, uid)
		}
	}
	return nil
}
