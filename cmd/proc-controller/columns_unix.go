//go:build unix

package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// columnsOf gives the width of the terminal that w is, on which a line can be
// written over; 0 where it is none.
func columnsOf(w io.Writer, getenv func(string) string) int {
	f, ok := w.(*os.File)
	if !ok || getenv("TERM") == "" || getenv("TERM") == "dumb" {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	if size.Col == 0 {
		return 80 // it does not say
	}
	return int(size.Col)
}
