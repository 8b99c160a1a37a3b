//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What is no file is refused, and a pipe is not waited for.
func TestExportRefusesWhatIsNoFile(t *testing.T) {
	f := cursorFile(t)
	pipe := filepath.Join(filepath.Dir(f.path), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, filepath.Dir(f.path), os.DevNull} {
		f.path = path
		done := make(chan error, 1)
		go func() {
			_, err := f.apply(context.Background(), told(f, "http://127.0.0.1:1/mcp"))
			done <- err
		}()
		select {
		case err := <-done:
			if want := "cannot read " + path + ": it is no regular file"; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v", path, err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s is waited for", path)
		}
	}
}
