//go:build linux

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// addresses are where a port can be held so that a server cannot have it.
var addresses = map[string]string{
	"IPv4 loopback": "127.0.0.1:0",
	"IPv4 wildcard": "0.0.0.0:0",
	"IPv6 loopback": "[::1]:0",
	"IPv6 wildcard": "[::]:0",
}

// A port that somebody else holds is waited for: who holds it is named, nobody
// is signalled, and the workload starts by itself when it is free.
func TestPortHeldByAStranger(t *testing.T) {
	t.Parallel()
	for name, address := range addresses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, _, _ := net.SplitHostPort(address)
			port := strconv.Itoa(unusedPort(t))
			l, err := net.Listen("tcp", net.JoinHostPort(host, port))
			if err != nil {
				t.Skipf("cannot listen on %s: %v", host, err)
			}
			l.Close()
			r := newRig(t)
			holder, signals := r.pretend(t, []string{"LISTEN_ON=" + net.JoinHostPort(host, port)}, nil...)
			r.write("a.yaml", r.server("a", port))
			r.start()
			o := r.until("agent/a", "waits for its port", func(o object) bool { return o.Status.Reason == "PortHeld" })
			p, _ := lookup(holder)
			me, err := user.Current()
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"port " + port, fmt.Sprintf("pid %d", holder), p.comm, "user " + me.Username} {
				if !strings.Contains(o.Status.Message, want) {
					t.Errorf("message %q does not name %q", o.Status.Message, want)
				}
			}
			throughout(t, time.Second, "it waits", func() error {
				if n := len(marked(r.owner)); n != 0 {
					return fmt.Errorf("%d processes of the owner", n)
				}
				return stillRuns(holder)
			})
			if data, _ := os.ReadFile(signals); len(data) > 0 {
				t.Errorf("the holder got signals: %s", data)
			}
			end(p)
			r.running("agent/a")
		})
	}
}

// server is an Agent that listens on a fixed port of the loopback address.
func (r *rig) server(name, port string) string {
	r.t.Helper()
	dir := filepath.Join(r.dir, name)
	r.mkdir(dir, 0o777)
	return manifest("Agent", name, fmt.Sprintf("command: [%s, %s, %s.%s, %s, leader+listens]\nports: [{name: http, port: %s}]",
		testBinary(r.t), treePayload, r.owner, name, dir, port))
}

// A port that a process of ours holds whose main process is gone is taken back,
// also by a controller that finds it so. (The ledger tells it that the daemon is
// not the main process: by its markers and its age it could be.)
func TestPortHeldByAStray(t *testing.T) {
	t.Parallel()
	for name, restarted := range map[string]bool{"the same controller": false, "the next controller": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			number := unusedPort(t)
			at := "127.0.0.1:" + strconv.Itoa(number)
			r := newRig(t)
			r.start()
			tr := r.plant("stray", "leader", []string{"a+daemon+session+deaf+listens=" + at}, "onControllerExit: Keep", "restartPolicy: Never")
			stray, leader := tr.pid("a"), tr.pid("leader")
			main, _ := lookup(leader)
			if restarted {
				r.crash()
				end(main)
				gone(t, leader)
				r.write("b.yaml", r.server("b", strconv.Itoa(number)))
				r.start()
			} else {
				r.write("b.yaml", r.server("b", strconv.Itoa(number)))
				r.until("agent/b", "waits for its port", func(o object) bool { return strings.Contains(o.Status.Message, fmt.Sprint(stray)) })
				if err := stillRuns(stray); err != nil {
					t.Error(err)
				}
				end(main)
			}
			gone(t, stray)
			r.running("agent/b")
		})
	}
}
