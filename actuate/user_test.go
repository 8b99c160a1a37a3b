//go:build linux

package actuate

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/scope"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// asNobody makes an entry run as the user that every machine has.
func asNobody(t testing.TB, e *spec.Entry) *spec.Entry {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to start a process as another user")
	}
	e.Object.Spec.User = "nobody"
	e.Object.Spec.WorkingDir = "/" // a temporary one is closed to others
	return e
}

// manyGroups finds a user of this machine that is in more groups than its own.
func manyGroups(t *testing.T) string {
	t.Helper()
	passwd, err := os.Open("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	defer passwd.Close()
	for lines := bufio.NewScanner(passwd); lines.Scan(); {
		name, _, _ := strings.Cut(lines.Text(), ":")
		if name != "root" && strings.Contains(ask(t, "id", "-G", name), " ") {
			return name
		}
	}
	return "nobody"
}

func ask(t *testing.T, command ...string) string {
	t.Helper()
	out, err := exec.Command(command[0], command[1:]...).Output()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	return strings.TrimSpace(string(out))
}

func TestStartAsAnotherUser(t *testing.T) {
	name := manyGroups(t)
	home := strings.Split(ask(t, "getent", "passwd", name), ":")[5]
	for _, tc := range []struct{ user, ids, groups, account string }{
		{name, ask(t, "id", "-u", name) + " " + ask(t, "id", "-g", name), ask(t, "id", "-G", name), home + " " + name + " " + name},
		{"nobody:4242", "65534 4242", "4242 65534", "/nonexistent nobody nobody"},
		{"54321:54322", "54321 54322", "54322", "/ 54321 54321"},
	} {
		t.Run(tc.user, func(t *testing.T) {
			e := asNobody(t, shell(t, `grep -E '^(Uid|Gid):' /proc/self/status; id -G; echo "$HOME $USER $LOGNAME"; echo reopened >>/dev/stdout; echo last; sleep 100`))
			e.Object.Spec.User = tc.user
			a := newActuator(t, func(o *Options) { o.Environ = append(o.Environ, "HOME=/root", "USER=root") })
			in := mustStart(t, a, e)
			var got []string
			eventually(t, "all was written", func() bool {
				got = strings.Split(strings.TrimSpace(output(t, in)), "\n")
				return got[len(got)-1] == "last"
			})
			uid, gid, _ := strings.Cut(tc.ids, " ")
			want := []string{"Uid:\t" + strings.Repeat(uid+"\t", 3) + uid, "Gid:\t" + strings.Repeat(gid+"\t", 3) + gid}
			if !slices.Equal(got[:2], want) {
				t.Errorf("it runs as %q, want %q", got[:2], want)
			}
			if words := sorted(got[2]); !slices.Equal(words, sorted(tc.groups)) {
				t.Errorf("its groups are %q, want %q", words, tc.groups)
			}
			if got[3] != tc.account || !slices.Contains(got, "reopened") {
				t.Errorf("it wrote %q, want the account %q", got, tc.account)
			}
		})
	}
}

func sorted(words string) []string {
	list := strings.Fields(words)
	slices.Sort(list)
	return list
}

// Changing credentials clears the parent-death signal (prctl(2)): it has to be
// asked for afterwards.
func TestAnotherUsersWorkloadDiesWithTheController(t *testing.T) {
	e := asNobody(t, shell(t, `trap 'echo asked to stop; exit' TERM; id -u; while :; do sleep 0.01; done`))
	m := startMini(t, "controller", scope.Off, e)
	if got := outputIn(t, m.Log); got != "65534\n" {
		t.Fatalf("it wrote %q", got)
	}
	m.kill()
	eventually(t, "the child is dead", func() bool { return dead(m.Main.PID) })
	if got := outputIn(t, m.Log); !strings.Contains(got, "asked to stop") {
		t.Errorf("the child wrote %q", got)
	}
}

func TestStartErrorsOfAUser(t *testing.T) {
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*spec.Spec)
		reason spec.Reason
		words  string
	}{
		"unknown":            {func(s *spec.Spec) { s.User = "no-such-user" }, spec.ReasonUserUnknown, "no-such-user"},
		"unknown group":      {func(s *spec.Spec) { s.User = "nobody:no-such-group" }, spec.ReasonUserUnknown, "no-such-group"},
		"a number alone":     {func(s *spec.Spec) { s.User = "54321" }, spec.ReasonUserUnknown, "54321:GROUP"},
		"a closed directory": {func(s *spec.Spec) { s.WorkingDir = closed }, spec.ReasonNotExecutable, "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			e := asNobody(t, entry(t, "/bin/true"))
			tc.change(&e.Object.Spec)
			_, err := newActuator(t).Start(e, newToken(), nil)
			if se, ok := errors.AsType[*StartError](err); !ok || se.Reason != tc.reason || !strings.Contains(se.Message, tc.words) {
				t.Errorf("error %v, want %s that names %q", err, tc.reason, tc.words)
			}
		})
	}
}

