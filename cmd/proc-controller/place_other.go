//go:build !unix

package main

import "io/fs"

// uidOf is what os.Getuid gives here: files have no uid.
func uidOf(fs.FileInfo) int { return -1 }
