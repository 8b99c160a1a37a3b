package journal

import (
	"errors"
	"fmt"
	"os"
)

// ErrNotWritable says that the state directory is there and is ours, but that
// nothing can be written to it: what is in it can still be read.
var ErrNotWritable = errors.New("not writable")

// PrepareStateDir makes the state directory, for its user alone (0700), and
// checks that it can be used. An error says in one line what to do. The
// controller can run without the directory; but what is in one that fails with
// anything but ErrNotWritable must not be believed.
func PrepareStateDir(dir string, uid int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("cannot make the state directory: %v: choose another one with --state-dir", err)
	}
	st, err := os.Stat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("cannot use the state directory: %v", err)
	case !st.IsDir():
		return fmt.Errorf("cannot use the state directory %s: it is not a directory; choose another one with --state-dir", dir)
	}
	if err := checkOwner(dir, uid); err != nil {
		return err
	}
	if st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("cannot use the state directory %s: others can write to it; chmod 700 it, or choose another one with --state-dir", dir)
	}
	if st.Mode().Perm()&0o077 != 0 && isEmpty(dir) {
		// Made by hand for this. One that holds other things already is left as
		// it is: the files in it are private by themselves.
		_ = os.Chmod(dir, 0o700)
	}
	return checkWritable(dir)
}

func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// checkWritable makes and removes a file: the only answer that holds for
// read-only mounts, full disks and access lists alike.
func checkWritable(dir string) error {
	f, err := os.CreateTemp(dir, ".writable-")
	if err != nil {
		return fmt.Errorf("the state directory is %w: %v; nothing will be remembered", ErrNotWritable, err)
	}
	name := f.Name()
	return errors.Join(f.Close(), os.Remove(name))
}
