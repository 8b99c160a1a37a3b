package main

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

func TestServiceManagerIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Skipf("no datagram sockets here: %v", err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	n := notifier{log: logr.Discard()}
	n.ready()
	done := make(chan struct{})
	defer close(done)
	n.stopping(done)
	for _, want := range []string{"READY=1", "STOPPING=1\nEXTEND_TIMEOUT_USEC=30000000"} {
		buf := make([]byte, 64)
		if err := l.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		size, err := l.Read(buf)
		if err != nil || string(buf[:size]) != want {
			t.Errorf("told %q (%v), want %q", buf[:size], err, want)
		}
	}
}
