package api

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proc-controller/proc-controller/bearer"
)

func TestOnlyTheLoopbackIsListenedOn(t *testing.T) {
	for address, good := range map[string]bool{
		"127.0.0.1:0": true, "127.0.0.9:8080": true, "[::1]:8080": true,
		"0.0.0.0:80": false, "[::]:80": false, ":80": false, "localhost:80": false, "192.168.0.1:80": false,
		"127.0.0.1": false, "127.0.0.1:99999": false, "[::ffff:127.0.0.1]:80": false, "[::1%lo]:80": false, "": false,
	} {
		if err := CheckLoopback(address); (err == nil) != good {
			t.Errorf("%q: %v, want good: %v", address, err, good)
		}
	}
	l, err := ListenLoopback("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := ListenLoopback(l.Addr().String()); err == nil || !strings.Contains(err.Error(), "another process has it") {
		t.Errorf("a port that is taken: %v", err)
	}
}

// TestPort asks on a port, with every kind of stranger's request, on each route.
func TestPort(t *testing.T) {
	const token = "0123456789abcdef"
	l, err := ListenLoopback("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	services := everything(t)
	serve(t, Options{Path: socketPath(t), Services: services, Loopback: l, Token: token, streams: quick()})
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	tests := []struct {
		name, host, origin, authorization string
		code                              int
		has                               string
	}{
		{"good", address, "", "Bearer " + token, 0, ""},
		{"by name", "localhost:" + port, "", "bearer  " + token, 0, ""},
		{"a page of its own", address, "http://" + address, "Bearer " + token, 0, ""},
		{"no token", address, "", "", 401, "no token"},
		{"another scheme", address, "", "Basic " + token, 401, "wrong token"},
		{"wrong token", address, "", "Bearer " + token[1:] + "x", 401, "wrong token"},
		{"a longer token", address, "", "Bearer " + token + "0", 401, "wrong token"},
		{"another host", "evil.example:" + port, "", "Bearer " + token, 403, "evil.example"},
		{"another port", "127.0.0.1:1", "", "Bearer " + token, 403, "this is " + address},
		{"no port", "127.0.0.1", "", "Bearer " + token, 403, "this is"},
		{"another page", address, "http://evil.example", "Bearer " + token, 403, "a page of"},
		{"a page of a file", address, "null", "Bearer " + token, 403, "a page of"},
		{"another page's port", address, "http://127.0.0.1:1", "Bearer " + token, 403, "a page of"},
		{"tls", address, "https://" + address, "Bearer " + token, 403, "a page of"},
	}
	for _, tt := range tests {
		for _, r := range (&handler{}).routes() {
			path := strings.NewReplacer("{name}", "files", "{pid}", "99").Replace(r.path)
			code, text := askPort(t, address, r.method, path, tt.host, tt.origin, tt.authorization)
			open := tt.code == http.StatusUnauthorized && path == healthPath
			switch {
			case tt.code == 0 || open:
				if code == 401 || code == 403 {
					t.Errorf("%s: %s %s: %d %s", tt.name, r.method, path, code, text)
				}
			case code != tt.code || !strings.Contains(text, tt.has):
				t.Errorf("%s: %s %s: %d %s, want %d with %q", tt.name, r.method, path, code, text, tt.code, tt.has)
			}
		}
	}
	if code, text := askPort(t, address, "GET", "/no/such/path", address, "", ""); code != 401 {
		t.Errorf("what is not there: %d %s", code, text)
	}
}

// askPort asks as no well-behaved client can: with any Host.
func askPort(t *testing.T, address, method, path, host, origin, authorization string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", method, path, host)
	for name, value := range map[string]string{"Origin": origin, "Authorization": authorization} {
		if value != "" {
			fmt.Fprintf(conn, "%s: %s\r\n", name, value)
		}
	}
	fmt.Fprint(conn, "\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return resp.StatusCode, "" // which may be a stream
	}
	text := make([]byte, 500)
	n, _ := resp.Body.Read(text)
	return resp.StatusCode, string(text[:n])
}

func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	made, err := Token(path)
	if err != nil || len(made) < minToken {
		t.Fatalf("%q, %v", made, err)
	}
	fi, err := os.Stat(path)
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
	if again, err := Token(path); again != made || err != nil {
		t.Errorf("read again: %q, %v; it was %q", again, err, made)
	}
	if other, _ := Token(filepath.Join(t.TempDir(), "token")); other == made {
		t.Error("two tokens are the same")
	}
	if _, err := Token(filepath.Join(path, "x")); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("below a file: %v", err)
	}
	write := func(content string, mode os.FileMode) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		content string
		mode    os.FileMode
		want    string
	}{
		{"0123456789abcdef", 0o640, "chmod 600"},
		{"0123456789abcdef", 0o604, "chmod 600"},
		{"", 0o600, "one line"},
		{"short", 0o600, "one line"},
		{"0123456789abcdef\n0123456789abcdef", 0o600, "one line"},
		{strings.Repeat("x", bearer.MaxLength+1), 0o600, "one line"},
	} {
		write(tt.content, tt.mode)
		if _, err := Token(path); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.20q %v: %v, want %q", tt.content, tt.mode, err, tt.want)
		}
	}
	write("  0123456789abcdef \r\n", 0o600)
	if token, err := Token(path); token != "0123456789abcdef" || err != nil {
		t.Errorf("%q, %v", token, err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(path, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := Token(path); err == nil || !strings.Contains(err.Error(), "uid 12345") {
			t.Errorf("another's file: %v", err)
		}
	}
}
