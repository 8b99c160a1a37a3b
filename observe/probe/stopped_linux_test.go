package probe

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// clockProgram builds the example server, once. TestMain removes it.
var clockProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "clock-server")
	if err != nil {
		return "", err
	}
	atEnd = func() { _ = os.RemoveAll(dir) }
	program := filepath.Join(dir, "clock-server")
	if out, err := exec.Command("go", "build", "-o", program, "../../examples/clock-server").CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the example: %v: %s", err, out)
	}
	return program, nil
})

// clockServer runs the example server.
func clockServer(t *testing.T) (*exec.Cmd, *observe.Instance) {
	t.Helper()
	program, err := clockProgram()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, instance(t, "http://127.0.0.1:"+port)
}

// eventually asks until a probe succeeds.
func eventually(t *testing.T, p *Prober, q observe.Question) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for {
		_, err := ask(p, q, patience)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("still failing: %v", err)
		}
	}
}

// TestAStoppedServerFails: its kernel goes on accepting connections, so that one
// that is only opened succeeds; it does not answer. What was known of it before
// makes no difference, and once it goes on it succeeds again.
func TestAStoppedServerFails(t *testing.T) {
	t.Parallel()
	cmd, in := clockServer(t)
	p, greetedBefore := newProber(t), question(in, overHTTP(spec.ProtocolAuto))
	eventually(t, p, greetedBefore)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitForState(t, cmd.Process.Pid, "T")
	other := *in
	other.ID = "two-2"
	for _, q := range []observe.Question{greetedBefore, verifying(greetedBefore), question(&other, overHTTP(spec.ProtocolAuto)), question(in, get("/mcp"))} {
		_, err := ask(p, q, 200*time.Millisecond)
		fails(t, err, "no answer within ")
	}
	mustAsk(t, p, question(in, spec.Probe{TCPSocket: &spec.TCPSocketAction{Port: "http"}}))
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if a := mustAsk(t, p, verifying(greetedBefore)); a.Server == nil || a.Server.Tools == 0 {
		t.Errorf("after it: %+v", a.Server)
	}
}

// waitForState waits for a state letter of proc_pid_stat(5).
func waitForState(t *testing.T, pid int, want string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 10_000 {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		if _, after, ok := strings.Cut(string(b), ") "); ok && strings.HasPrefix(after, want) {
			return
		}
		<-tick.C
	}
	t.Fatalf("pid %d is never in state %s", pid, want)
}

// TestNoPortWaitsOutItsTime: after many probes the kernel remembers no connection
// on the server's port (state TIME-WAIT, 06 in proc_pid_net_tcp(5)).
func TestNoPortWaitsOutItsTime(t *testing.T) {
	t.Parallel()
	_, in := clockServer(t)
	p, q := newProber(t), question(in, overHTTP(spec.ProtocolAuto))
	eventually(t, p, q)
	for range 20 {
		mustAsk(t, p, q)
		_, err := ask(p, question(in, get("/")), patience)
		fails(t, err, "404 Not Found")
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	local := fmt.Sprintf(" 0100007F:%04X ", in.Ports[0].Port)
	for line := range strings.Lines(string(table)) {
		if _, after, ok := strings.Cut(line, local); ok {
			if f := strings.Fields(after); len(f) > 1 && f[1] == "06" {
				t.Fatalf("on the port of the server: %s", line)
			}
		}
	}
}
