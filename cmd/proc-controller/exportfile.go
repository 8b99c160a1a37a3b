package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/proc-controller/proc-controller/spec/clients"
	"github.com/proc-controller/proc-controller/spec/store"
)

// backupSuffix ends the name of the file as it was before anything was written.
const backupSuffix = ".proc-controller.bak"

// maxClientFile bounds the file of a client; some keep their history in it.
const maxClientFile = 32 << 20

// exportsDir is where it is kept what was written into which file.
func exportsDir(state string) string { return filepath.Join(state, "exports") }

// clientPlaces are where the file of a client may be on this machine.
func clientPlaces(c *clients.Client) ([]string, error) {
	home, _ := os.UserHomeDir() // the places say what its lack means
	places, err := c.Places(clients.Host{OS: runtime.GOOS, Home: home, Getenv: os.Getenv})
	for i := range places {
		places[i] = filepath.FromSlash(places[i])
	}
	return places, err
}

// clientFile is the file of a client, and what is known of it.
type clientFile struct {
	client  *clients.Client
	path    string // as the client knows it
	given   bool   // by the user, and not the default
	exports string

	target string      // what path leads to
	data   []byte      // nil where there is no file
	info   fs.FileInfo // nil where there is no file
	record *clients.Record
}

// changing makes one text of another.
type changing func(data []byte, r *clients.Record) (*clients.Change, error)

// preview says what would become of the file.
func (f *clientFile) preview(change changing) (*clients.Change, error) {
	if err := f.load(); err != nil {
		return nil, err
	}
	done, err := change(f.data, f.record)
	if err != nil {
		return nil, fmt.Errorf("cannot change %s: %w", f.path, err)
	}
	return done, nil
}

// load reads the file and the record. Links are followed.
func (f *clientFile) load() (err error) {
	if f.target, err = filepath.EvalSymlinks(f.path); errors.Is(err, fs.ErrNotExist) {
		if _, there := os.Lstat(f.path); there == nil {
			return fmt.Errorf("cannot read %s: it is a link that leads nowhere", f.path)
		}
		f.target, err = f.path, nil
	}
	if err == nil {
		f.data, f.info, err = readClientFile(f.target)
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %v", f.path, cause(err))
	}
	f.record, err = readRecord(f.recordPath())
	return err
}

// readClientFile reads a file; of one that is not there it gives nothing. It does not
// wait for a writer of what is a pipe.
func readClientFile(path string) ([]byte, fs.FileInfo, error) {
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	info, err := r.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, errors.New("it is no regular file")
	case info.Size() > maxClientFile:
		return nil, nil, errors.New("it has more than 32 MiB")
	}
	data, err := io.ReadAll(io.LimitReader(r, maxClientFile))
	return data, info, err
}

// recordPath is where it is kept what was written into the file.
func (f *clientFile) recordPath() string {
	sum := sha256.Sum256([]byte(f.target))
	return filepath.Join(f.exports, f.client.Name+"-"+hex.EncodeToString(sum[:8])+".json")
}

func readRecord(path string) (*clients.Record, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &clients.Record{}, nil
	}
	r := &clients.Record{}
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot tell which entries are ours: cannot read %s: %v; without that file none would be", path, cause(err))
	}
	return r, nil
}

// differs says whether a change is one of the file.
func (f *clientFile) differs(done *clients.Change) bool {
	return !bytes.Equal(f.data, done.Text) || f.gone(done)
}

// gone says that the file is not to be there any more: it was made here, and nothing
// is left in it.
func (f *clientFile) gone(done *clients.Change) bool {
	return f.info != nil && done.Record.Created && len(done.Record.Entries) == 0 && len(bytes.TrimSpace(done.Text)) == 0
}

// diff writes the difference that a change makes.
func (f *clientFile) diff(w io.Writer, done *clients.Change) error {
	was, is := f.path, f.path
	if f.info == nil {
		was = os.DevNull
	}
	if f.gone(done) {
		is = os.DevNull
	}
	if _, err := w.Write(diff.Diff(was, f.data, is, done.Text)); err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}

