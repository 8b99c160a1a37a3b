package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// fakeHost has the given environment, uid 1000, and the directories that files
// name; all belong to uid.
func fakeHost(env map[string]string, uid int, dirs map[string]fs.FileMode) host {
	files := fstest.MapFS{}
	for dir, mode := range dirs {
		files[strings.TrimPrefix(dir, "/")] = &fstest.MapFile{Mode: mode}
	}
	return host{
		getenv: func(name string) string { return env[name] },
		uid:    1000,
		abs: func(p string) (string, error) {
			if filepath.IsAbs(p) {
				return filepath.Clean(p), nil
			}
			return filepath.Join("/cwd", p), nil
		},
		temp:  "/tmp",
		lstat: func(p string) (fs.FileInfo, error) { return fs.Lstat(files, strings.TrimPrefix(p, "/")) },
		uidOf: func(fs.FileInfo) int { return uid },
	}
}

func TestPlaces(t *testing.T) {
	home := map[string]string{"HOME": "/home/u"}
	with := func(more ...string) map[string]string {
		env := map[string]string{"HOME": "/home/u"}
		for i := 0; i < len(more); i += 2 {
			env[more[i]] = more[i+1]
		}
		return env
	}
	const owner = "manifests-6433a02e" // of uid 1000 and the default directory
	private := map[string]fs.FileMode{"/run/user/1000": fs.ModeDir | 0o700}
	tests := []struct {
		name                            string
		env                             map[string]string
		flags                           placeFlags
		dirs                            map[string]fs.FileMode
		manifests, owner, state, socket string
	}{
		{
			name: "defaults without a runtime directory", env: home,
			manifests: "/home/u/.config/proc-controller/manifests", owner: owner,
			state:  "/home/u/.local/state/proc-controller/" + owner,
			socket: "/tmp/proc-controller-1000/" + owner + "/api.sock",
		},
		{
			name: "runtime directory of the user, without the variable", env: home, dirs: private,
			manifests: "/home/u/.config/proc-controller/manifests", owner: owner,
			state:  "/home/u/.local/state/proc-controller/" + owner,
			socket: "/run/user/1000/proc-controller/" + owner + "/api.sock",
		},
		{
			name:      "XDG",
			env:       with("XDG_CONFIG_HOME", "/c", "XDG_STATE_HOME", "/s", "XDG_RUNTIME_DIR", "/r"),
			flags:     placeFlags{owner: "me"},
			manifests: "/c/proc-controller/manifests", owner: "me",
			state: "/s/proc-controller/me", socket: "/r/proc-controller/me/api.sock",
		},
		{
			name:      "relative XDG values count as unset",
			env:       with("XDG_CONFIG_HOME", "c", "XDG_STATE_HOME", "s", "XDG_RUNTIME_DIR", "r"),
			flags:     placeFlags{owner: "me"},
			manifests: "/home/u/.config/proc-controller/manifests", owner: "me",
			state: "/home/u/.local/state/proc-controller/me", socket: "/tmp/proc-controller-1000/me/api.sock",
		},
		{
			name:      "flags win, and need no home",
			env:       map[string]string{"PROC_CONTROLLER_SOCKET": "/env.sock", "PROC_CONTROLLER_OWNER": "not-configuration"},
			flags:     placeFlags{manifests: "m", stateDir: "s", owner: "me", socket: "x.sock"},
			manifests: "/cwd/m", owner: "me", state: "/cwd/s", socket: "/cwd/x.sock",
		},
		{
			name:      "the socket from the environment",
			env:       map[string]string{"PROC_CONTROLLER_SOCKET": "/env.sock"},
			flags:     placeFlags{manifests: "/m", stateDir: "/s", owner: "me"},
			manifests: "/m", owner: "me", state: "/s", socket: "/env.sock",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := tt.flags.locate(fakeHost(tt.env, 1000, tt.dirs))
			if err != nil {
				t.Fatal(err)
			}
			state, err := p.stateDir()
			if err != nil {
				t.Error(err)
			}
			socket, err := p.socket()
			if err != nil {
				t.Error(err)
			}
			for _, c := range []struct{ what, got, want string }{
				{"manifests", p.manifests, tt.manifests},
				{"owner", string(p.owner), tt.owner},
				{"state", state, tt.state},
				{"socket", socket, tt.socket},
			} {
				if c.got != c.want {
					t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
				}
			}
		})
	}
}

func TestNoHomeNamesTheFlag(t *testing.T) {
	for _, home := range []string{"", "relative"} {
		h := fakeHost(map[string]string{"HOME": home}, 1000, nil)
		if _, err := (&placeFlags{}).locate(h); err == nil || !strings.Contains(err.Error(), "use --manifests DIR") {
			t.Errorf("HOME=%q: %v", home, err)
		}
		p, err := (&placeFlags{manifests: "/m"}).locate(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.stateDir(); err == nil || !strings.Contains(err.Error(), "use --state-dir DIR") {
			t.Errorf("HOME=%q: %v", home, err)
		}
	}
}

// What an owner is called, and may be, spec tests.
func TestBadOwnerIsAUsageError(t *testing.T) {
	var wrong *usageError
	if _, err := (&placeFlags{manifests: "/m", owner: "a/b"}).locate(fakeHost(nil, 1000, nil)); !errors.As(err, &wrong) {
		t.Error(err)
	}
}

// TestTemporaryDirectoryOfOthers: anybody may make our directory in /tmp first.
func TestTemporaryDirectoryOfOthers(t *testing.T) {
	const dir = "/tmp/proc-controller-1000"
	for name, tt := range map[string]struct {
		uid  int
		mode fs.FileMode
		want string
	}{
		"ours":         {1000, fs.ModeDir | 0o700, ""},
		"another's":    {1001, fs.ModeDir | 0o700, "it belongs to uid 1001"},
		"open":         {1000, fs.ModeDir | 0o755, "it is open to others"},
		"a link":       {1000, fs.ModeSymlink | 0o777, "it is not a directory"},
		"a plain file": {1000, 0o600, "it is not a directory"},
	} {
		h := fakeHost(map[string]string{"HOME": "/h"}, tt.uid, map[string]fs.FileMode{dir: tt.mode})
		p, err := (&placeFlags{}).locate(h)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.socket()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestHintCanBePasted(t *testing.T) {
	f := placeFlags{manifests: "my dir/it's", owner: "me"}
	if got, want := f.given(), ` --manifests 'my dir/it'\''s' --owner me`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
