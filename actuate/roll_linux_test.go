package actuate

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// standing gives who is on a roll, by pid, as another process reads it.
func standing(t *testing.T, r *roll) []observe.Witness {
	t.Helper()
	all, err := readWitnesses(r.file, r.particulars)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(x, y observe.Witness) int { return x.Main.PID - y.Main.PID })
	return all
}

// worker is a child with all that a roll keeps of it.
func worker(pid int) observe.Witness {
	return observe.Witness{
		Key: spec.Key{Kind: spec.KindAgent, Name: strings.Repeat("n", 63)}, ID: spec.NewInstance("k7f3k7f3k7f3", 1<<62),
		Hash: "9c1e9c1e9c1e9c1e", OnExit: spec.ExitKeep, UID: 1<<32 - 1, Main: observe.Ident{PID: pid, Start: 1<<63 + uint64(pid)},
	}
}

func dup(t *testing.T, f *os.File) int {
	t.Helper()
	fd, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// What stands on a roll is what another process reads in its memory, and the next
// image goes on with.
func TestRollIsReadByOthers(t *testing.T) {
	r, err := newRoll()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a, b, c := worker(11), worker(12), worker(13)
	r.Enter(a)
	r.Enter(b)
	r.Enter(b)
	r.Leave(a.Main)
	r.Leave(a.Main)
	want := func(r *roll, children ...observe.Witness) {
		t.Helper()
		if diff := cmp.Diff(children, standing(t, r)); diff != "" {
			t.Errorf("the roll (-want +got):\n%s", diff)
		}
	}
	want(r, b)
	r.Enter(c) // in the place of a
	want(r, b, c)
	if st, err := r.file.Stat(); err != nil || st.Size() != 2*rollRecord {
		t.Errorf("%d bytes, %v; want two records", st.Size(), err)
	}
	next, err := adoptRoll(dup(t, r.file), dup(t, r.particulars)) // the next image has them to itself
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	next.Leave(c.Main)
	want(r, b)
	if got := next.Children(); !slices.Equal(got, []observe.Ident{b.Main}) {
		t.Errorf("the next image knows %v", got)
	}
	next.Enter(a)
	want(r, a, b)
}

// An older version keeps a roll without particulars. A newer one goes on with it
// and knows those of its own children; and what it has written is no other's when
// the older one has gone on in the same place.
func TestRollOfAnOlderVersion(t *testing.T) {
	older, err := newRoll()
	if err != nil {
		t.Fatal(err)
	}
	defer older.Close()
	a, b, c := worker(11), worker(12), worker(13)
	nameless := func(w observe.Witness) observe.Witness { return observe.Witness{Main: w.Main} }
	older.Enter(a)
	newer, err := adoptRoll(dup(t, older.file), noParticulars)
	if err != nil {
		t.Fatal(err)
	}
	defer newer.Close()
	newer.Enter(b)
	if diff := cmp.Diff([]observe.Witness{nameless(a), b}, standing(t, newer)); diff != "" {
		t.Errorf("the newer version (-want +got):\n%s", diff)
	}
	again, err := adoptRoll(dup(t, older.file), noParticulars)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	again.Leave(b.Main)
	again.Enter(c)
	if diff := cmp.Diff([]observe.Witness{nameless(a), nameless(c)}, standing(t, newer)); diff != "" {
		t.Errorf("after the older one has gone on (-want +got):\n%s", diff)
	}
}

// Particulars that were not written to their end belong to nobody.
func TestTornParticulars(t *testing.T) {
	r, err := newRoll()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w := worker(11)
	r.Enter(w)
	whole := make([]byte, particularsSize)
	if _, err := r.particulars.ReadAt(whole, 0); err != nil {
		t.Fatal(err)
	}
	length := len(bytes.TrimRight(whole, "\x00"))
	if length > particularsSize/2 {
		t.Errorf("%d bytes of %d: there may be too little room", length, particularsSize)
	}
	for n := range length {
		if err := r.particulars.Truncate(int64(n)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]observe.Witness{{Main: w.Main}}, standing(t, r)); diff != "" {
			t.Errorf("with %d bytes of %d (-want +got):\n%s", n, length, diff)
		}
	}
}

