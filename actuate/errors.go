package actuate

import (
	"errors"
	"fmt"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// ErrGone says that a process ended before it could be watched or signalled. It
// is the same as observe's, for callers that do not know this room.
var ErrGone = observe.ErrGone

// ErrUnsupported says that processes cannot be started or signalled on this
// operating system yet.
var ErrUnsupported = errors.New("not supported on this operating system yet")

// ErrClosed says that the Actuator was closed.
var ErrClosed = errors.New("the actuator is closed")

// StartError is a start that did not happen: no process of it is left.
type StartError struct {
	// Reason is the word for programs that status shows.
	Reason spec.Reason
	// Message is one line for a person, with what to do where that is known.
	Message string
	// Sent are the signals that ended what had been started of it already.
	Sent []observe.Sent
}

func (e *StartError) Error() string { return e.Message }

// StartReason gives the reason, as the controller asks for it.
func (e *StartError) StartReason() spec.Reason { return e.Reason }

// SignalsSent gives them, as the controller asks for it.
func (e *StartError) SignalsSent() []observe.Sent { return e.Sent }

func startErrorf(r spec.Reason, format string, args ...any) *StartError {
	return &StartError{Reason: r, Message: fmt.Sprintf(format, args...)}
}
