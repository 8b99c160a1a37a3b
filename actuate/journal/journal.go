package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// Bounds of a journal, unless its options say otherwise.
const (
	defaultMaxBytes  = 8 << 20
	defaultMaxQueued = 10_000
	retryEvery       = time.Second
	syncEvery        = time.Second
	// maxBatch is how much is encoded before it is written: what is held in
	// memory a second time.
	maxBatch = 1 << 20
)

// Options say how a journal is kept.
type Options struct {
	// MaxBytes bounds the file; 0 means 8 MiB. A journal without Compact keeps
	// its older half in a second file, whose name ends in ".1".
	MaxBytes int64
	// Compact gives the lines to keep, in their order, when the file has grown
	// to MaxBytes. It is called with the whole file on the journal's own
	// goroutine and may use nothing but its argument, which it may modify.
	Compact func(lines [][]byte) [][]byte
	// MaxQueued bounds the records that wait for the disk; 0 means 10,000.
	// Beyond it the oldest are dropped.
	MaxQueued int
	// Sync has every record on the disk (fsync(2)) a second after it was
	// appended. Without it, that is up to the system.
	Sync bool
	Log  logr.Logger

	retry time.Duration // for tests
}

// Journal appends records to a file, one line each, in the order of Append. It
// implements controller.Journal. Append and Close may be called from many
// goroutines.
type Journal struct {
	o    Options
	file file
	wake chan struct{} // holds one
	now  chan chan<- struct{}
	do   chan func()
	stop chan struct{}
	done chan struct{}
	once sync.Once

	mu      sync.Mutex
	failure error // why the disk takes nothing at present
	queue   []any
	dropped int    // since the queue was last empty
	left    uint64 // how many records have left the queue, written or dropped

	// What follows belongs to the writing goroutine.
	unwritten []byte // encoded, but refused by the disk
	pending   uint64 // how many records that are
	failing   bool   // which was logged
	retryAt   time.Time
	synced    time.Time
	dirty     bool // written, not yet synced
}

// Open begins a journal in the file at path, which it makes when it is first
// needed, together with its directory. It touches nothing before the first
// Append and so cannot fail.
func Open(path string, o Options) *Journal {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.MaxQueued <= 0 {
		o.MaxQueued = defaultMaxQueued
	}
	if o.retry <= 0 {
		o.retry = retryEvery
	}
	j := &Journal{
		o:    o,
		file: file{path: path, max: o.MaxBytes, compact: o.Compact, sync: o.Sync},
		wake: make(chan struct{}, 1),
		now:  make(chan chan<- struct{}),
		do:   make(chan func()),
		stop: make(chan struct{}),
		done: make(chan struct{}),
	}
	go j.run()
	return j
}

// Append has a record written as one line of JSON, some time soon. It never
// waits for the disk. The record must not be modified afterwards. After Close
// it does nothing.
func (j *Journal) Append(record any) {
	j.mu.Lock()
	j.queue = append(j.queue, record)
	first := false
	if over := len(j.queue) - j.o.MaxQueued; over > 0 {
		clear(j.queue[:over])
		j.queue = j.queue[over:]
		first = j.dropped == 0
		j.dropped += over
		j.left += uint64(over)
	}
	j.mu.Unlock()
	if first {
		j.o.Log.Info("records are being dropped: the disk does not take them", "file", j.file.path)
	}
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// Flush has what was appended before on the disk, if the disk takes it. The
// error is that of ctx, if that ends first.
func (j *Journal) Flush(ctx context.Context) error {
	written := make(chan struct{})
	select {
	case j.now <- written:
	case <-j.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-written:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close writes what was appended before, if the disk takes it, and ends the
// journal. When ctx ends first it returns ctx's error, and the writing goes on
// alone.
func (j *Journal) Close(ctx context.Context) error {
	j.once.Do(func() { close(j.stop) })
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run is the goroutine that writes.
func (j *Journal) run() {
	defer close(j.done)
	defer j.file.close()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(j.pause())
		select {
		case <-j.wake:
			if j.failing && time.Now().Before(j.retryAt) {
				continue
			}
		case <-timer.C:
		case written := <-j.now:
			j.write()
			j.syncNow()
			close(written)
			continue
		case do := <-j.do:
			j.write()
			do()
			continue
		case <-j.stop:
			j.write()
			j.syncNow()
			return
		}
		j.write()
		if j.dirty && time.Since(j.synced) >= syncEvery {
			j.syncNow()
		}
	}
}

// pause is how long there is nothing to do unless somebody appends.
func (j *Journal) pause() time.Duration {
	switch {
	case j.failing:
		return time.Until(j.retryAt)
	case j.dirty:
		return time.Until(j.synced.Add(syncEvery))
	}
	return time.Hour
}

// write writes all that is queued, until the disk refuses.
func (j *Journal) write() {
	for {
		j.unwritten = j.encode(j.unwritten)
		if len(j.unwritten) == 0 {
			return
		}
		n, err := j.file.append(j.unwritten)
		j.dirty = j.dirty || n > 0 && j.o.Sync
		if err != nil {
			j.fail(err)
			return
		}
		j.unwritten, j.pending = j.unwritten[:0], 0
		if j.failing {
			j.failing = false
			j.setFailure(nil)
			j.o.Log.Info("the disk takes records again", "file", j.file.path)
		}
	}
}

func (j *Journal) fail(err error) {
	if !j.failing {
		j.o.Log.Error(err, "cannot write records, trying again", "file", j.file.path)
	}
	j.failing, j.retryAt = true, time.Now().Add(j.o.retry)
	j.setFailure(err)
}

func (j *Journal) setFailure(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failure = err
}

// Failure says why the disk takes no records at present; nil when it does, or
// when nothing has had to be written. It may be called from many goroutines.
func (j *Journal) Failure() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failure
}

// encode takes a batch from the queue and appends its lines to buf.
func (j *Journal) encode(buf []byte) []byte {
	out := bytes.NewBuffer(buf)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for out.Len() < j.batch() {
		record, ok := j.next()
		if !ok {
			break
		}
		if err := enc.Encode(record); err != nil {
			j.o.Log.Error(err, "cannot encode a record", "file", j.file.path)
		}
		j.pending++
	}
	return out.Bytes()
}

// batch is how much is written at one time: no more than an eighth of the bound,
// since the file is looked at only after a write.
func (j *Journal) batch() int { return int(min(maxBatch, j.o.MaxBytes/8+1)) }

func (j *Journal) next() (record any, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.queue) == 0 {
		j.queue, j.dropped = nil, 0
		return nil, false
	}
	record, j.queue[0] = j.queue[0], nil
	j.queue = j.queue[1:]
	j.left++
	return record, true
}

func (j *Journal) syncNow() {
	if !j.dirty {
		return
	}
	j.dirty, j.synced = false, time.Now()
	if err := j.file.flush(); err != nil {
		j.o.Log.Error(err, "cannot sync records", "file", j.file.path)
	}
}
