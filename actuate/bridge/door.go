package bridge

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// door decides who gets in. A page in a browser can send requests to loopback, and by
// a name that it has had changed (DNS rebinding) it can even read the answers: so the
// names that a request may be for, and those that it may come from, are listed.
type door struct {
	hosts   map[string]bool
	origins map[string]bool
	token   *token // nil for none
}

func newDoor(addr net.Addr, tokenFile string) door {
	d := door{hosts: map[string]bool{}, origins: map[string]bool{}}
	port := strconv.Itoa(addr.(*net.TCPAddr).Port)
	for _, host := range []string{"127.0.0.1", "localhost", "::1"} {
		h := net.JoinHostPort(host, port)
		d.hosts[h], d.origins["http://"+h] = true, true
	}
	if tokenFile != "" {
		d.token = &token{file: tokenFile}
	}
	return d
}

// foreign says in words what is wrong with where a request comes from, or goes to; ""
// if nothing is.
func (d *door) foreign(r *http.Request) string {
	if !d.hosts[strings.ToLower(r.Host)] {
		return fmt.Sprintf("the header Host is %q: this address is reached as 127.0.0.1 or localhost only", r.Host)
	}
	for _, origin := range r.Header.Values("Origin") {
		if !d.origins[strings.ToLower(origin)] {
			return fmt.Sprintf("requests of pages of %q are not served", origin)
		}
	}
	return ""
}

// admits says whether a request shows the token, if there is one.
func (d *door) admits(r *http.Request) bool {
	if d.token == nil {
		return true
	}
	kind, shown, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return ok && strings.EqualFold(kind, "Bearer") && d.token.is(strings.TrimSpace(shown))
}

// token is the content of a file, which is read again when that changes.
type token struct {
	file string

	mu       sync.Mutex
	hash     [sha256.Size]byte
	known    bool
	size     int64
	modified time.Time
}

// maxToken bounds the file.
const maxToken = 4 << 10

// is compares in a time that says nothing about where two tokens differ. What cannot
// be read admits nobody.
func (t *token) is(shown string) bool {
	t.mu.Lock()
	t.refreshLocked()
	known, hash := t.known, t.hash
	t.mu.Unlock()
	have := sha256.Sum256([]byte(shown))
	return subtle.ConstantTimeCompare(have[:], hash[:]) == 1 && known
}

func (t *token) refreshLocked() {
	info, err := os.Stat(t.file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxToken {
		t.known, t.modified = false, time.Time{}
		return
	}
	if t.known && info.Size() == t.size && info.ModTime().Equal(t.modified) {
		return
	}
	text, err := os.ReadFile(t.file)
	text = bytes.TrimSpace(text)
	t.known = err == nil && len(text) > 0
	t.hash, t.size, t.modified = sha256.Sum256(text), info.Size(), info.ModTime()
}
