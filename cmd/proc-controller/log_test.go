package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

func TestTextLog(t *testing.T) {
	var b bytes.Buffer
	log := newLogger(&b, "text", false, fileLook)
	log.Info("started", "workload", "MCPServer/files", "pid", 4711, "reason", spec.ReasonWanted)
	log.Info("signalled", "signal", "SIGTERM", "cause", `two words and "quotes"`, "empty", "")
	log.V(1).Info("nothing is left")
	log.WithName("source").WithValues("file", "a.yaml").Error(errors.New("disk\nfull"), "cannot read", "n", 1)
	got := regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}  `).ReplaceAllString(b.String(), "TIME  ")
	want := `TIME  INFO   started      workload=MCPServer/files pid=4711 reason=Wanted
TIME  INFO   signalled    signal=SIGTERM cause="two words and \"quotes\"" empty=""
TIME  ERROR  source: cannot read  file=a.yaml n=1 cause="disk\nfull"
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestVerboseLogShowsDebugLines(t *testing.T) {
	for _, format := range logFormats {
		for _, verbose := range []bool{false, true} {
			var b bytes.Buffer
			newLogger(&b, format, verbose, fileLook).V(1).Info("detail")
			if shown := strings.Contains(b.String(), "detail"); shown != verbose {
				t.Errorf("%s, verbose %v: shown is %v", format, verbose, shown)
			}
		}
	}
}

func TestJSONLog(t *testing.T) {
	var b bytes.Buffer
	newLogger(&b, "json", false, fileLook).Info("started", "pid", 4711)
	var line struct {
		Level, Msg string
		PID        int
		Time       time.Time
	}
	if err := json.Unmarshal(b.Bytes(), &line); err != nil {
		t.Fatalf("%v in %s", err, b.String())
	}
	if line.Level != "info" || line.Msg != "started" || line.PID != 4711 || line.Time.IsZero() {
		t.Errorf("got %s", b.String())
	}
}

// gate is a writer that waits until it is opened.
type gate struct {
	open chan struct{}
	mu   sync.Mutex
	buf  bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.Write(p)
}

// TestLogNeverWaits writes far more lines than fit while nobody reads.
func TestLogNeverWaits(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	w := newPatientWriter(g)
	line := []byte("line\n")
	for range 3 * maxPending {
		w.Write(line)
	}
	copy(line, "gone\n") // the caller may use its buffer again
	close(g.open)
	w.Close(10 * time.Second)
	got := g.buf.String()
	if n := strings.Count(got, "line\n"); n < maxPending {
		t.Errorf("%d lines were written, want at least %d", n, maxPending)
	}
	if !strings.Contains(got, "log lines were dropped") || strings.Contains(got, "gone") {
		t.Errorf("no word of the dropped lines, or a line that changed: %.300q", got)
	}
}

// TestClosedLogIsNoError: a reader that went away costs nothing.
func TestClosedLogIsNoError(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	p := newPatientWriter(w)
	newLogger(p, "text", false, fileLook).Info("started")
	p.Close(10 * time.Second)
}