// The test runs itself as a user that may not become another.
func TestOnlyRootStartsAsAnotherUser(t *testing.T) {
	if os.Getuid() == 0 {
		asOther(t)
		return
	}
	e := entry(t, "/bin/true")
	e.Object.Spec.User = "root"
	_, err := newActuator(t).Start(e, newToken(), nil)
	if se, ok := errors.AsType[*StartError](err); !ok || se.Reason != spec.ReasonUserRefused || !strings.Contains(se.Message, "root") {
		t.Errorf("error %v, want %s", err, spec.ReasonUserRefused)
	}
}

// asOther runs the test that calls it as nobody.
func asOther(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "actuate-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary := filepath.Join(dir, "test")
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(binary, self, 0o755)
	}
	if err == nil {
		err = os.Chown(dir, 65534, 65534)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env, cmd.Dir = append(os.Environ(), "TMPDIR="+dir), dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("as nobody: %v\n%s", err, out)
	}
}

// A stop reaches a workload of another user, and what it has started, and
// nothing that looks like it.
func TestSignalToAnotherUsersWorkload(t *testing.T) {
	a := newActuator(t)
	in := mustStart(t, a, asNobody(t, shell(t, `setsid sleep 1000 & echo $!; exec sleep 1000`)))
	pid := output(t, in)
	if in.UID != 65534 || in.Main.UID != 65534 {
		t.Errorf("the instance says uid %d, its main process %d", in.UID, in.Main.UID)
	}
	s := newScanner(t)
	found := findInstance(t, s, in)
	if len(found.Members) != 1 || found.Main == nil || found.UID != 65534 {
		t.Fatalf("the scan has main %v, members %v, uid %d; the other is %s", found.Main, found.Members, found.UID, pid)
	}
	if _, err := a.Signal(found, int(unix.SIGTERM), spec.KillTree); err != nil {
		t.Fatal(err)
	}
	for _, p := range []int{found.Main.PID, found.Members[0].PID} {
		eventually(t, "the workload has ended", func() bool { return dead(p) })
	}
}

// newScanner is a scanner of the owner of the tests.
func newScanner(t *testing.T) *observe.Scanner {
	t.Helper()
	s, err := observe.NewScanner(observe.ScannerOptions{Owner: "test", UID: os.Getuid()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// findInstance finds an instance as a controller does that knows no more of it
// than its manifest.
func findInstance(t *testing.T, s *observe.Scanner, in *observe.Instance) (found *observe.Instance) {
	t.Helper()
	known := []observe.Witness{{Key: in.Key, User: "nobody"}}
	eventually(t, "the scan shows the instance whole", func() bool {
		for _, i := range s.Scan(t.Context(), known, observe.Full).Instances {
			if i.ID == in.ID {
				found = i
			}
		}
		return found != nil && len(found.Members) == 1 && found.Members[0].SID != in.Main.PID
	})
	return found
}
