package bearer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/proc-controller/proc-controller/spec"
)

// MaxLength is what fits into a header, in bytes.
const MaxLength = 4096

// NotATokenError says what is wrong with what a file holds.
type NotATokenError struct{ why string }

func (e *NotATokenError) Error() string { return e.why }

// ReadFile reads the token that a file holds: its only line, of 1 to MaxLength
// printable characters. Private says what is wrong with who else can read the file,
// of what was opened. The error names the file; it wraps a *NotATokenError where it
// is about the content, and that of the system where there is one.
func ReadFile(path string, private func(path string, fi fs.FileInfo) error) (string, error) {
	token, err := readFile(path, private)
	if err != nil {
		return "", fmt.Errorf("cannot use the token file %s: %w", path, err)
	}
	return token, nil
}

func readFile(path string, private func(string, fs.FileInfo) error) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO would keep us waiting
	if err != nil {
		return "", plain(err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", plain(err)
	}
	if !fi.Mode().IsRegular() {
		return "", errNotAFile
	}
	if err := private(path, fi); err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(f, MaxLength+2)) // and the end of the line
	if err != nil {
		return "", plain(err)
	}
	return parse(content)
}

// parse takes the token out of what a file holds.
func parse(content []byte) (string, error) {
	token := bytes.TrimSpace(content)
	switch {
	case len(token) == 0:
		return "", &NotATokenError{"it is empty"}
	case len(token) > MaxLength:
		return "", &NotATokenError{fmt.Sprintf("it is longer than the %d bytes that a token may have", MaxLength)}
	case bytes.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", &NotATokenError{"a token is one line of letters, digits and punctuation, without blanks"}
	}
	return string(token), nil
}

// others are those who are neither the owner of a file nor in its group.
const others fs.FileMode = 0o007

// ClosedToOthers is what a file has to be that is read for a server of a manifest: its
// group may share it.
func ClosedToOthers(path string, fi fs.FileInfo) error {
	if fi.Mode().Perm()&others != 0 {
		return fmt.Errorf("every user of this machine can read it (chmod o= %s)", spec.ShellWord(path))
	}
	return nil
}

var errNotAFile = errors.New("it is not a regular file")

// plain drops what an error of os says of operation and path.
func plain(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
