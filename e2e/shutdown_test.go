//go:build linux

package e2e

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slow is an Agent that takes a second to end after SIGTERM.
func slow(name string) string {
	return manifest("Agent", name, `command: [sh, -c, 'trap "sleep 1; exit 0" TERM; while :; do sleep 0.1; done']`)
}

func TestShutdownIsParallelAndKeepsKeep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const stops = 8
	for i := range stops {
		r.write(fmt.Sprintf("s%d.yaml", i), slow(fmt.Sprintf("s%d", i)))
	}
	r.write("k.yaml", agent("kept", "onControllerExit: Keep"))
	r.start()
	for i := range stops {
		minds(t, r.running(fmt.Sprintf("agent/s%d", i)).Status.PID, syscall.SIGTERM)
	}
	kept := r.running("agent/kept")

	began := time.Now()
	r.signal(syscall.SIGTERM)
	if code := r.exit(soon); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	// One after the other would take at least stops seconds.
	if took := time.Since(began); took < 900*time.Millisecond || took > (stops-1)*time.Second {
		t.Errorf("the stop took %v: want the second that each of the %d needs, at the same time", took, stops)
	}
	left := marked(r.owner)
	if len(left) != 1 || left[0].pid != kept.Status.PID {
		t.Errorf("left: %v, want pid %d alone", left, kept.Status.PID)
	}
	for _, want := range []string{"kept", fmt.Sprint(kept.Status.PID)} {
		if !strings.Contains(r.proc.stderr.String(), want) {
			t.Errorf("stderr does not name what it leaves: no %q", want)
		}
	}
}

func TestSecondSignalKills(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", manifest("Agent", "stubborn",
		"command: [sh, -c, 'trap \"\" TERM; while :; do sleep 1; done']\nterminationGracePeriodSeconds: 600"))
	r.start()
	o := r.running("agent/stubborn")
	minds(t, o.Status.PID, syscall.SIGTERM)
	r.signal(syscall.SIGTERM)
	throughout(t, time.Second, "the first signal waits for the grace period", func() error {
		r.alive()
		return stillRuns(o.Status.PID)
	})
	r.signal(syscall.SIGTERM)
	if code := r.exit(soon); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	nothingLeft(t, r.owner)
}

func TestGraceAndKill(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a.yaml", manifest("Agent", "stubborn",
		"command: [sh, -c, 'trap \"\" TERM; while :; do sleep 1; done']\nterminationGracePeriodSeconds: 1"))
	r.start()
	o := r.running("agent/stubborn")
	minds(t, o.Status.PID, syscall.SIGTERM)
	r.remove("a.yaml")
	gone(t, o.Status.PID)
	nothingLeft(t, r.owner)
}

func TestInterruptAndHangup(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.write("a.yaml", agent("a"))
			r.start()
			r.running("agent/a")
			r.signal(sig)
			if code := r.exit(soon); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			nothingLeft(t, r.owner)
		})
	}
}

// Under nohup SIGHUP is ignored at the start, and stays so.
func TestHangupIgnoredAtStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wrap = []string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh"}
	r.write("a.yaml", agent("a"))
	r.start()
	o := r.running("agent/a")
	r.signal(syscall.SIGHUP)
	throughout(t, time.Second, "it goes on", func() error { r.alive(); return stillRuns(o.Status.PID) })
	// The child starts with default dispositions all the same.
	p, _ := lookup(o.Status.PID)
	if err := syscall.Kill(p.pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	gone(t, p.pid)
}

// proc-controller run 2>&1 | head -1
func TestClosedStderrEndsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(controllerBinary, append(append([]string{"run", "-v"}, r.paths()...), r.flags...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = r.env, write, write
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	write.Close()
	if _, err := bufio.NewReaderSize(read, 16).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	read.Close() // from here on each write of the controller fails with EPIPE

	for _, name := range []string{"a", "b"} {
		r.write(name+".yaml", agent(name))
		eventually(t, soon, name+" runs", func() error {
			select {
			case <-ended:
				t.Fatalf("the controller has ended: %v", cmd.ProcessState)
			default:
			}
			o, err := r.get("agent/" + name)
			if err == nil && o.Status.Phase != "Running" {
				err = fmt.Errorf("it is %s", o.Status.Phase)
			}
			return err
		})
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, soon, "it ends", func() error {
		select {
		case <-ended:
			return nil
		default:
			return fmt.Errorf("pid %d runs", cmd.Process.Pid)
		}
	})
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	nothingLeft(t, r.owner)
}

// sd_notify(3): READY=1 in a datagram to $NOTIFY_SOCKET, which no child sees.
func TestNotifiesReadiness(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := filepath.Join(r.dir, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r.env = append(r.env, "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=1")
	r.write("a.yaml", agent("a"))
	r.start()
	if err := conn.SetReadDeadline(time.Now().Add(soon)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(buf[:n]); !strings.Contains(got, "READY=1") {
		t.Errorf("got %q, want READY=1", got)
	}
	p, _ := lookup(r.running("agent/a").Status.PID)
	for _, v := range p.env {
		if strings.HasPrefix(v, "NOTIFY_SOCKET=") || strings.HasPrefix(v, "WATCHDOG_") {
			t.Errorf("the child inherits %s", v)
		}
	}
}
