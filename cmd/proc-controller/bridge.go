package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/proc-controller/proc-controller/actuate"
	"github.com/proc-controller/proc-controller/actuate/bridge"
)

// isBridge says that these are the arguments of a bridge. It is asked before the
// verbs are put together, so that a bridge stays small.
func isBridge(args []string) bool { return len(args) > 0 && args[0] == actuate.BridgeVerb }

// What a bridge needs little of: there is one for each stdio server.
const (
	bridgeGarbage = 25 // in percent of what is in use
	// bridgeThreads run Go at a time. With more, each message wakes another one: a ping
	// takes a fifth longer, and fifty clients get no more calls done.
	bridgeThreads = 1
)

// bridgeServer is the life of a bridge: it serves until it is told to end. The exit
// code is that of its server where that could not be started.
//
// A signal that is to end it does so in order, however often it comes: at the death of
// the controller the kernel sends one, and the guard another. Only a second SIGINT,
// of somebody at a keyboard, cuts it short.
func bridgeServer(args []string, std streams) int {
	o, err := actuate.ParseBridge(args[1:])
	if errors.Is(err, flag.ErrHelp) {
		_, _ = io.WriteString(std.out, actuate.BridgeUsage()) // a reader who has gone needs none
		return exitDone
	}
	if err != nil {
		std.say(err)
		return exitUsage
	}
	actuate.ShowAs(actuate.BridgeName)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(bridgeGarbage)
	}
	runtime.GOMAXPROCS(min(bridgeThreads, runtime.GOMAXPROCS(0)))
	o.Stderr = os.Stderr
	actuate.ForgetPages()
	ctx, release := untilTold()
	defer release()
	err = bridge.Run(ctx, o)
	var exit *bridge.ExitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &exit):
		fmt.Fprintln(std.err, "bridge: "+oneLine(exit.Reason))
		return exit.Code
	}
	fmt.Fprintln(std.err, "bridge: "+oneLine(err.Error()))
	return exitFailed
}

// untilTold gives a context that ends with the first signal that is to end a bridge.
func untilTold() (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancel(context.Background())
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	// Caught, and for nobody: a reader of the log who has gone ends nothing. To ignore
	// it would have the server ignore it, too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		for s := range told {
			if ctx.Err() != nil && s == syscall.SIGINT {
				os.Exit(exitFailed)
			}
			cancel()
		}
	}()
	return ctx, func() { signal.Stop(told); cancel() }
}
