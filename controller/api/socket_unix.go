//go:build unix

package api

import (
	"io/fs"
	"syscall"
)

// dirModesCount says that permission bits mean what they say here.
const dirModesCount = true

// fileUID gives the owner of a file.
func fileUID(fi fs.FileInfo) (int, bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