// apply changes the file. The record is written first, with what the entries were
// and what they are to be, so that they are known as ours whatever comes between.
func (f *clientFile) apply(ctx context.Context, change changing) (*clients.Change, error) {
	if err := os.MkdirAll(f.exports, 0o700); err != nil {
		return nil, fmt.Errorf("cannot keep which entries are ours: %w", err)
	}
	unlock, err := store.Lock(ctx, f.exports)
	if err != nil {
		return nil, fmt.Errorf("cannot change %s: %w", f.path, err)
	}
	defer unlock()
	done, err := f.preview(change)
	if err != nil {
		return nil, err
	}
	if !f.differs(done) {
		return done, f.keep(done.Record)
	}
	if err := f.changeable(); err != nil {
		return nil, err
	}
	if len(f.record.Entries) == 0 {
		if err := f.prepare(done.Record); err != nil {
			return nil, err
		}
	}
	if err := f.keep(done.Record.Both(f.record)); err != nil {
		return nil, err
	}
	if err := f.write(done); err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", f.path, cause(err))
	}
	return done, f.keep(done.Record)
}

// changeable says whether the file that is there may be changed.
func (f *clientFile) changeable() error {
	if f.info == nil {
		return nil
	}
	if err := store.Changeable(f.target, f.info); err != nil {
		return fmt.Errorf("cannot write %s: %w", f.path, err)
	}
	return nil
}

// prepare comes before the first write: the file as it is goes into a backup. For a
// file of a project its directory is made.
func (f *clientFile) prepare(r *clients.Record) error {
	dir := filepath.Dir(f.target)
	switch _, err := os.Stat(dir); {
	case f.info != nil:
		if err := store.WriteWhole(f.path+backupSuffix, f.data, f.info); err != nil {
			return fmt.Errorf("cannot keep a copy of %s: %w", f.path, cause(err))
		}
		return nil
	case errors.Is(err, fs.ErrNotExist) && !f.given:
		return fmt.Errorf("cannot write %s: there is no %s; is %s installed? else make that directory", f.path, dir, f.client.Title)
	case errors.Is(err, fs.ErrNotExist):
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("cannot make %s: %w", dir, cause(err))
		}
		r.Folder = true
	case err != nil:
		return fmt.Errorf("cannot write %s: %w", f.path, cause(err))
	}
	r.Created = true
	return nil
}

// errMeanwhile says that another program writes the file, too.
var errMeanwhile = errors.New("another program has changed it meanwhile, and it was left alone: try again")

// write brings the change into the file, if that is what was read.
func (f *clientFile) write(done *clients.Change) error {
	now, info, err := readClientFile(f.target)
	if err != nil {
		return err
	}
	if (info == nil) != (f.info == nil) || !bytes.Equal(now, f.data) {
		return errMeanwhile
	}
	if !f.gone(done) {
		return store.WriteWhole(f.target, done.Text, f.info)
	}
	if err := os.Remove(f.target); err != nil {
		return err
	}
	if done.Record.Folder {
		_ = os.Remove(filepath.Dir(f.target)) // it stays where something else is in it
	}
	return nil
}

// keep writes the record; one that says nothing is removed, and the backup with it
// where the file is again what it was.
func (f *clientFile) keep(r *clients.Record) error {
	path := f.recordPath()
	if len(r.Entries) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove %s: %w", path, cause(err))
		}
		return f.dropBackup()
	}
	r.Client, r.File = f.client.Name, f.target
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = store.WriteWhole(path, append(data, '\n'), nil)
	}
	if err != nil {
		return fmt.Errorf("cannot keep which entries are ours in %s: %w", path, cause(err))
	}
	return nil
}

// dropBackup removes the backup if nothing would be lost with it.
func (f *clientFile) dropBackup() error {
	backup, former, err := readClientFile(f.path + backupSuffix)
	now, info, errNow := readClientFile(f.target)
	if err != nil || errNow != nil || former == nil || info == nil || !bytes.Equal(backup, now) {
		return nil
	}
	if err := os.Remove(f.path + backupSuffix); err != nil {
		return fmt.Errorf("cannot remove %s: %w", f.path+backupSuffix, cause(err))
	}
	return nil
}
