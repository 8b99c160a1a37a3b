//go:build linux

package actuate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"

	"github.com/proc-controller/proc-controller/actuate/logs"
	"github.com/proc-controller/proc-controller/spec"
)

// What was written between the last look and the end is bounded too.
func TestOutputIsBoundedOnceMoreAtTheEnd(t *testing.T) {
	state := t.TempDir()
	if err := os.Mkdir(logs.Dir(state), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(logs.Dir(state), "Agent.a.b.log")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k := newLogKeeper(state, logr.Discard())
	defer k.Close()
	k.Add(path, spec.DefaultLogBounds)
	k.mu.Lock() // as if the next look were far off
	k.files[path].due = time.Now().Add(time.Hour)
	k.mu.Unlock()
	if err := os.WriteFile(path, bytes.Repeat([]byte("flood\n"), int(spec.DefaultLogBounds.MaxBytes)/2), 0o600); err != nil {
		t.Fatal(err)
	}
	k.Drop(path)
	eventually(t, "the output is bounded", func() bool {
		var st unix.Stat_t
		return unix.Stat(path, &st) == nil && st.Blocks*512 <= spec.DefaultLogBounds.MaxBytes
	})
	eventually(t, "it is watched no more", func() bool { return !k.watches(path) })
}
