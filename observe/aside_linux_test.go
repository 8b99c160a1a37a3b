package observe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/spec"
)

// fakeProc is a directory that looks like /proc for the processes 2001 to 2003.
// A FIFO in it blocks a reader as the kernel can.
func fakeProc(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for i, pid := range []int{2001, 2002, 2003} {
		dir := filepath.Join(root, fmt.Sprint(pid))
		env := markers(testKey, testOwner, spec.NewInstance(fmt.Sprint("i", i), 5000))
		files := map[string]string{
			"stat":    fmt.Sprintf("%d (fake) S 1 %d %d 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5000 0\n", pid, pid, pid),
			"environ": strings.Join(env, "\x00") + "\x00",
			"status":  fmt.Sprintf("Tgid:\t%d\nUid:\t%d\t%d\t0\t0\nNSpid:\t%d\n", pid, os.Geteuid(), os.Geteuid(), pid),
			"cgroup":  "0::/\n",
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

// block puts a FIFO in the place of a file. The function that it gives puts the
// file back, and then lets go who is stuck in the FIFO.
func block(t *testing.T, path string) (release func()) {
	t.Helper()
	fifo := path + ".fifo"
	steps := []error{os.Rename(path, path+".kept"), unix.Mkfifo(path, 0o644), os.Link(path, fifo)}
	for _, err := range steps {
		if err != nil {
			t.Fatal(err)
		}
	}
	released := false
	release = func() {
		if released {
			return
		}
		released = true
		if err := os.Rename(path+".kept", path); err != nil {
			t.Error(err)
		}
		w, err := os.OpenFile(fifo, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			t.Error(err)
			return
		}
		_ = w.Close()
	}
	t.Cleanup(release)
	return release
}

func pidsOf(s Snapshot) (pids []int) {
	for _, in := range s.Instances {
		if in.Main != nil {
			pids = append(pids, in.Main.PID)
		}
	}
	slices.Sort(pids)
	return pids
}

// testStall is longer than any other reading takes, also on a busy machine.
const testStall = time.Second

func TestScanSetsBlockedReadAside(t *testing.T) {
	for _, file := range []string{"environ", "stat"} {
		t.Run(file, func(t *testing.T) {
			root := fakeProc(t)
			release := block(t, filepath.Join(root, "2002", file))
			s, err := NewScanner(ScannerOptions{Owner: testOwner, UID: os.Geteuid(), ProcRoot: root, Stall: testStall})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()

			snap := scan(t, s, Full)
			if got := pidsOf(snap); !slices.Equal(got, []int{2001, 2003}) || !slices.Equal(snap.Blocked, []int{2002}) {
				t.Fatalf("main processes %v, blocked %v", got, snap.Blocked)
			}
			s.table.aside.stall = time.Hour // a second wait would now outlast the test
			if got := pidsOf(scan(t, s, Full)); !slices.Equal(got, []int{2001, 2003}) {
				t.Fatalf("main processes %v in the scan after", got)
			}
			ended := s.table.aside.pids[2002].ended
			release()
			<-ended
			snap = scan(t, s, Full)
			if got := pidsOf(snap); !slices.Equal(got, []int{2001, 2002, 2003}) || len(snap.Blocked) != 0 {
				t.Errorf("main processes %v, blocked %v after the read came back", got, snap.Blocked)
			}
		})
	}
}

// A process that ends while its reading hangs is not shown for ever.
func TestScanForgetsBlockedThatIsGone(t *testing.T) {
	root := fakeProc(t)
	dir := filepath.Join(root, "2002")
	release := block(t, filepath.Join(dir, "environ"))
	s, err := NewScanner(ScannerOptions{Owner: testOwner, UID: os.Geteuid(), ProcRoot: root, Stall: testStall})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if snap := scan(t, s, Full); !slices.Equal(snap.Blocked, []int{2002}) {
		t.Fatalf("blocked %v", snap.Blocked)
	}
	ended := s.table.aside.pids[2002].ended
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	gone := filepath.Join(root, "gone")
	move(dir, gone)
	if snap := scan(t, s, Look); !slices.Equal(snap.Blocked, []int{2002}) {
		t.Fatalf("blocked %v while the read is still out", snap.Blocked)
	}
	move(gone, dir) // where the FIFO is let go of
	release()
	<-ended
	move(dir, gone)
	if snap := scan(t, s, Look); len(snap.Blocked) != 0 {
		t.Errorf("blocked %v although the read has come back", snap.Blocked)
	}
}

func TestScanKeepsWhatItKnowsOfBlocked(t *testing.T) {
	root := fakeProc(t)
	s, err := NewScanner(ScannerOptions{Owner: testOwner, UID: os.Geteuid(), ProcRoot: root, Stall: testStall})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	scan(t, s, Full)
	release := block(t, filepath.Join(root, "2001", "environ"))
	snap := scan(t, s, Full)
	if got := pidsOf(snap); !slices.Equal(got, []int{2001, 2002, 2003}) || !slices.Equal(snap.Blocked, []int{2001}) {
		t.Errorf("main processes %v, blocked %v", got, snap.Blocked)
	}
	ended := s.table.aside.pids[2001].ended
	release()
	<-ended
}

func TestScanEndsAtItsDeadline(t *testing.T) {
	root := fakeProc(t)
	s, err := NewScanner(ScannerOptions{Owner: testOwner, UID: os.Geteuid(), ProcRoot: root, Stall: time.Hour, Deadline: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := scan(t, s, Full)
	release := block(t, filepath.Join(root, "2003", "environ"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	after := s.Scan(ctx, nil, Full)
	if after.Err == nil || !after.Complete || !after.Began.Equal(before.Began) || len(after.Instances) != 3 {
		t.Errorf("after a scan that was cut off: error %v, %d instances", after.Err, len(after.Instances))
	}
	release()
	if got := pidsOf(scan(t, s, Full)); !slices.Equal(got, []int{2001, 2002, 2003}) {
		t.Errorf("main processes %v in the scan after", got)
	}
}

func TestScanSeesThatPIDPassedOn(t *testing.T) {
	root := fakeProc(t)
	s, err := NewScanner(ScannerOptions{Owner: testOwner, UID: os.Geteuid(), ProcRoot: root})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := pidsOf(scan(t, s, Full)); !slices.Equal(got, []int{2001, 2002, 2003}) {
		t.Fatalf("main processes %v", got)
	}
	// Another process, with another start tick: a stranger.
	old, dir := filepath.Join(root, "gone"), filepath.Join(root, "2002")
	if err := os.Rename(dir, old); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "environ"), []byte("PATH=/bin\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	stat := "2002 (fake) S 1 2002 2002 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9000 0\n"
	if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := pidsOf(scan(t, s, Look)); !slices.Equal(got, []int{2001, 2003}) {
		t.Errorf("main processes %v after one pid has passed on", got)
	}
}

func TestScanFindsClearedOrphanByScope(t *testing.T) {
	root := fakeProc(t)
	orphan := filepath.Join(root, "2004")
	if err := os.CopyFS(orphan, os.DirFS(filepath.Join(root, "2001"))); err != nil {
		t.Fatal(err)
	}
	unit := ScopeName(testOwner, spec.NewInstance("i0", 5000)) + scopeSuffix
	for name, content := range map[string]string{
		"stat":    "2004 (fake) S 1 2004 2004 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 6000 0\n",
		"environ": "",
		"status":  "Tgid:\t2004\nUid:\t1\t1\t1\t1\nNSpid:\t2004\n",
		"cgroup":  "0::/app.slice/" + unit + "\n",
	} {
		if err := os.WriteFile(filepath.Join(orphan, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := NewScanner(ScannerOptions{Owner: testOwner, UID: os.Geteuid(), ProcRoot: root})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in := scan(t, s, Full).Instances[0]
	p := byPID(in.Members, 2004)
	if p == nil || p.Verdict != Ours || !slices.Contains(p.Evidence, "lives in the instance's scope") {
		t.Errorf("members %+v of %v", in.Members, in.ID)
	}
}
