//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

// uidOf gives the owner of a file, -1 where it is not known.
func uidOf(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
