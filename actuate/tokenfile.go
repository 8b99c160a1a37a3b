package actuate

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

// maxToken is what fits into a header, in bytes.
const maxToken = 4096

// ReadToken reads the token that the clients of a server have to show: the only
// line of a file that others cannot read.
func ReadToken(path string) (string, error) {
	content, err := readToken(path)
	if err != nil {
		return "", fmt.Errorf("cannot use the token file %s: %w", path, err)
	}
	return content, nil
}

func readToken(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO would keep us waiting
	if err != nil {
		return "", plain(err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", plain(err)
	}
	if err := checkTokenFile(path, fi); err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxToken+2))
	if err != nil {
		return "", plain(err)
	}
	token := bytes.TrimSpace(content)
	switch {
	case len(token) == 0:
		return "", errors.New("it is empty")
	case len(token) > maxToken:
		return "", fmt.Errorf("it is longer than the %d bytes that a token may have", maxToken)
	case bytes.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return "", errors.New("a token is one line of letters, digits and punctuation, without blanks")
	}
	return string(token), nil
}

// others are those who are neither the owner of a file nor in its group.
const others fs.FileMode = 0o007

func checkTokenFile(path string, fi fs.FileInfo) error {
	switch {
	case !fi.Mode().IsRegular():
		return errNotAFile
	case fi.Mode().Perm()&others != 0:
		return fmt.Errorf("every user of this machine can read it (chmod o= %s)", spec.ShellWord(path))
	}
	return nil
}

var errNotAFile = errors.New("it is not a regular file")

// plain drops what an error of os says of operation and path.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
