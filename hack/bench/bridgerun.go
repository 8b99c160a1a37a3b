//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bridgeRun is one run of a bridge.
type bridgeRun struct {
	b   *bench
	cmd *exec.Cmd
	url string
}

// startBridge starts a bridge and waits until it answers.
func (b *bench) startBridge(s bridgeSubject) (*bridgeRun, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	argv := s.argv(b, port)
	log, err := os.Create(filepath.Join(b.dir, s.name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	r := &bridgeRun{b: b, cmd: exec.Command(argv[0], argv[1:]...), url: fmt.Sprintf("http://127.0.0.1:%d/mcp", port)}
	r.cmd.Stdout, r.cmd.Stderr = log, log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline); {
		c := newBridgeClient(r.url)
		err = c.greet()
		c.close()
		if err == nil {
			return r, nil
		}
		if err := b.sleep(20 * time.Millisecond); err != nil {
			break
		}
	}
	r.kill()
	return nil, fmt.Errorf("%w: %v", errNotUp, err)
}

// tree gives the process and all below it.
func (r *bridgeRun) tree() []int {
	pids := []int{r.cmd.Process.Pid}
	for i := 0; i < len(pids); i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		for _, t := range tasks {
			children, _ := os.ReadFile(t)
			for _, c := range strings.Fields(string(children)) {
				if pid, err := strconv.Atoi(c); err == nil {
					pids = append(pids, pid)
				}
			}
		}
	}
	return pids
}

// rss is the resident memory of the bridge itself, in MB.
func (r *bridgeRun) rss() (Samples, error) {
	kilobytes, err := statusNumber(r.cmd.Process.Pid, "VmRSS")
	return Samples{float64(kilobytes) / 1000}, err
}

// stop ends it as a supervisor does, and gives the time until nothing of it is left.
func (r *bridgeRun) stop() (time.Duration, error) {
	tree := r.tree()
	began := time.Now()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	_ = r.cmd.Wait() // with an exit code of its own
	for _, pid := range tree[1:] {
		if err := r.b.awaitGone(pid); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// kill ends what is left, of a group that was made for it.
func (r *bridgeRun) kill() {
	if r.cmd.ProcessState == nil {
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
		_ = r.cmd.Wait()
	}
}
