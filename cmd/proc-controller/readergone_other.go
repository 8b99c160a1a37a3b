//go:build !(linux || darwin || freebsd)

package main

import "context"

// readerGone is noticed by the next write here.
func readerGone(any) context.Context { return context.Background() }
