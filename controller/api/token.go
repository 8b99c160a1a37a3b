package api

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"syscall"
)

// The length of a token: at least, and at most.
const (
	minToken = 16
	maxToken = 4096
)

// Token gives the bearer token that is in a file, which is made with a random one
// where it is missing. The file has to be the user's own, and closed to others.
func Token(path string) (string, error) {
	token, err := readToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // somebody was faster
		return readToken(path)
	}
	if err != nil {
		return "", fmt.Errorf("cannot make the token file: %w", err)
	}
	token = rand.Text() // 128 bits
	_, err = f.WriteString(token + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
		return "", fmt.Errorf("cannot make the token file: %w", err)
	}
	return token, nil
}

// readToken reads the file, and believes only one that nobody else can read or
// write.
func readToken(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO would keep us waiting
	if err != nil {
		return "", fmt.Errorf("cannot read the token file: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("cannot read the token file: %w", err)
	}
	uid, known := fileUID(fi)
	switch {
	case !fi.Mode().IsRegular():
		return "", fmt.Errorf("cannot use the token file %s: it is not a regular file", path)
	case known && uid != os.Getuid():
		return "", fmt.Errorf("cannot use the token file %s: it belongs to uid %d", path, uid)
	case dirModesCount && fi.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("cannot use the token file %s: it is open to others; run chmod 600 on it", path)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the token file: %w", err)
	}
	token := string(bytes.TrimSpace(content))
	if len(token) < minToken || len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("cannot use the token file %s: a token is one line of %d to %d printable characters; remove it to have one made", path, minToken, maxToken)
	}
	return token, nil
}

// RequireToken lets through only who shows the token, and everybody to the path
// that is open, which may be empty.
func RequireToken(token, open string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(shown)))
		// The sums, because how long it takes to compare must not depend on how
		// much of the token is right.
		known := subtle.ConstantTimeCompare(want[:], got[:]) == 1 && strings.EqualFold(scheme, "Bearer")
		switch {
		case known, open != "" && r.URL.Path == open:
			next.ServeHTTP(w, r)
		case shown == "":
			refuseToken(w, "no token: send the content of the token file as \"Authorization: Bearer TOKEN\"")
		default:
			refuseToken(w, "wrong token: it is not the content of the token file")
		}
	})
}

func refuseToken(w http.ResponseWriter, why string) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	writeFailure(w, failure(http.StatusUnauthorized, "%s", why))
}
