//go:build linux

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hang starts a process whose environment cannot be read by anybody, without an
// end: a reader waits in the kernel. The function that it gives ends that.
//
// Whoever reads all environments waits with it, so a test that uses it is not
// parallel to others, and itself reads the tables of those processes only that
// it knows.
func hang(t *testing.T) (pid int, release func()) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a file system that does not answer")
	}
	fd, err := syscall.Open("/dev/fuse", os.O_RDWR|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("needs FUSE: %v", err)
	}
	passed := os.NewFile(uintptr(fd), "fuse")
	defer passed.Close()
	cmd := exec.Command(os.Args[0], stuckPayload, t.TempDir())
	cmd.ExtraFiles = []*os.File{passed}
	pipe, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	out := bufio.NewReader(pipe)
	if line, _ := out.ReadString('\n'); line != "mounted\n" {
		_ = cmd.Wait()
		t.Skipf("needs FUSE: %s", line)
	}
	// It can be waited for only since it is mounted, and so by another descriptor.
	again, err := syscall.Dup(fd)
	must(t, err)
	syscall.CloseOnExec(again)
	must(t, syscall.SetNonblock(again, true)) // so that closing it ends a read
	device := os.NewFile(uintptr(again), "fuse")
	asked, said := make(chan struct{}), make(chan string, 1)
	go serveFuse(device, asked)
	go func() {
		text, _ := io.ReadAll(out)
		said <- string(text)
	}()
	released := false
	release = func() {
		if !released {
			released = true
			device.Close() // every request fails then
			_ = cmd.Wait()
		}
	}
	t.Cleanup(release)
	late := time.AfterFunc(30*time.Second, func() { device.Close() }) // nobody is to wait for ever
	t.Cleanup(func() { late.Stop() })
	select {
	case <-asked:
	case text := <-said:
		t.Skipf("this kernel does not hang: %s", text)
	case <-time.After(soon):
		t.Fatal("nothing was written")
	}
	select {
	case text := <-said:
		t.Skipf("this kernel does not hang: %s", text)
	case err := <-readAside(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid)):
		t.Skipf("this kernel lets its environment be read: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	return cmd.Process.Pid, release
}

// readAside reads a file in a goroutine of its own, which may take for ever.
func readAside(path string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(path)
		done <- err
	}()
	return done
}

// A process that hangs in the kernel hangs who reads it. It delays nobody: it is
// read aside, set aside and named, and what is to be done is done.
func TestReadThatHangs(t *testing.T) {
	r := newRig(t)
	r.write("a.yaml", agent("a", "backoff: {initial: 10ms, max: 10ms}"))
	r.start()
	before := r.running("agent/a")
	pid, release := hang(t)
	named := fmt.Sprintf("cannot be read (stuck in the kernel): pid %d", pid)

	began := time.Now()
	forked := filepath.Join(r.dir, "forked")
	family := manifest("Agent", "b", fmt.Sprintf("command: [sh, -c, 'setsid sleep 1001 & touch %s; exec sleep 1000']", forked))
	r.write("b.yaml", family) // that all of its tree is gone has to be looked for
	b := r.running("agent/b")
	eventually(t, soon, "it has a child", func() error { _, err := os.Stat(forked); return err })
	p, _ := lookup(before.Status.PID)
	end(p)
	a := r.replaced("agent/a", before)
	r.remove("b.yaml")
	gone(t, b.Status.PID)
	if took := time.Since(began); took > soon/2 {
		t.Errorf("a start, a restart and a stop took %v", took)
	}
	eventually(t, soon, "it is named", func() error {
		if res := r.run("get"); !strings.Contains(res.stderr, named) {
			return fmt.Errorf("get says %q", res.stderr)
		}
		return nil
	})
	for _, verb := range [][]string{{"ps"}, {"explain", fmt.Sprint(a.Status.PID)}} {
		if res := r.run(verb[0], verb[1:]...); res.code != 0 || !strings.Contains(res.stdout, filepath.Base(r.owner)) {
			t.Errorf("%v: exit code %d, %s", verb, res.code, res.stderr)
		}
	}
	r.kept("agent/a", a)

	release()
	r.write("b.yaml", family)
	r.live(3)
	b = r.running("agent/b")
	r.remove("b.yaml")
	gone(t, b.Status.PID)
	eventually(t, 2*soon, "it is named no longer", func() error {
		if res := r.run("get"); strings.Contains(res.stderr, "stuck in the kernel") {
			return fmt.Errorf("get says %q", res.stderr)
		}
		return nil
	})
	r.kept("agent/a", a)
}
