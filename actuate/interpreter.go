//go:build linux || darwin || freebsd

package actuate

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

// maxShebang is how much of the first line the kernel looks at
// (BINPRM_BUF_SIZE, execve(2)).
const maxShebang = 256

// checkInterpreter looks for what would make the kernel refuse an executable
// file: a script without a #! line, or one whose interpreter is missing. The
// error is a *StartError; what cannot be read is left for the kernel to judge.
func checkInterpreter(path, dir string) error {
	head := firstBytes(path)
	line, isScript := shebang(head)
	if !isScript {
		if looksLikeText(head) {
			return startErrorf(spec.ReasonNotExecutable,
				"cannot run %s: it is a script without an interpreter (its first line must be like #!/bin/sh)", path)
		}
		return nil
	}
	if line == "" {
		return startErrorf(spec.ReasonNotExecutable, "cannot run %s: its #! line names no interpreter", path)
	}
	if err := runnable(from(dir, line)); err != nil {
		return startErrorf(spec.ReasonNotExecutable,
			"cannot run %s: its #! line names the interpreter %s, which cannot be run: %s", path, line, cause(err))
	}
	return nil
}

// explainExec turns the refusal of execve(2) into a start error.
func explainExec(l *launch, err error) *StartError {
	var se *StartError
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOEXEC):
		if errors.As(checkDir(l.dir), &se) || errors.As(checkInterpreter(l.path, l.dir), &se) {
			return se
		}
		if errors.Is(err, unix.ENOENT) {
			if gone := runnable(l.path); gone != nil {
				return refusal(l.path, gone)
			}
			return startErrorf(spec.ReasonNotExecutable,
				"cannot run %s: the dynamic loader that it names is missing (was it built for another system?)", l.path)
		}
		return startErrorf(spec.ReasonNotExecutable, "cannot run %s: it is no program for this machine", l.path)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		if errors.As(checkDir(l.dir), &se) {
			return se
		}
		return startErrorf(spec.ReasonNotExecutable,
			"cannot run %s: %v (is it on a file system that is mounted noexec?)", l.path, err)
	case errors.Is(err, unix.ENOTDIR):
		if errors.As(checkDir(l.dir), &se) {
			return se
		}
	case errors.Is(err, unix.E2BIG):
		return startErrorf(spec.ReasonEnvironment,
			"cannot run %s: arguments and environment are too long for the kernel", l.path)
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return startErrorf(spec.ReasonSpawnFailed,
			"cannot run %s: %v (a limit on processes, memory or descriptors is reached)", l.path, err)
	}
	return startErrorf(spec.ReasonSpawnFailed, "cannot run %s: %v", l.path, err)
}

// shebang takes the interpreter from the head of a file, and says whether there
// is a #! at all.
func shebang(head []byte) (interpreter string, ok bool) {
	rest, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok {
		return "", false
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) == 0 {
		return "", true
	}
	return fields[0], true
}

// looksLikeText tells a script from a binary format that the kernel may have a
// handler for: all of those hold a control character early on, mostly a zero.
func looksLikeText(head []byte) bool {
	for _, c := range head {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			return false
		}
	}
	return true
}

func firstBytes(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return []byte{0}
	}
	defer f.Close()
	buf := make([]byte, maxShebang)
	n, err := io.ReadFull(f, buf)
	if n == 0 && !errors.Is(err, io.EOF) {
		return []byte{0}
	}
	return buf[:n]
}

// cause drops the operation and path that os errors carry.
func cause(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
