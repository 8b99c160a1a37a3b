//go:build !unix

package main

import "io"

// columnsOf takes nothing for a terminal here.
func columnsOf(io.Writer, func(string) string) int { return 0 }