// A child stands on the roll until it is reaped, and then no more.
func TestRollFollowsTheChildren(t *testing.T) {
	a := newActuator(t)
	in, err := a.Start(entry(t, "sleep", "1000"), "token", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.reaper.roll.Children(); !slices.Equal(got, []observe.Ident{in.LastMain}) {
		t.Errorf("children: %v, want %v", got, in.LastMain)
	}
	want := []observe.Witness{{Key: in.Key, ID: in.ID, Hash: in.Hash, OnExit: in.OnExit, UID: in.UID, Main: in.LastMain}}
	if diff := cmp.Diff(want, standing(t, a.reaper.roll)); diff != "" {
		t.Errorf("the roll (-want +got):\n%s", diff)
	}
	if _, err := a.Signal(in, 9, "Tree"); err != nil {
		t.Fatal(err)
	}
	<-a.Exits()
	if got := a.reaper.roll.Children(); len(got) != 0 {
		t.Errorf("after its end: %v", got)
	}
}

func TestProgramMapping(t *testing.T) {
	const file = "/usr/bin/proc controller"
	for line, ok := range map[string]bool{
		"00400000-00a1c000 r-xp 00000000 fe:00 8126481  /usr/bin/proc controller\n":  true,
		"00b1c000-00c1c000 rw-p 00000000 fe:00 8126481  /usr/bin/proc controller\n":  false,
		"00400000-00a1c000 r-xp 00000000 fe:00 8126481  /usr/bin/proc controllers\n": false,
		"7ffd0000-7ffd2000 r-xp 00000000 00:00 0        [vdso]\n":                    false,
		"": false,
	} {
		for _, constants := range []bool{false, true} {
			from, to, got := programMapping(line, file, constants)
			if got != ok || ok && (from != 0x400000 || to != 0xa1c000) {
				t.Errorf("%q: %x-%x, %v", line, from, to, got)
			}
		}
	}
	constants := "00a1c000-00b1c000 r--p 00000000 fe:00 8126481  /usr/bin/proc controller\n"
	for _, wanted := range []bool{false, true} {
		if _, _, got := programMapping(constants, file, wanted); got != wanted {
			t.Errorf("constants, wanted %v: %v", wanted, got)
		}
	}
}

// elfHead is the head of a program with headers of these types.
func elfHead(magic string, kind uint16, types ...uint32) []byte {
	const size = 56
	b := make([]byte, elfHeader+size*len(types))
	copy(b, magic)
	le := binary.LittleEndian
	le.PutUint16(b[16:], kind)
	le.PutUint32(b[32:], elfHeader)
	le.PutUint16(b[54:], size)
	le.PutUint16(b[56:], uint16(len(types)))
	for i, typ := range types {
		le.PutUint32(b[elfHeader+i*size:], typ)
	}
	return b
}

func TestIsStatic(t *testing.T) {
	const load, relative = 1, 3 // PT_LOAD, ET_DYN
	for name, tt := range map[string]struct {
		head []byte
		want bool
	}{
		"static":         {elfHead(elfMagic, elfExecutable, load, load), true},
		"with a loader":  {elfHead(elfMagic, elfExecutable, load, elfLoader), false},
		"moved around":   {elfHead(elfMagic, relative, load), false},
		"big-endian":     {elfHead("\x7fELF\x02\x02", elfExecutable, load), false},
		"no headers":     {elfHead(elfMagic, elfExecutable), false},
		"cut off":        {elfHead(elfMagic, elfExecutable, load, load)[:100], false},
		"nothing":        {nil, false},
		"something else": {[]byte("#!/bin/sh\n"), false},
	} {
		if got := isStaticHeader(tt.head); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
