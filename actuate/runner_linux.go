package actuate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// maxHelperOutput bounds what is kept of a helper's output; it cannot write
// more.
const maxHelperOutput = 16 << 10

// runner runs short commands of ours, such as the probe of a scope. It
// implements scope.Runner.
type runner struct {
	spawner *spawner
	reaper  *reaper
	null    int
}

// Run starts argv in a session of its own, with exactly the environment and
// directory given, and waits for its end. When ctx ends first, the whole group
// is killed while the command is not reaped yet, so that its number cannot have
// become another's; the error is then that of ctx. What the command left behind
// elsewhere is re-parented to us and reaped.
func (r *runner) Run(ctx context.Context, argv, env []string, dir string) (exitCode int, output string, err error) {
	if len(argv) == 0 || !filepath.IsAbs(argv[0]) {
		return -1, "", fmt.Errorf("cannot run a helper: %q is no absolute path", argv)
	}
	capture, err := boundedFile(maxHelperOutput)
	if err != nil {
		return -1, "", err
	}
	defer capture.Close()
	l := &launch{
		path: argv[0], argv: argv, env: env, dir: dir,
		input: r.null, output: int(capture.Fd()), death: unix.SIGKILL, cgroup: -1,
	}
	c, err := r.spawner.Start(l, r.reaper.expect)
	if err != nil {
		return -1, "", fmt.Errorf("cannot run %s: %w", argv[0], err)
	}
	defer unix.Close(c.fd)
	waited := awaitEnd(ctx, c.fd)
	if waited != nil {
		_ = killChild(c)
	}
	code := r.reaper.reap(c)
	if waited != nil {
		return -1, writtenTo(capture), waited
	}
	return code, writtenTo(capture), nil
}

// killWithin is how long a killed child is waited for. One that is stuck in the
// kernel for longer is left to the orphan reaper.
const killWithin = time.Second

// killChild kills the group of a child that is not reaped yet, and waits for the
// child's end. As long as it is not reaped its number, and that of the group
// that it leads, cannot come to mean anything else.
func killChild(c child) error {
	err := unix.Kill(-c.pid, unix.SIGKILL)
	ctx, cancel := context.WithTimeout(context.Background(), killWithin)
	defer cancel()
	_ = awaitEnd(ctx, c.fd)
	return err
}

// reap takes the status of a child that is not watched, and forgets it. The
// exit code is -1 where a signal ended it.
func (r *reaper) reap(c child) (exitCode int) {
	exitCode, _ = r.reapStatus(c)
	return exitCode
}

// reapStatus does the same and names the signal; 0 where it exited, or where its
// status cannot be had.
func (r *reaper) reapStatus(c child) (exitCode, signal int) {
	defer r.disown(c.pid)
	if id, err := identOf(c); err == nil {
		r.roll.Leave(id)
	}
	r.releasing.Lock()
	info, err := waitid(unix.P_PIDFD, c.fd, 0)
	r.releasing.Unlock()
	if err != nil || info.pid == 0 {
		return -1, 0
	}
	return info.exitStatus()
}

// boundedFile is a file in memory that cannot grow beyond size: writing more
// fails with EPERM (memfd_create(2), F_SEAL_GROW of fcntl(2)). Unlike a pipe it
// needs no reader, and nobody waits for whoever else still holds it open.
func boundedFile(size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate("helper-output", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("helper-output", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot capture output: %v", os.NewSyscallError("memfd_create", err))
	}
	f := os.NewFile(uintptr(fd), "helper-output")
	if err := f.Truncate(size); err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot capture output: %v", err)
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_GROW|unix.F_SEAL_SHRINK); err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot capture output: %v", os.NewSyscallError("fcntl F_ADD_SEALS", err))
	}
	return f, nil
}

// writtenTo gives what was written to a boundedFile: up to the offset, which
// the writers share with us.
func writtenTo(f *os.File) string {
	end, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return ""
	}
	buf := make([]byte, end)
	n, _ := f.ReadAt(buf, 0)
	return string(buf[:n])
}
