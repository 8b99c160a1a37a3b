package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/spec"
)

// Bounds of Deaths, for each workload.
const (
	maxDeaths      = 10
	maxDeathsBytes = 1 << 20 // of a file that is read back
)

// deathsSuffix ends the name of a file of Deaths.
const deathsSuffix = ".json"

// Deaths keeps the last dossiers of each workload, and what its last good run was
// made of: deaths/KIND.NAME.json in the state directory, for this user only. It
// is for people: what the disk does not take is not kept, and a file that cannot
// be read is as good as none.
//
// It implements controller.Deaths. All methods wait for the disk, and are called
// by one goroutine at a time.
type Deaths struct {
	dir     string
	log     logr.Logger
	failing bool // which was logged
}

// chapter is the content of a file.
type chapter struct {
	Good   *spec.Run      `json:"good,omitempty"`
	Deaths []spec.Dossier `json:"deaths,omitempty"` // the newest last
}

// OpenDeaths keeps them in the state directory, and makes nothing yet. Without a
// state directory nothing is kept.
func OpenDeaths(stateDir string, log logr.Logger) *Deaths {
	d := &Deaths{log: log}
	if stateDir != "" {
		d.dir = filepath.Join(stateDir, "deaths")
	}
	return d
}

// Latest gives each workload of which anything is kept, with its last dossier;
// nil where it has never died.
func (d *Deaths) Latest() map[spec.Key]*spec.Dossier {
	latest := map[spec.Key]*spec.Dossier{}
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return latest
	}
	for _, e := range entries {
		stem, _ := strings.CutSuffix(e.Name(), deathsSuffix)
		kind, name, _ := strings.Cut(stem, ".")
		k, err := spec.ParseKey(kind + "/" + name)
		if err != nil || filepath.Base(d.path(k)) != e.Name() {
			continue
		}
		latest[k] = nil
		if c := d.read(k); len(c.Deaths) > 0 {
			latest[k] = &c.Deaths[len(c.Deaths)-1]
		}
	}
	return latest
}

// Add keeps a dossier, in the place of the oldest where there are ten, and gives
// it back with what has changed since the last good run.
func (d *Deaths) Add(death spec.Dossier, made spec.Facts) spec.Dossier {
	if d.dir == "" {
		return death
	}
	c := d.read(death.Key)
	if c.Good != nil {
		death.Changes = made.ChangesSince(c.Good)
	}
	c.Deaths = append(c.Deaths, death)
	c.Deaths = c.Deaths[max(0, len(c.Deaths)-maxDeaths):]
	d.write(death.Key, &c)
	return death
}

// Good keeps what a run that went well was made of. It writes only what is news.
func (d *Deaths) Good(k spec.Key, run spec.Run) {
	if d.dir == "" {
		return
	}
	c := d.read(k)
	if c.Good != nil && c.Good.Same(run.Facts) {
		return
	}
	c.Good = &run
	d.write(k, &c)
}

// Forget removes all that is kept of a workload.
func (d *Deaths) Forget(k spec.Key) {
	if d.dir != "" {
		_ = os.Remove(d.path(k)) // most have none
	}
}

// path holds no dot but those: neither kind nor name can.
func (d *Deaths) path(k spec.Key) string {
	return filepath.Join(d.dir, string(k.Kind)+"."+k.Name+deathsSuffix)
}

func (d *Deaths) read(k spec.Key) (c chapter) {
	f, err := openRegular(d.path(k), os.O_RDONLY)
	if err != nil {
		return chapter{}
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxDeathsBytes))
	if err != nil || json.Unmarshal(content, &c) != nil {
		return chapter{}
	}
	return c
}

// write puts the whole file in the place of the former one, or leaves that as it
// is.
func (d *Deaths) write(k spec.Key, c *chapter) {
	err := d.replace(d.path(k), c)
	if err != nil && !d.failing {
		d.log.Error(err, "cannot keep the record of a death", "workload", k.String())
	}
	d.failing = err != nil
}

func (d *Deaths) replace(path string, c *chapter) error {
	var content bytes.Buffer
	enc := json.NewEncoder(&content)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return err
	}
	// The state directory itself is made anew, too: all of it may have been
	// deleted.
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.WriteFile(temporary, content.Bytes(), 0o600)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		os.Remove(temporary)
		return fmt.Errorf("cannot write %s: %v", path, err)
	}
	return nil
}
