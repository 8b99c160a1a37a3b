//go:build linux

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// payloadVariable makes this test binary behave as one of the payloads below.
const payloadVariable = "E2E_PAYLOAD"

// payloads are the payloads that are chosen by the first argument, which
// survives what tests do to environments.
var payloads = map[string]func(args []string) int{
	treePayload:     treeMember,
	pidnsPayload:    pidns,
	fosterPayload:   foster,
	healthPayload:   health,
	strangerPayload: stranger,
	stuckPayload:    stuck,
	mcpPayload:      runMCPServer,
	stdioPayload:    stdio,
}

// payload is the main function of a child.
func payload(name string) int {
	switch name {
	case "listen":
		return listen()
	case "clear-environment":
		return clearEnvironment()
	case "record-signals":
		return recordSignals(false)
	case "record-signals-deaf":
		return recordSignals(true)
	case "squat":
		return squat()
	case "ask-servers":
		return askServers()
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

// listenAs listens where the words of a tree's process say: "listens" is
// 127.0.0.1:$PORT, "listens=ADDRESS:PORT" anywhere. It gives nil if they do not.
func listenAs(words []string) net.Listener {
	for _, w := range words {
		name, at, _ := strings.Cut(w, "=")
		if name != "listens" {
			continue
		}
		if at == "" {
			at = "127.0.0.1:" + os.Getenv("PORT")
		}
		l, err := net.Listen("tcp", at)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return l
	}
	return nil
}

// clearEnvironment execs sleep with an empty environment: what is left to
// recognise it by is pid, session and group.
func clearEnvironment() int {
	err := syscall.Exec("/bin/sleep", []string{"sleep", "1000"}, []string{runMarker + "=" + os.Getenv(runMarker)})
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// squat listens on an address that is a lock's, until it is killed.
func squat() int {
	l, err := net.Listen("unix", os.Getenv("E2E_ADDRESS"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer l.Close()
	fmt.Println("ready")
	for {
		c, err := l.Accept()
		if err != nil {
			return 1
		}
		c.Close()
	}
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
