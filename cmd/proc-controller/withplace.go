package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/spec"
)

// withPlaceFlags name what is in the private directory of a run.
func withPlaceFlags(dir string, owner spec.Owner) placeFlags {
	return placeFlags{
		manifests: filepath.Join(dir, "manifests"), stateDir: filepath.Join(dir, "state"),
		socket: filepath.Join(dir, "api.sock"), owner: string(owner),
	}
}

// makeWithDir makes the private directory of a run (0700), in the first place
// that takes it: the directory for temporary files, if the path of a socket in it
// is not too long, else that of the user's runtime files.
func makeWithDir(owner spec.Owner) (string, error) {
	var failed error
	for _, base := range []string{os.TempDir(), os.Getenv("XDG_RUNTIME_DIR"), "/tmp"} {
		if !filepath.IsAbs(base) {
			continue
		}
		dir := filepath.Join(base, program+"-"+string(owner))
		err := api.CheckPath(withPlaceFlags(dir, owner).socket)
		if err == nil {
			err = os.Mkdir(dir, 0o700)
		}
		if err == nil {
			return dir, nil
		}
		failed = errors.Join(failed, err)
	}
	return "", fmt.Errorf("cannot make a private directory: %w; set TMPDIR", failed)
}

// linkManifests makes a directory with a link to each manifest, and tells which is
// which: they are read where they are.
func linkManifests(dir string, manifests []string) (linked map[string]string, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	linked = make(map[string]string, len(manifests))
	for i, path := range manifests {
		name := fmt.Sprintf("%06d.yaml", i)
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
		linked[name] = path
	}
	return linked, nil
}
