package observe

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// statSample is a line of Linux 6.18.
const statSample = "4711 (tmux: server) S 1 4711 4710 0 -1 4194560 2035 0 0 0 3 1 0 0 20 0 4 0 8812345 " +
	"9785344 1093 18446744073709551615 94163447263232 94163447904933 140725229431968 0 0 0 0 3674112 134433283 " +
	"1 0 0 17 1 0 0 0 0 0 94163448196080 94163448263168 94163474096128 140725229437640 140725229437659 " +
	"140725229437659 140725229441002 256\n"

func TestParseStat(t *testing.T) {
	want := stat{pid: 4711, ppid: 1, pgid: 4711, sid: 4710, threads: 4, state: 'S', start: 8812345}
	names := []string{"(tmux: server)", "(a) S 9 9 9)", "(new\nline)", "(())", "()", "( )", "(1 (x) Z 1)"}
	for _, name := range names {
		line := strings.Replace(statSample, "(tmux: server)", name, 1)
		got, ok := parseStat([]byte(line))
		if !ok || got != want {
			t.Errorf("%q: %+v, %v", name, got, ok)
		}
		if comm := string(statComm([]byte(line))); comm != name[1:len(name)-1] {
			t.Errorf("%q: name %q", name, comm)
		}
		if code, ok := parseExitCode([]byte(line)); !ok || code != 256 {
			t.Errorf("%q: exit code %d, %v", name, code, ok)
		}
	}
}

func TestParseStatRefuses(t *testing.T) {
	for _, line := range []string{
		"", "4711", "4711 (x", "4711 (x)", "4711 (x) S", "4711 (x) S 1 2", "x (x) S 1 2 3",
		"4711 (x) SS " + strings.Repeat("1 ", 60), "4711 (x) S - " + strings.Repeat("1 ", 60),
	} {
		if s, ok := parseStat([]byte(line)); ok {
			t.Errorf("%q gives %+v", line, s)
		}
	}
	short := statSample[:strings.LastIndexByte(statSample, ' ')]
	if code, ok := parseExitCode([]byte(short)); ok {
		t.Errorf("exit code %d where there is none", code)
	}
}

func TestParseStatus(t *testing.T) {
	const sample = "Name:\tNSpid:\t1 2\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t4711\nPid:\t4711\n" +
		"Uid:\t1000\t1001\t1002\t1003\nGid:\t0\t0\t0\t0\nNSpid:\t4711\n"
	want := status{tgid: 4711, uid: 1000, euid: 1001}
	if got, ok := parseStatus([]byte(sample)); !ok || got != want {
		t.Errorf("%+v, %v", got, ok)
	}
	nested, ok := parseStatus([]byte(strings.Replace(sample, "NSpid:\t4711\n", "NSpid:\t4711\t1\n", 1)))
	if !ok || !nested.nested {
		t.Errorf("in a namespace below: %+v, %v", nested, ok)
	}
	if got, ok := parseStatus([]byte("Tgid:\t1\nUid:\tx\n")); ok {
		t.Errorf("nonsense gives %+v", got)
	}
}

