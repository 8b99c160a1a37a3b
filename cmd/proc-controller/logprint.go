package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/proc-controller/proc-controller/actuate/logs"
	"github.com/proc-controller/proc-controller/spec"
)

// linePrinter writes the lines of several workloads, each with its name before
// it where there is more than one. Its methods may be called from many
// goroutines.
type linePrinter struct {
	std        streams
	timestamps bool
	members    bool // each instance has its name
	named      bool // each workload has its name
	width      int  // of the longest name
	colours    map[spec.Key]string

	mu      sync.Mutex
	out     *bufio.Writer
	mid     string // whose line is being written; empty where none is
	skipped int64
	lines   int // pieces of them, so far
}

// prefixColours are given to workloads in turn: those of ECMA-48 that can be read
// on a dark and on a bright ground.
var prefixColours = []string{"\x1b[36m", "\x1b[33m", "\x1b[32m", "\x1b[35m", "\x1b[34m", "\x1b[31m"}

func newLinePrinter(std streams, keys []spec.Key, f *logsFlags) *linePrinter {
	p := &linePrinter{
		std: std, out: bufio.NewWriterSize(std.out, 64<<10), timestamps: f.timestamps,
		members: f.allMembers, named: len(keys) > 1, colours: map[spec.Key]string{},
	}
	paint := terminalOf(std.out, os.Getenv).colour
	for i, k := range keys {
		p.width = max(p.width, utf8.RuneCountInString(shortName(k)))
		if paint {
			p.colours[k] = prefixColours[i%len(prefixColours)]
		}
	}
	return p
}

// of gives what writes the lines of one workload.
func (p *linePrinter) of(key spec.Key) func(logs.Line) error {
	return func(l logs.Line) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.writeLocked(key, l)
	}
}

// writeLocked writes a line, or a part of one: the parts of one line are put
// together, unless another one comes between them.
func (p *linePrinter) writeLocked(key spec.Key, l logs.Line) error {
	from := key.String() + l.Instance
	p.lines++
	if p.mid != "" && (p.mid != from || l.Skipped > 0) {
		p.out.WriteByte('\n')
		p.mid = ""
	}
	if l.Skipped > 0 {
		if p.skipped == 0 {
			p.note("%s writes faster than its lines are read: some are left out", shortName(key))
		}
		p.skipped += l.Skipped
	}
	if p.mid == "" {
		p.out.WriteString(p.prefix(key, l))
	}
	_, err := p.out.Write(l.Text)
	p.mid = from
	if !l.More {
		p.mid = ""
		err = p.out.WriteByte('\n')
	}
	return err
}

// prefix is what stands before a line.
func (p *linePrinter) prefix(key spec.Key, l logs.Line) string {
	var name string
	if p.named {
		name = shortName(key)
		name += strings.Repeat(" ", p.width-utf8.RuneCountInString(name))
	}
	if p.members {
		name = strings.TrimLeft(name+" "+l.Instance, " ")
	}
	if name != "" {
		name += " |"
		if c := p.colours[key]; c != "" {
			name = c + name + plain
		}
		name += " "
	}
	if p.timestamps {
		name += fmt.Sprintf("%-*s ", len(about(time.Now())), about(l.Time))
	}
	return name
}

// about is a time that is known to a second or so.
func about(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return "~" + t.Local().Format(time.RFC3339)
}

func (p *linePrinter) note(format string, args ...any) {
	fmt.Fprintf(p.std.err, "note: "+format+"\n", args...)
}

// flush hands on what was written so far. What cannot be written fails the next
// line.
func (p *linePrinter) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.out.Flush()
}

// end hands on all, and says how much was left out.
func (p *linePrinter) end() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mid != "" {
		p.out.WriteByte('\n')
	}
	if p.skipped > 0 {
		p.note("%d bytes were left out", p.skipped)
	}
	return p.out.Flush()
}
