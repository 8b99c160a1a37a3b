//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// treePayload as the first argument makes this test binary a process of a tree
// (treeMember). An argument survives what the tests do to environments.
const treePayload = "e2e-tree"

// treeMember is one process of a tree. Its arguments are
//
//	e2e-tree TAG DIR SELF [CHILD…]
//
// TAG is what the observer finds it by. SELF says how it behaves, and each CHILD
// is a process that it starts: words with a plus between them (see behave and
// spawnMember), the first of which is a name. Once it is as it should be it
// writes its pid to DIR/NAME.
func treeMember(args []string) int {
	if len(args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: e2e-tree TAG DIR SELF [CHILD…]")
		return 2
	}
	tag, dir, self := args[0], args[1], strings.Split(args[2], "+")
	for _, child := range args[3:] {
		if err := spawnMember(tag, dir, child); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return behave(tag, dir, self)
}

// spawnMember starts one child:
//
//	session  in a session of its own
//	group    in a process group of its own
//	daemon   through a process that ends at once
//	bare     with an empty environment
//	pidns    as the first process of a PID namespace
func spawnMember(tag, dir, child string) error {
	words := strings.Split(child, "+")
	cmd := exec.Command("/proc/self/exe", treePayload, tag, dir, child)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if i := slices.Index(words, "daemon"); i >= 0 {
		rest := strings.Join(slices.Delete(slices.Clone(words), i, i+1), "+")
		// The middle one is started with what the child is to have, starts it,
		// and ends.
		cmd.Args = []string{"middle", treePayload, tag, dir, "middle+ends", rest}
	} else {
		cmd.SysProcAttr.Setsid = slices.Contains(words, "session")
		cmd.SysProcAttr.Setpgid = slices.Contains(words, "group")
		if slices.Contains(words, "pidns") {
			cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID
		}
	}
	if slices.Contains(words, "bare") {
		cmd.Env = []string{}
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait()
	return nil
}

// behave does to itself what its words say, then waits for its end:
//
//	ends     exits at once
//	crash    exits with 1 when DIR/crash is there
//	deaf     ignores the signals that people stop programs with
//	title    overwrites its environment, as setproctitle(3) does
//	secret   is not dumpable, so that others cannot read it
//	stopped  stops itself
//	forks    starts processes as fast as it can from SIGTERM on
//	listens  listens on $PORT, or the port in the word: listens=8080
func behave(tag, dir string, words []string) int {
	if slices.Contains(words, "ends") {
		return 0
	}
	if slices.Contains(words, "deaf") || slices.Contains(words, "forks") {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	}
	terminated := make(chan os.Signal, 1)
	if slices.Contains(words, "forks") {
		signal.Notify(terminated, syscall.SIGTERM)
	}
	if slices.Contains(words, "title") {
		overwriteEnvironment()
	}
	if slices.Contains(words, "secret") {
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	}
	if l := listenAs(words); l != nil {
		defer l.Close()
	}
	ready := filepath.Join(dir, words[0])
	if err := os.WriteFile(ready+".tmp", []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		return 1
	}
	_ = os.Rename(ready+".tmp", ready)
	if slices.Contains(words, "stopped") {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
	if slices.Contains(words, "crash") {
		return awaitFile(filepath.Join(dir, "crash"))
	}
	<-terminated
	forkFast(tag, ready+".forked")
	select {}
}

// awaitFile waits for a file for five minutes at most.
func awaitFile(path string) int {
	ticker := time.NewTicker(10 * time.Millisecond)
	for range 30_000 {
		if _, err := os.Stat(path); err == nil {
			return 1
		}
		<-ticker.C
	}
	return 1
}

// forkFast starts processes, every second one in a session of its own, as fast
// as it can, but no more than 300 and for two seconds. How many it were by then
// stands in a file from the twentieth on.
func forkFast(tag, counter string) {
	for began, i := time.Now(), 0; i < 300 && time.Since(began) < 2*time.Second; i++ {
		cmd := exec.Command("/bin/sleep", "1000")
		cmd.Args[0] = tag
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: i%2 == 0}
		_ = cmd.Start()
		if i == 20 {
			_ = os.WriteFile(counter, []byte(strconv.Itoa(i)), 0o644)
		}
	}
}

// overwriteEnvironment puts other bytes where the environment of this process
// lies: fields 50 and 51 of proc_pid_stat(5).
func overwriteEnvironment() {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	from, _ := strconv.ParseInt(f[50-3], 10, 64)
	to, _ := strconv.ParseInt(f[51-3], 10, 64)
	mem, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer mem.Close()
	title := []byte(strings.Repeat("worker: idle ", int(to-from)/13+1))
	_, _ = mem.WriteAt(title[:to-from], from)
}
