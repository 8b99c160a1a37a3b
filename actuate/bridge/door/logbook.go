package door

import (
	"fmt"
	"time"
)

const (
	// maxLines bounds what waits to be logged.
	maxLines = 64
	// lastLines is how long the last lines may take at the end.
	lastLines = 200 * time.Millisecond
)

// logbook keeps who says something from waiting for who reads it: some clients never
// read the standard error of a server.
type logbook struct {
	lines chan string
	done  chan struct{}
}

func openLogbook(log func(format string, args ...any)) *logbook {
	b := &logbook{lines: make(chan string, maxLines), done: make(chan struct{})}
	go func() {
		defer close(b.done)
		for line := range b.lines {
			if line == "" {
				return
			}
			log("%s", line)
		}
	}()
	return b
}

// say logs a line, or drops it where too many wait.
func (b *logbook) say(format string, args ...any) {
	select {
	case b.lines <- fmt.Sprintf(format, args...):
	default:
	}
}

// close logs what is there.
func (b *logbook) close() {
	limit := time.NewTimer(lastLines)
	defer limit.Stop()
	select {
	case b.lines <- "": // the end
	case <-limit.C:
		return
	}
	select {
	case <-b.done:
	case <-limit.C:
	}
}
