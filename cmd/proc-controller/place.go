package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// placeFlags say which controller is meant. Empty is the default of each.
type placeFlags struct {
	manifests, stateDir, owner, socket string
}

func (f *placeFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.manifests, "manifests", "", "`DIR` with the manifests (default $XDG_CONFIG_HOME/proc-controller/manifests)")
	flags.StringVar(&f.stateDir, "state-dir", "", "`DIR` for logs and events (default $XDG_STATE_HOME/proc-controller/OWNER)")
	flags.StringVar(&f.owner, "owner", "", "`NAME` of this installation (default made from the path of the manifests)")
	flags.StringVar(&f.socket, "socket", "", "`PATH` of the controller's socket (default $PROC_CONTROLLER_SOCKET, else $XDG_RUNTIME_DIR/proc-controller/OWNER/api.sock)")
}

// given repeats the flags that were given, so that a hint can be pasted.
func (f *placeFlags) given() string {
	var b strings.Builder
	for _, v := range []struct{ flag, value string }{
		{"manifests", f.manifests}, {"state-dir", f.stateDir}, {"owner", f.owner}, {"socket", f.socket},
	} {
		if v.value != "" {
			b.WriteString(" --" + v.flag + " " + spec.ShellWord(v.value))
		}
	}
	return b.String()
}

// host is what the default places depend on.
type host struct {
	getenv func(string) string
	uid    int
	abs    func(string) (string, error)
	temp   string
	lstat  func(string) (fs.FileInfo, error)
	uidOf  func(fs.FileInfo) int
}

// thisHost is the machine that we run on.
func thisHost() host {
	return host{
		getenv: os.Getenv,
		uid:    os.Getuid(),
		abs:    filepath.Abs,
		temp:   os.TempDir(),
		lstat:  os.Lstat,
		uidOf:  uidOf,
	}
}

// place is where one controller has its things. All paths are absolute.
type place struct {
	manifests string
	// byDefault says that manifests is the default directory, which is made
	// where it is missing.
	byDefault bool
	owner     spec.Owner
	uid       int
	flags     placeFlags
	host      host
}

// locate finds the manifests and the owner. The other places are asked for by
// the verbs that need them: a missing HOME then hinders only those.
func (f *placeFlags) locate(h host) (place, error) {
	p := place{manifests: f.manifests, uid: h.uid, flags: *f, host: h}
	if p.manifests == "" {
		base, err := h.xdg("XDG_CONFIG_HOME", ".config", "manifests")
		if err != nil {
			return place{}, err
		}
		p.manifests, p.byDefault = filepath.Join(base, program, "manifests"), true
	}
	// As given, and not resolved: a symlink that is swapped changes nothing.
	abs, err := h.abs(p.manifests)
	if err != nil {
		return place{}, fmt.Errorf("cannot find the directory of the manifests: %w", err)
	}
	p.manifests = abs
	if f.owner == "" {
		p.owner = spec.OwnerFor(h.uid, abs)
		return p, nil
	}
	if err := spec.ValidOwner(f.owner); err != nil {
		return p, &usageError{fmt.Sprintf("bad value of --owner: %v", err)}
	}
	p.owner = spec.Owner(f.owner)
	return p, nil
}

// client is how to ask the controller that the flags name, and where that is.
func (f *placeFlags) client() (*api.Client, place, error) {
	p, err := f.locate(thisHost())
	if err != nil {
		return nil, place{}, err
	}
	socket, err := p.socket()
	if err != nil {
		return nil, place{}, err
	}
	client := api.NewClient(socket)
	client.WaitWhile(func() bool {
		_, alive, _ := observe.OwnerAlive(p.uid, p.owner)
		return alive
	})
	return client, p, nil
}

// stateDir is where ledger, logs and events are.
func (p place) stateDir() (string, error) {
	if p.flags.stateDir != "" {
		return p.host.abs(p.flags.stateDir)
	}
	base, err := p.host.xdg("XDG_STATE_HOME", ".local/state", "state-dir")
	return filepath.Join(base, program, string(p.owner)), err
}

// socket is the path of the API socket. Client and server come to the same.
func (p place) socket() (string, error) {
	for _, path := range []string{p.flags.socket, p.host.getenv("PROC_CONTROLLER_SOCKET")} {
		if path != "" {
			return p.host.abs(path)
		}
	}
	base, err := p.host.runtimeDir()
	return filepath.Join(base, string(p.owner), "api.sock"), err
}

// xdg gives a base directory of the XDG specification, where relative values
// count as unset. The flag is what helps a user without a home.
func (h host) xdg(variable, underHome, flag string) (string, error) {
	if dir := h.getenv(variable); filepath.IsAbs(dir) {
		return dir, nil
	}
	home := h.getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("cannot tell the default of --%s: neither HOME nor %s is an absolute path; use --%s DIR", flag, variable, flag)
	}
	return filepath.Join(home, underHome), nil
}

// runtimeDir is the directory that holds the directories of the sockets:
// below the user's runtime directory, else a private one below the temporary.
func (h host) runtimeDir() (string, error) {
	if dir := h.getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, program), nil
	}
	if dir := "/run/user/" + strconv.Itoa(h.uid); h.private(dir) == nil {
		return filepath.Join(dir, program), nil
	}
	dir := filepath.Join(h.temp, program+"-"+strconv.Itoa(h.uid))
	if err := h.private(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("cannot use %s for the socket: %w; remove it, or use --socket PATH", dir, err)
	}
	return dir, nil
}

// private fails unless dir is a real directory of our own that is closed to
// others: anybody may make one in the temporary directory.
func (h host) private(dir string) error {
	fi, err := h.lstat(dir)
	switch {
	case err != nil:
		return err
	case !fi.IsDir():
		return errors.New("it is not a directory")
	case h.uidOf(fi) != h.uid:
		return fmt.Errorf("it belongs to uid %d", h.uidOf(fi))
	case fi.Mode().Perm()&0o077 != 0:
		return errors.New("it is open to others")
	}
	return nil
}
