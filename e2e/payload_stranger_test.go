//go:build linux

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// strangerPayload as the first argument makes this test binary a process that
// writes every signal that it gets into a file, which it makes when it is ready
// for them. With SECRET in its environment nobody can read that, with LISTEN_ON
// it listens there, and says to everybody that all is well.
const strangerPayload = "e2e-stranger"

func stranger(args []string) int {
	got := make(chan os.Signal, 64)
	signal.Notify(got)
	if os.Getenv("SECRET") != "" {
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	}
	if at := os.Getenv("LISTEN_ON"); at != "" {
		l := listenAs([]string{"listens=" + at})
		go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "well") }))
	}
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for sig := range got {
		if sig != syscall.SIGURG { // the runtime sends it to itself
			fmt.Fprintln(f, sig)
		}
	}
	return 0
}
