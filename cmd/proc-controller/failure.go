package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1 // the thing asked for failed
	exitUsage  = 2 // it was asked for wrongly
)

// errSaid ends a verb that has already said on stderr, or shown in its output,
// what went wrong.
var errSaid = errors.New("already said")

// endedWith ends a verb that has said what there was to say with an exit code of
// its own.
type endedWith int

func (e endedWith) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Is says that nothing is to be added.
func (endedWith) Is(target error) bool { return target == errSaid }

// usageError is a command line that cannot be understood.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

// misused makes a usageError that ends in where to read how it is done.
func misused(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...) + "; see " + cmd.CommandPath() + " --help"}
}

// exitCode gives the exit code that stands for err.
func exitCode(err error) int {
	var wrong *usageError
	var code endedWith
	switch {
	case errors.As(err, &code):
		return int(code)
	case err == nil:
		return exitDone
	case errors.As(err, &wrong):
		return exitUsage
	}
	return exitFailed
}

// say writes err as one line, unless it was said before.
func (s streams) say(err error) {
	if err == nil || errors.Is(err, errSaid) {
		return
	}
	fmt.Fprintf(s.err, "%s: %s\n", program, oneLine(err.Error()))
}

// oneLine makes text fit on a line of a terminal: line ends become "; ",
// other control characters (which could steer a terminal) become "?".
func oneLine(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), "\n", "; ")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return '?'
		}
		return r
	}, s)
}
