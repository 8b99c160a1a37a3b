package scope

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// leaf is the cgroup that the controller moves into when controllers have to
// be enabled for its siblings: a cgroup with processes of its own cannot hand
// controllers down (cgroup-v2.rst, "No Internal Process Constraint").
const leaf = "proc-controller-self"

// delegated is the cgroup v2 subtree that children's cgroups are made in: the
// one that the controller was started in.
type delegated struct {
	cgroup string // its path in the hierarchy
	dir    string
	why    string // why there is none
	mu     *sync.Mutex
}

// findDelegated tells whether the cgroup that we are in may be divided. When
// that was asked for, it only has to be possible; otherwise somebody must have
// left it to us: the delegate attribute (systemd sets it where a unit says
// Delegate=), or, for users other than root, a directory of their own.
func findDelegated(t tree, asked bool, uid int) delegated {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return delegated{why: "cannot read the own cgroup: " + err.Error()}
	}
	d := delegated{cgroup: parsePlace(string(self)).unified, mu: new(sync.Mutex)}
	dir, ok := t.mount.path(d.cgroup)
	switch {
	case !ok:
		d.why = "cgroup v2 is not mounted"
	case !kernelAtLeast(5, 7): // CLONE_INTO_CGROUP
		d.why = "the kernel is older than 5.7"
	case !isFile(dir + "/cgroup.type"): // only the root of all has none
		d.why = "the controller runs in the root cgroup"
	case unix.Access(dir, unix.W_OK) != nil || unix.Access(dir+"/cgroup.procs", unix.W_OK) != nil:
		d.why = "the cgroup " + d.cgroup + " is not writable"
	case !asked && !wasDelegated(dir, uid):
		d.why = "the cgroup " + d.cgroup + " was not delegated"
	default:
		d.dir = dir
	}
	return d
}

// wasDelegated looks for the mark that systemd leaves, as root or as a user
// (https://systemd.io/CGROUP_DELEGATION).
func wasDelegated(dir string, uid int) bool {
	for _, attr := range []string{"trusted.delegate", "user.delegate"} {
		var buf [8]byte
		if n, err := unix.Getxattr(dir, attr, buf[:]); err == nil && string(buf[:n]) == "1" {
			return true
		}
	}
	var st unix.Stat_t
	return uid != 0 && unix.Stat(dir, &st) == nil && int(st.Uid) == uid
}

// cgroupFence makes f a new cgroup, which the child is cloned into.
func (s *Scopes) cgroupFence(f *Fence) (why string) {
	own := s.host.own
	if own.dir == "" {
		return own.why
	}
	own.enable(f.limits.files())
	f.scope.Mode = observe.ScopeCgroup
	f.named = func(name string) string { return own.child(f, name) }
	return ""
}

// child makes the cgroup of that name and sets its limits, as far as they are
// taken: Verify finds out by reading them.
func (d delegated) child(f *Fence, name string) (why string) {
	dir := filepath.Join(d.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "cannot make a cgroup: " + err.Error()
	}
	for _, l := range f.limits.files() {
		_ = writeFile(filepath.Join(dir, l.name), l.value)
	}
	f.scope.Cgroup = filepath.Join(d.cgroup, name)
	opened, err := openDomain(dir)
	if err != nil {
		f.tree.remove(f.scope.Cgroup)
		return "cannot use a new cgroup: " + err.Error()
	}
	f.dir = opened
	return ""
}

// openDomain opens a cgroup that processes can be put into: below a threaded
// cgroup they cannot.
func openDomain(dir string) (*os.File, error) {
	kind, err := os.ReadFile(filepath.Join(dir, "cgroup.type"))
	if err != nil {
		return nil, err
	}
	if k := strings.TrimSpace(string(kind)); k != "domain" {
		return nil, fmt.Errorf("its type is %s", k)
	}
	return os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
}

// enable hands the controllers that the limits need down to our children, as
// far as they are there. Other processes in our cgroup prevent it.
func (d delegated) enable(limited []limitFile) {
	if len(limited) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	control := filepath.Join(d.dir, "cgroup.subtree_control")
	enabled, _ := os.ReadFile(control)
	for _, l := range limited {
		if hasWord(string(enabled), l.controller) {
			continue
		}
		err := writeFile(control, "+"+l.controller)
		if errors.Is(err, unix.EBUSY) && d.moveToLeaf() == nil {
			_ = writeFile(control, "+"+l.controller) // Verify reads what came of it
		}
	}
}

func (d delegated) moveToLeaf() error {
	dir := filepath.Join(d.dir, leaf)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return writeFile(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(os.Getpid()))
}

// writeFile writes to a file of a cgroup, in one write and without making it.
func writeFile(name, value string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(value)
	return err
}

func isFile(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular()
}

func hasWord(line, word string) bool {
	for w := range strings.FieldsSeq(line) {
		if w == word {
			return true
		}
	}
	return false
}

// kernelAtLeast compares with uname(2).
func kernelAtLeast(major, minor int) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var haveMajor, haveMinor int
	if n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &haveMajor, &haveMinor); n != 2 {
		return false
	}
	return haveMajor > major || haveMajor == major && haveMinor >= minor
}
