package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// view runs a verb that shows what goes on until somebody has seen enough: it ends
// with Ctrl-C, with SIGTERM, and when nobody reads any more what is written to w
// (head, say). That is how it is meant to end, and no failure. A reader that takes
// nothing any more is not waited for.
func view(ctx context.Context, w any, show func(context.Context) error) error {
	// Else the first write to a closed pipe ends the program before it can tell.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	defer signal.Stop(pipes)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(readerGone(w), stop)
	ended := make(chan error, 1)
	go func() { ended <- show(ctx) }()
	select {
	case err := <-ended:
		return seenEnough(ctx, err)
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return seenEnough(ctx, err)
	case <-time.After(lastWords):
		return nil
	}
}

// seenEnough takes an error for none that the end of a view is the cause of.
func seenEnough(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
