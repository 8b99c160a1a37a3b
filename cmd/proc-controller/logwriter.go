package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// maxPending is how many log lines may wait for a reader of stderr.
const maxPending = 1024

// patientWriter takes lines without ever making the caller wait: a terminal
// that is stopped with Ctrl-S, or a pipe that nobody reads, must not stop the
// controller. What is too much is dropped, and said so. It may be used by many
// goroutines, also while and after it is closed.
type patientWriter struct {
	lines   chan []byte
	flush   chan chan<- struct{}
	dropped atomic.Int64
	stop    chan struct{}
	done    chan struct{}
}

// newPatientWriter starts the goroutine that writes. It ends with Close.
func newPatientWriter(w io.Writer) *patientWriter {
	p := &patientWriter{lines: make(chan []byte, maxPending), flush: make(chan chan<- struct{}), stop: make(chan struct{}), done: make(chan struct{})}
	go p.run(w)
	return p
}

// Write takes one line and never fails.
func (p *patientWriter) Write(line []byte) (int, error) {
	select {
	case p.lines <- append([]byte(nil), line...): // the caller uses its buffer again
	default:
		p.dropped.Add(1)
	}
	return len(line), nil
}

func (p *patientWriter) run(w io.Writer) {
	defer close(p.done)
	for {
		select {
		case line := <-p.lines:
			p.put(w, line)
		case written := <-p.flush:
			p.putAll(w)
			close(written)
		case <-p.stop:
			p.putAll(w)
			return
		}
	}
}

// putAll writes what was taken before.
func (p *patientWriter) putAll(w io.Writer) {
	for {
		select {
		case line := <-p.lines:
			p.put(w, line)
		default:
			return
		}
	}
}

// put writes one line. That it cannot be written is nobody's concern: a closed
// stderr ends nothing.
func (p *patientWriter) put(w io.Writer, line []byte) {
	_, _ = w.Write(line)
	if n := p.dropped.Swap(0); n > 0 {
		_, _ = fmt.Fprintf(w, "%s: %d log lines were dropped, because stderr was not read\n", program, n)
	}
}

// Flush waits until what was taken before is written, but not for longer than
// the limit.
func (p *patientWriter) Flush(limit time.Duration) {
	late := time.After(limit)
	written := make(chan struct{})
	select {
	case p.flush <- written:
	case <-p.done:
		return
	case <-late:
		return
	}
	select {
	case <-written:
	case <-late:
	}
}

// Close waits until everything is written, but not for longer than the limit.
// It is called once.
func (p *patientWriter) Close(limit time.Duration) {
	close(p.stop)
	select {
	case <-p.done:
	case <-time.After(limit):
	}
}
