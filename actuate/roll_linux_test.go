package actuate

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/observe"
)

// What stands on a roll is what another process reads in its memory.
func TestRollIsReadByOthers(t *testing.T) {
	r, err := newRoll()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a, b, c := observe.Ident{PID: 11, Start: 1}, observe.Ident{PID: 12, Start: 2}, observe.Ident{PID: 13, Start: 3}
	r.Enter(a)
	r.Enter(b)
	r.Enter(b)
	r.Leave(a)
	r.Leave(a)
	want := func(ids ...observe.Ident) {
		t.Helper()
		all, err := readRoll(r.file)
		if err != nil {
			t.Fatal(err)
		}
		all = slices.DeleteFunc(all, observe.Ident.IsZero)
		slices.SortFunc(all, func(x, y observe.Ident) int { return x.PID - y.PID })
		if !slices.Equal(all, ids) {
			t.Errorf("the roll has %v, want %v", all, ids)
		}
	}
	want(b)
	r.Enter(c) // in the place of a
	want(b, c)
	if st, err := r.file.Stat(); err != nil || st.Size() != 2*rollRecord {
		t.Errorf("%d bytes, %v; want two records", st.Size(), err)
	}
	fd, err := unix.Dup(int(r.file.Fd())) // the next image has it to itself
	if err != nil {
		t.Fatal(err)
	}
	next, err := adoptRoll(fd)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	next.Leave(c)
	want(b)
	if got := next.Children(); !slices.Equal(got, []observe.Ident{b}) {
		t.Errorf("the next image knows %v", got)
	}
}

// A child stands on the roll until it is reaped, and then no more.
func TestRollFollowsTheChildren(t *testing.T) {
	a := newActuator(t)
	in, err := a.Start(entry(t, "sleep", "1000"), "token", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Children(); !slices.Equal(got, []observe.Ident{in.LastMain}) {
		t.Errorf("children: %v, want %v", got, in.LastMain)
	}
	if _, err := a.Signal(in, 9, "Tree"); err != nil {
		t.Fatal(err)
	}
	<-a.Exits()
	if got := a.Children(); len(got) != 0 {
		t.Errorf("after its end: %v", got)
	}
}

func TestCodeMapping(t *testing.T) {
	const file = "/usr/bin/proc controller"
	for line, ok := range map[string]bool{
		"00400000-00a1c000 r-xp 00000000 fe:00 8126481  /usr/bin/proc controller\n":  true,
		"00a1c000-00b1c000 r--p 00000000 fe:00 8126481  /usr/bin/proc controller\n":  false,
		"00b1c000-00c1c000 rw-p 00000000 fe:00 8126481  /usr/bin/proc controller\n":  false,
		"00400000-00a1c000 r-xp 00000000 fe:00 8126481  /usr/bin/proc controllers\n": false,
		"7ffd0000-7ffd2000 r-xp 00000000 00:00 0        [vdso]\n":                    false,
		"": false,
	} {
		from, to, got := codeMapping(line, file)
		if got != ok || ok && (from != 0x400000 || to != 0xa1c000) {
			t.Errorf("%q: %x-%x, %v", line, from, to, got)
		}
	}
}
