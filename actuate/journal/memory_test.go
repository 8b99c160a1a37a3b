package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/spec/source"
)

var _ source.Memory = (*Memory)(nil)

func TestMemoryAcrossRestarts(t *testing.T) {
	dir := t.TempDir()
	m := OpenMemory(dir, logr.Discard())
	if got := m.LastGood(); len(got) != 0 {
		t.Errorf("a new memory knows %v", got)
	}
	m.Remember("/m/a.yaml", []byte("one"))
	m.Remember("/m/b.yaml", []byte{0xff, 0x00, '\n'})
	m.Remember("/m/a.yaml", []byte("two"))
	m.Remember("/m/c.yaml", []byte("gone soon"))
	m.Forget("/m/c.yaml")
	m.Forget("/m/never.yaml")
	m.Remember("/m/empty.yaml", nil)
	closeNow(t, m)

	m = OpenMemory(dir, logr.Discard())
	want := map[string][]byte{"/m/a.yaml": []byte("two"), "/m/b.yaml": {0xff, 0x00, '\n'}, "/m/empty.yaml": nil}
	if diff := cmp.Diff(want, m.LastGood()); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
	// The same again, as a start over the same directory does, writes nothing.
	before := size(t, dir)
	for file, content := range want {
		m.Remember(file, content)
	}
	closeNow(t, m)
	if after := size(t, dir); after != before {
		t.Errorf("%d bytes became %d", before, after)
	}
}

func TestMemorySurvivesATornLine(t *testing.T) {
	dir := t.TempDir()
	m := OpenMemory(dir, logr.Discard())
	m.Remember("/m/a.yaml", []byte("one"))
	m.Remember("/m/b.yaml", []byte("two"))
	closeNow(t, m)
	if err := os.Truncate(filepath.Join(dir, memoryFile), size(t, dir)-5); err != nil {
		t.Fatal(err)
	}
	var log logged
	m = OpenMemory(dir, log.logger())
	defer closeNow(t, m)
	if diff := cmp.Diff(map[string][]byte{"/m/a.yaml": []byte("one")}, m.LastGood()); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
	if log.count("not all manifests") != 1 {
		t.Error("nothing said of the torn line")
	}
}

func TestMemoryKeepsTheLatestOfEach(t *testing.T) {
	var lines [][]byte
	for n := range 10 {
		lines = append(lines, fmt.Appendf(nil, `{"file":"/m/%d","content":"%04d"}`, n%3, n))
	}
	lines = append(lines, []byte("garbage"), []byte(`{"file":"/m/1","gone":true}`))
	got := bytes.Join(latestOfEach(lines), []byte{'\n'})
	want := "{\"file\":\"/m/2\",\"content\":\"0008\"}\n{\"file\":\"/m/0\",\"content\":\"0009\"}"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func size(t *testing.T, dir string) int64 {
	t.Helper()
	st, err := os.Stat(filepath.Join(dir, memoryFile))
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}
