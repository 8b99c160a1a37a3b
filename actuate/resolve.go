//go:build linux || darwin || freebsd

package actuate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

// resolveProgram gives the absolute path of the program that a child with the
// given environment and absolute working directory would run under that name,
// as execvp(3) finds it there: a name with a slash counts from the child's
// directory, any other is looked for in the child's PATH, whose relative and
// empty entries count from the child's directory too. Only regular executable
// files count.
//
// The controller's own PATH and directory play no part. The error is a
// *StartError.
func resolveProgram(name string, env []string, dir string) (string, error) {
	if name == "" {
		return "", startErrorf(spec.ReasonProgramNotFound, "cannot start: the command is empty")
	}
	if strings.Contains(name, "/") {
		path := from(dir, name)
		if err := runnable(path); err != nil {
			return "", refusal(path, err)
		}
		return path, nil
	}
	return searchPath(name, lookupEnv(env, "PATH"), dir)
}

// searchPath goes through the entries of PATH. A file that is there but cannot
// be run does not end the search; it is only what the error names if nothing
// better is found.
func searchPath(name, path, dir string) (string, error) {
	var refused error
	for _, entry := range filepath.SplitList(path) {
		candidate := filepath.Join(from(dir, entry), name)
		err := runnable(candidate)
		if err == nil {
			return candidate, nil
		}
		if refused == nil && !absent(err) {
			refused = refusal(candidate, err)
		}
	}
	if refused != nil {
		return "", refused
	}
	return "", startErrorf(spec.ReasonProgramNotFound, "cannot find the program %q in PATH=%s", name, path)
}

// from makes a path absolute the way a process in dir sees it.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

var (
	errIsDir      = errors.New("is a directory")
	errNotRegular = errors.New("is not a regular file")
)

// runnable says why a file could not be executed, or nil.
func runnable(path string) error {
	fi, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case fi.IsDir():
		return errIsDir
	case !fi.Mode().IsRegular():
		return errNotRegular
	}
	// The effective user counts, as it will for execve(2). (Root may run what
	// has any x bit at all, which access answers too.)
	return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
}

func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

func refusal(path string, err error) *StartError {
	switch {
	case absent(err):
		return startErrorf(spec.ReasonProgramNotFound, "cannot find the program %s: no such file", path)
	case errors.Is(err, errIsDir), errors.Is(err, errNotRegular):
		return startErrorf(spec.ReasonNotExecutable, "cannot run %s: it %v", path, err)
	case errors.Is(err, fs.ErrPermission):
		return startErrorf(spec.ReasonNotExecutable, "cannot run %s: it is not executable (chmod +x %s)", path, spec.ShellWord(path))
	}
	return startErrorf(spec.ReasonNotExecutable, "cannot run %s: %v", path, err)
}

// lookupEnv gives the value of a variable; the last one wins, as for getenv(3)
// after the environment was built.
func lookupEnv(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// checkDir says why a child could not be started in dir, as a *StartError.
func checkDir(dir string) error {
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return startErrorf(spec.ReasonWorkingDir, "cannot use the working directory %s: it does not exist", dir)
	case err != nil:
		return startErrorf(spec.ReasonWorkingDir, "cannot use the working directory %s: %v", dir, err)
	case !fi.IsDir():
		return startErrorf(spec.ReasonWorkingDir, "cannot use the working directory %s: it is not a directory", dir)
	}
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.X_OK, unix.AT_EACCESS); err != nil {
		return startErrorf(spec.ReasonWorkingDir, "cannot use the working directory %s: %v", dir, err)
	}
	return nil
}