func TestParseCgroup(t *testing.T) {
	const hybrid = "9:name=systemd:/user.slice\n1:cpu:/\n0::/user.slice/app.slice/run-r1.scope\n"
	tests := map[string]string{
		hybrid:                    "/user.slice/app.slice/run-r1.scope",
		"0::/\n":                  "/",
		"0::/a/b (deleted)\n":     "/a/b",
		"4:memory:/x\n":           "",
		"0::/with:colon/0::/deep": "/with:colon/0::/deep",
		"10::/no\n0::/yes\n":      "/yes",
		"1:name=0:::/no\n0::/yes": "/yes",
		"":                        "",
	}
	for in, want := range tests {
		if got := parseCgroup([]byte(in)); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestScopeOf(t *testing.T) {
	unit := ScopeName("o", "abc-1") + scopeSuffix
	tests := map[string]string{
		"/user.slice/app.slice/" + unit: "abc-1",
		"/x/" + unit + "/below/deeper":  "abc-1",
		"/user.slice/other.scope":       "",
		"/":                             "",
		"":                              "",
	}
	for path, want := range tests {
		if _, id, _ := scopeOf(path); string(id) != want {
			t.Errorf("%q leads through %q, want %q", path, id, want)
		}
	}
}

func TestParseTCP(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the samples are of a little-endian machine")
	}
	const sample = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 48211 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F90 0100007F:D2F0 01 00000000:00000000 00:00000000 00000000  1000        0 48213 1 0000000000000000 20 4 30 10 -1
   2: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 17001 1 0000000000000000 100 0 0 10 0
   3: 0000000000000000FFFF00000100007F:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000    33        0 17002 1 0000000000000000 100 0 0 10 0
   4: 0100007F:XXXX 00000000:0000 0A
`
	type row struct {
		Port  uint16
		Addr  string
		UID   uint32
		Inode uint64
	}
	want := []row{{8080, "127.0.0.1", 1000, 48211}, {22, "::", 0, 17001}, {80, "127.0.0.1", 33, 17002}}
	var got []row
	parseTCP([]byte(sample), func(s socket) { got = append(got, row{s.port, s.addr.String(), s.uid, s.inode}) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// procArgs is a block as KERN_PROCARGS2 gives it.
func procArgs(argc int32, path string, rest ...string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(argc))
	b = append(b, path+"\x00\x00\x00\x00"...)
	return append(b, strings.Join(rest, "\x00")...)
}

func TestParseProcArgs(t *testing.T) {
	marker := "PROC_CONTROLLER_SUBPROCESS=1"
	tests := map[string]struct {
		block   []byte
		argv    []string
		environ string
	}{
		"an argument that looks like a marker": {
			procArgs(3, "/bin/echo", "echo", marker, "", "A=1", "B=2", "", "ptr_munge=", ""),
			[]string{"echo", marker, ""},
			"A=1\x00B=2\x00",
		},
		"no environment": {procArgs(1, "/bin/echo", "echo", "", ""), []string{"echo"}, ""},
		"nothing behind": {procArgs(1, "/bin/echo", "echo", marker, ""), []string{"echo"}, marker + "\x00"},
	}
	for name, tt := range tests {
		argv, environ, ok := parseProcArgs(tt.block, binary.LittleEndian)
		var got []string
		for _, a := range argv {
			got = append(got, string(a))
		}
		if !ok || !cmp.Equal(got, tt.argv) || string(environ) != tt.environ {
			t.Errorf("%s: %q, %q, %v", name, got, environ, ok)
		}
	}
	for _, bad := range [][]byte{nil, {1, 2}, procArgs(9, "/x", "a", ""), procArgs(-1, "/x", "a"), {1, 0, 0, 0, 'x'}} {
		if argv, environ, ok := parseProcArgs(bad, binary.LittleEndian); ok {
			t.Errorf("%q gives %q, %q", bad, argv, environ)
		}
	}
}

func TestStateLetter(t *testing.T) {
	for stat, want := range map[int8]byte{1: 'I', 2: 'R', 3: 'S', 4: 'T', 5: 'Z', 0: '?', 6: '?', -1: '?'} {
		if got := stateLetter(stat); got != want {
			t.Errorf("p_stat %d is %c, want %c", stat, got, want)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(statSample))
	f.Add([]byte("1 ()) R"))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		s, ok := parseStat(b)
		if !ok && s.start != 0 {
			t.Errorf("a start tick from what is not parsed: %+v", s)
		}
		parseExitCode(b)
		statComm(b)
		if !bytes.Equal(before, b) {
			t.Error("the input was changed")
		}
	})
}

func FuzzParseProcFiles(f *testing.F) {
	f.Add([]byte("Tgid:\t1\nUid:\t0\t0\t0\t0\n"))
	f.Add([]byte("0::/a/proc-controller-o:i.scope\n"))
	f.Add([]byte(" 0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 1000 0 48211 1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		parseStatus(b)
		scopeOf(parseCgroup(b))
		parseTCP(b, func(s socket) {
			if s.port == 0 || !s.addr.IsValid() {
				t.Errorf("a listener without port or address: %+v", s)
			}
		})
	})
}

func FuzzParseProcArgs(f *testing.F) {
	f.Add(procArgs(2, "/bin/echo", "echo", "x", "A=1", ""))
	f.Fuzz(func(t *testing.T, b []byte) {
		argv, environ, ok := parseProcArgs(b, binary.LittleEndian)
		total := len(environ)
		for _, a := range argv {
			total += len(a) + 1
		}
		if !ok && total != 0 || total > len(b) {
			t.Errorf("%d bytes out of %d", total, len(b))
		}
	})
}
