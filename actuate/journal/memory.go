package journal

import (
	"context"
	"encoding/json"
	"hash/maphash"
	"path/filepath"

	"github.com/go-logr/logr"
)

// Bounds of a Memory. Each manifest counts once after compacting, so the limit
// is reached by many edits, or grows with the manifests that there are.
const (
	memoryMaxBytes  = 16 << 20
	memoryMaxQueued = 100_000
	memoryFile      = "manifests.jsonl"
)

// Memory remembers the last good content of each manifest, for the source, in
// one file. It is a hint: what was not remembered is only less help.
//
// All methods are called by one goroutine.
type Memory struct {
	journal *Journal
	seed    maphash.Seed
	// known is the hash of what is remembered of each path, so that a start
	// over the same manifests writes nothing.
	known map[string]uint64
	loads map[string][]byte
}

// remembered is a line: the content of a file, or none for one that is gone.
type remembered struct {
	File    string `json:"file"`
	Content []byte `json:"content,omitempty"`
	Gone    bool   `json:"gone,omitempty"`
}

// OpenMemory opens the memory in the state directory. What cannot be read is
// logged and left out.
func OpenMemory(stateDir string, log logr.Logger) *Memory {
	path := filepath.Join(stateDir, memoryFile)
	m := &Memory{seed: maphash.MakeSeed(), known: map[string]uint64{}, loads: map[string][]byte{}}
	skipped, err := Load(path, func(line []byte) error {
		var r remembered
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		if r.Gone {
			delete(m.loads, r.File)
		} else {
			m.loads[r.File] = r.Content
		}
		return nil
	})
	if skipped > 0 || err != nil {
		log.Info("not all manifests of the last run could be read back", "file", path, "skippedLines", skipped, "error", err)
	}
	for file, content := range m.loads {
		m.known[file] = maphash.Bytes(m.seed, content)
	}
	m.journal = Open(path, Options{
		MaxBytes: memoryMaxBytes, MaxQueued: memoryMaxQueued, Compact: latestOfEach, Log: log,
	})
	return m
}

// LastGood gives what was remembered when the memory was opened, once.
func (m *Memory) LastGood() map[string][]byte {
	loads := m.loads
	m.loads = nil
	return loads
}

// Remember replaces what is known of a file. The content must not be modified
// afterwards.
func (m *Memory) Remember(file string, content []byte) {
	sum := maphash.Bytes(m.seed, content)
	if known, ok := m.known[file]; ok && known == sum {
		return
	}
	m.known[file] = sum
	m.journal.Append(remembered{File: file, Content: content})
}

// Forget drops a file.
func (m *Memory) Forget(file string) {
	if _, ok := m.known[file]; !ok {
		return
	}
	delete(m.known, file)
	m.journal.Append(remembered{File: file, Gone: true})
}

// Failure is that of the journal behind it; see Journal.Failure.
func (m *Memory) Failure() error { return m.journal.Failure() }

// Close writes what is not written yet; see Journal.Close.
func (m *Memory) Close(ctx context.Context) error { return m.journal.Close(ctx) }

// latestOfEach keeps the last line of each file that is not gone.
func latestOfEach(lines [][]byte) [][]byte {
	var kept [][]byte
	seen := map[string]bool{}
	keep := make([]bool, len(lines))
	for i := len(lines) - 1; i >= 0; i-- {
		var r struct {
			File string `json:"file"`
			Gone bool   `json:"gone"`
		}
		if json.Unmarshal(lines[i], &r) != nil || seen[r.File] {
			continue
		}
		seen[r.File] = true
		keep[i] = !r.Gone
	}
	for i, line := range lines {
		if keep[i] {
			kept = append(kept, line)
		}
	}
	return kept
}

// Flush writes what is not written yet; see Journal.Flush.
func (m *Memory) Flush(ctx context.Context) error { return m.journal.Flush(ctx) }
