package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// Load reads a journal, the oldest record first, and gives each line to take.
// A line that is torn, that is no JSON or that take refuses is skipped and
// counted. A missing file is an empty one; an error means that not all of the
// file could be read. The line is valid only during the call of take.
func Load(path string, take func(line []byte) error) (skipped int, err error) {
	halves, err := readHalves(path)
	for _, content := range halves {
		for _, line := range splitLines(content) {
			if !json.Valid(line) || take(line) != nil {
				skipped++
			}
		}
	}
	return skipped, err
}

// loadTries bounds how often a journal is read that is rotated meanwhile.
const loadTries = 3

// readHalves reads the older file and the present one. Where somebody moved the
// one over the other in between, a half would be missing: it is read again.
func readHalves(path string) (halves [2][]byte, err error) {
	for range loadTries {
		before, _ := os.Lstat(older(path))
		err = nil
		for i, p := range []string{older(path), path} {
			content, readErr := readRegular(p)
			if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
				err = errors.Join(err, readErr)
			}
			halves[i] = content
		}
		after, _ := os.Lstat(older(path))
		if before == nil && after == nil || before != nil && after != nil && os.SameFile(before, after) {
			break
		}
	}
	return halves, err
}

func readRegular(path string) ([]byte, error) {
	f, err := openRegular(path, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(f)
	return b.Bytes(), err
}

// splitLines gives the lines that hold something, without their ends.
func splitLines(content []byte) [][]byte {
	var lines [][]byte
	for line := range bytes.Lines(content) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}
