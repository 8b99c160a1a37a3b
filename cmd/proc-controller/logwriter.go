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
// controller. What is too much is dropped, and said so.
type patientWriter struct {
	lines   chan []byte
	dropped atomic.Int64
	done    chan struct{}
}

// newPatientWriter starts the goroutine that writes. It ends with Close.
func newPatientWriter(w io.Writer) *patientWriter {
	p := &patientWriter{lines: make(chan []byte, maxPending), done: make(chan struct{})}
	go p.run(w)
	return p
}

// Write takes one line and never fails. It must not be called after Close.
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
	for line := range p.lines {
		w.Write(line) //nolint:errcheck // a closed stderr ends nothing
		if n := p.dropped.Swap(0); n > 0 {
			fmt.Fprintf(w, "%s: %d log lines were dropped, because stderr was not read\n", program, n)
		}
	}
}

// Close waits until everything is written, but not for longer than the limit.
func (p *patientWriter) Close(limit time.Duration) {
	close(p.lines)
	select {
	case <-p.done:
	case <-time.After(limit):
	}
}
