//go:build linux || darwin || freebsd

package main

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// readerGone gives a context that ends when nobody reads what is written to w
// any more (poll(2) POLLERR of a pipe): a verb that waits would notice it only
// with its next line.
func readerGone(w any) context.Context {
	f, ok := w.(*os.File)
	if !ok {
		return context.Background()
	}
	ctx, gone := context.WithCancel(context.Background())
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	go func() {
		for {
			_, err := unix.Poll(fds, -1)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err == nil {
				gone()
			}
			return
		}
	}()
	return ctx
}
