//go:build unix

package bearer

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// write makes a file of that mode, whatever the umask is.
func write(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "to ken")
	long := strings.Repeat("x", MaxLength)
	for _, tt := range []struct {
		content string
		mode    fs.FileMode
		token   string
		says    string // of the error; empty for none
		about   bool   // it is about the content
	}{
		{"s3cret", 0o600, "s3cret", "", false},
		{" s3cret\r\n\n", 0o640, "s3cret", "", false},
		{long + "\r\n", 0o400, long, "", false},
		{long + "x\n", 0o600, "", "longer than the 4096 bytes", true},
		{"", 0o600, "", "it is empty", true},
		{" \n", 0o600, "", "it is empty", true},
		{"s3cret one", 0o600, "", "without blanks", true},
		{"s3cret\nanother", 0o600, "", "one line", true},
		{"s3cr\xc3\xa9t", 0o600, "", "letters, digits", true},
		{"s3cret", 0o644, "", "every user of this machine can read it (chmod o= '" + path + "')", false},
		{"s3cret", 0o602, "", "chmod o=", false},
	} {
		write(t, path, tt.content, tt.mode)
		token, err := ReadFile(path, ClosedToOthers)
		_, about := errors.AsType[*NotATokenError](err)
		switch {
		case token != tt.token || (err == nil) != (tt.says == "") || about != tt.about:
			t.Errorf("%.20q %v: %.20q, %v", tt.content, tt.mode, token, err)
		case err != nil && (!strings.HasPrefix(err.Error(), "cannot use the token file "+path+": ") || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "s3cr")):
			t.Errorf("%.20q %v: %v, want %q", tt.content, tt.mode, err, tt.says)
		}
	}
}

func TestReadFileThatIsNone(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, fifo} {
		if _, err := ReadFile(path, ClosedToOthers); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
	none := filepath.Join(dir, "none")
	if _, err := ReadFile(none, ClosedToOthers); !errors.Is(err, fs.ErrNotExist) || err.Error() != "cannot use the token file "+none+": no such file or directory" {
		t.Errorf("nothing there: %v", err)
	}
}

// showing is a request with that header.
func showing(authorization string) *http.Request {
	return &http.Request{Header: http.Header{"Authorization": {authorization}}}
}

func TestShownBy(t *testing.T) {
	token := TokenOf("s3cret")
	for authorization, want := range map[string]bool{
		"Bearer s3cret": true, "bearer s3cret": true, "BEARER   s3cret ": true,
		"": false, "Bearer": false, "Bearer ": false, "s3cret": false, "Basic s3cret": false,
		"Bearer s3cre": false, "Bearer s3cret2": false, "Bearer S3cret": false, "Bearers3cret": false,
	} {
		if got := token.ShownBy(showing(authorization)); got != want {
			t.Errorf("%q: %v", authorization, got)
		}
	}
	for _, nobodys := range []Token{{}, TokenOf("")} {
		for _, authorization := range []string{"", "Bearer", "Bearer ", "Bearer x"} {
			if nobodys.ShownBy(showing(authorization)) {
				t.Errorf("%q shows what nobody has", authorization)
			}
		}
	}
}

// TestWatched: each change of the file counts at once, and what is wrong with it is
// said once.
func TestWatched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	var said []string
	w := Watch(path, func(err error) { said = append(said, err.Error()) })
	step := func(what, show string, want bool, says string) {
		t.Helper()
		for range 3 {
			if got := w.ShownBy(showing("Bearer " + show)); got != want {
				t.Errorf("%s: %q is let in: %v", what, show, got)
			}
		}
		switch {
		case says == "" && len(said) > 0, says != "" && (len(said) != 1 || !strings.Contains(said[0], says)):
			t.Errorf("%s: said %q, want %q once", what, said, says)
		}
		said = nil
	}
	step("no file", "", false, "no such file")
	write(t, path, "first\n", 0o600)
	step("made", "first", true, "")
	step("another", "second", false, "")
	write(t, path, "the-second\n", 0o600)
	step("changed", "first", false, "")
	step("changed", "the-second", true, "")
	write(t, path, "the-third-of-them\n", 0o644)
	step("open to others", "the-third-of-them", false, "chmod o=")
	write(t, path, "the-third-of-them\n", 0o600)
	step("closed again", "the-third-of-them", true, "")
	for _, c := range []struct {
		mode fs.FileMode
		want bool
		says string
	}{{0o604, false, "chmod o="}, {0o600, true, ""}} {
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		step("chmod "+c.mode.String(), "the-third-of-them", c.want, c.says)
	}
	// Another file in its place, of the same size and of the same time.
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path+".new", "fourth--of--them-\n", 0o600)
	if err := errors.Join(os.Chtimes(path+".new", fi.ModTime(), fi.ModTime()), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
	step("exchanged", "the-third-of-them", false, "")
	step("exchanged", "fourth--of--them-", true, "")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	step("removed", "the-third-of-them", false, "no such file")
	write(t, path, "\n", 0o600)
	step("emptied", "", false, "it is empty")
	write(t, path, "the-third-of-them\n", 0o600)
	step("back", "the-third-of-them", true, "")
}
