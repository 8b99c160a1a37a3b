//go:build linux

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

// payloadVariable makes this test binary behave as one of the payloads below.
const payloadVariable = "E2E_PAYLOAD"

// payload is the main function of a child.
func payload(name string) int {
	switch name {
	case "listen":
		return listen()
	case "clear-environment":
		return clearEnvironment()
	case "become-root":
		return becomeRoot()
	}
	fmt.Fprintf(os.Stderr, "no payload %q\n", name)
	return 2
}

// listen answers HTTP on 127.0.0.1:$PORT with its pid, until SIGTERM.
func listen() int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	l, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "%d\n", os.Getpid())
	}))
	<-stop
	return 0
}

// clearEnvironment execs sleep with an empty environment: what is left to
// recognise it by is pid, session and group.
func clearEnvironment() int {
	err := syscall.Exec("/bin/sleep", []string{"sleep", "1000"}, []string{runMarker + "=" + os.Getenv(runMarker)})
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// becomeRoot takes on all the ids that a set-user-ID program may, and stays.
func becomeRoot() int {
	if err := syscall.Setresuid(0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop)
	<-stop
	return 0
}
