//go:build !unix

package store

import (
	"io/fs"
	"os"
)

// resemble gives a file the mode of another; there are no owners here.
func resemble(w *os.File, former fs.FileInfo) error { return w.Chmod(former.Mode().Perm()) }

// Writable fails where there is no such directory.
func Writable(dir string) error {
	_, err := os.Stat(dir)
	return err
}

// ownerOf gives the mode of a directory.
func ownerOf(fi fs.FileInfo) string { return "mode " + fi.Mode().String() }
