package bridge

import (
	"fmt"
	"sync"
)

// findings count what a server does that it should not, for its author.
type findings struct {
	mu      sync.Mutex
	junk    int // lines that are no JSON-RPC
	last    string
	unknown int // answers to what was not asked, or was answered before
	id      string
	long    int // lines beyond the limit
	longest int64
	half    int // ends within a line
	asked   int // requests that nobody can answer
	method  string
}

// shown is how much of a line of the server is quoted.
const shown = 80

func quoted(line []byte) string {
	if len(line) > shown {
		return fmt.Sprintf("%.*q…", shown, line)
	}
	return fmt.Sprintf("%q", line)
}

func (f *findings) add(count *int, note func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*count++
	note()
}

func (f *findings) noJSON(line []byte) { f.add(&f.junk, func() { f.last = quoted(line) }) }
func (f *findings) unasked(id []byte)  { f.add(&f.unknown, func() { f.id = quoted(id) }) }
func (f *findings) tooLong(n int64)    { f.add(&f.long, func() { f.longest = max(f.longest, n) }) }
func (f *findings) halfLine()          { f.add(&f.half, func() {}) }
func (f *findings) unanswerable(method string) {
	f.add(&f.asked, func() { f.method = quoted([]byte(method)) })
}

// list gives each kind of finding in one line.
func (f *findings) list() (all []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	say := func(n int, format string, args ...any) {
		if n > 0 {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	say(f.junk, "writes to standard output what is no JSON-RPC (%s, the last: %s): it went to the log", times(f.junk, "line"), f.last)
	say(f.unknown, "answers what was not asked, or was answered already (%s, the last: id %s)", times(f.unknown, "answer"), f.id)
	say(f.long, "writes messages that are too large (%s, up to %d bytes): they were dropped", times(f.long, "line"), f.longest)
	say(f.half, "ended within a line (%s)", times(f.half, "time"))
	say(f.asked, "asks its client, although no client that could answer was announced (%s, the last: %s)", times(f.asked, "request"), f.method)
	return all
}

func times(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
