package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
)

// textLook is how log lines look.
type textLook struct {
	stamp  string // time layout
	colour bool
}

var (
	fileLook     = textLook{stamp: "2006-01-02 15:04:05.000"}
	terminalLook = textLook{stamp: "15:04:05.000"}
)

// messageWidth is what a message is padded to, so that the keys of the common
// ones ("started", "signalled") stand below each other.
const messageWidth = 11

// textSink writes log lines for a person: time, level, message, key=value. It
// keeps no state, so it may be used by many goroutines if its writer may.
type textSink struct {
	out     io.Writer
	verbose bool
	look    textLook
	name    string
	values  string // rendered, with a blank before each pair
}

// Init has nothing to do: no caller is shown.
func (s *textSink) Init(logr.RuntimeInfo) {}

// Enabled shows everything below V(1), and all if verbose.
func (s *textSink) Enabled(level int) bool { return level == 0 || s.verbose }

// Info writes a line of level INFO, or DEBUG above V(0).
func (s *textSink) Info(level int, msg string, pairs ...any) {
	if level > 0 {
		s.line("DEBUG", dim, msg, pairs)
		return
	}
	s.line("INFO", "", msg, pairs)
}

// Error writes a line of level ERROR, with the cause last.
func (s *textSink) Error(err error, msg string, pairs ...any) {
	if err != nil {
		pairs = append(pairs[:len(pairs):len(pairs)], "cause", err)
	}
	s.line("ERROR", red, msg, pairs)
}

// WithValues gives a sink that adds pairs to each line.
func (s *textSink) WithValues(pairs ...any) logr.LogSink {
	c := *s
	c.values += renderPairs(pairs)
	return &c
}

// WithName gives a sink that puts a name before each message.
func (s *textSink) WithName(name string) logr.LogSink {
	c := *s
	c.name += name + ": "
	return &c
}

func (s *textSink) line(level, colour, msg string, pairs []any) {
	stamp := time.Now().Format(s.look.stamp)
	level = fmt.Sprintf("%-5s", level)
	if s.look.colour {
		stamp = dim + stamp + plain
		if colour != "" {
			level = colour + level + plain
		}
	}
	text := fmt.Sprintf("%s  %s  %-*s %s%s", stamp, level, messageWidth, s.name+msg, s.values, renderPairs(pairs))
	_, _ = io.WriteString(s.out, strings.TrimRight(text, " ")+"\n") // a closed stderr ends nothing
}

// renderPairs gives " key=value" for each pair. An odd last one is a mistake
// of the caller and is shown.
func renderPairs(pairs []any) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		b.WriteByte(' ')
		b.WriteString(renderValue(pairs[i]))
		b.WriteByte('=')
		if i+1 < len(pairs) {
			b.WriteString(renderValue(pairs[i+1]))
		}
	}
	return b.String()
}

// renderValue quotes what is not one plain word.
func renderValue(v any) string {
	text := fmt.Sprint(v)
	plain := func(r rune) bool { return r > ' ' && r != '"' && r != '=' && strconv.IsPrint(r) }
	if text == "" || strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) >= 0 {
		return strconv.Quote(text)
	}
	return text
}
