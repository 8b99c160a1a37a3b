package api

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"

	"github.com/proc-controller/proc-controller/bearer"
)

// minToken is the least length of a token, in bytes.
const minToken = 16

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
	token, err := bearer.ReadFile(path, ownFile)
	if _, ok := errors.AsType[*bearer.NotATokenError](err); ok || err == nil && len(token) < minToken {
		return "", fmt.Errorf("cannot use the token file %s: a token is one line of %d to %d printable characters; remove it to have one made", path, minToken, bearer.MaxLength)
	}
	return token, err
}

// ownFile says what is wrong with a file that is not the user's own alone.
func ownFile(_ string, fi fs.FileInfo) error {
	uid, known := fileUID(fi)
	switch {
	case known && uid != os.Getuid():
		return fmt.Errorf("it belongs to uid %d", uid)
	case dirModesCount && fi.Mode().Perm()&0o077 != 0:
		return errors.New("it is open to others; run chmod 600 on it")
	}
	return nil
}

// RequireToken lets through only who shows the token, and everybody to the path
// that is open, which may be empty.
func RequireToken(token, open string, next http.Handler) http.Handler {
	want := bearer.TokenOf(token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown, _ := bearer.Credentials(r)
		switch {
		case want.ShownBy(r), open != "" && r.URL.Path == open:
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
