package observe

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// withoutDescriptors runs f while no further file can be opened.
func withoutDescriptors(t *testing.T, f func()) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open("/dev/null") // the lowest number that is free
	if err != nil {
		t.Fatal(err)
	}
	lowest := open.Fd()
	open.Close()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(lowest), Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	}()
	f()
}

// A process whose files cannot be opened for want of a descriptor is not gone.
func TestScanFailsWithoutDescriptors(t *testing.T) {
	id, c := spawn(t, "wait")
	s := newScanner(t)
	before := only(t, scan(t, s, Full))
	for _, depth := range []Depth{Look, Resync, Full} {
		withoutDescriptors(t, func() {
			snap := s.Scan(t.Context(), nil, depth)
			if depth == Look && snap.Err == nil {
				return // it had nothing to open
			}
			if !errors.Is(snap.Err, unix.EMFILE) {
				t.Errorf("depth %d: error %v, want %v", depth, snap.Err, unix.EMFILE)
			}
			if in := only(t, snap); !in.Live() {
				t.Errorf("depth %d: pid %d is taken for gone", depth, c.pid())
			}
			if err := Verify(before.Main.Ident); err == nil || errors.Is(err, ErrGone) {
				t.Errorf("Verify gives %v", err)
			}
			if v, words := Confirm(before.Main.Ident, Claim{Owner: testOwner, UID: os.Geteuid(), Key: testKey, Instance: id}); v != CannotTell {
				t.Errorf("verdict %v: %v", v, words)
			}
		})
		if in := only(t, scan(t, s, depth)); !in.Live() {
			t.Errorf("depth %d: pid %d is not there afterwards", depth, c.pid())
		}
	}
}
