package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/proc-controller/proc-controller/observe"
)

// Func is one attempt of a probe. It is back when ctx ends at the latest. Nil is
// success; the error is the failure, in one line for a person.
type Func func(ctx context.Context) error

// Bounds, in bytes.
const (
	maxQuoted  = 200      // of a line that a failure quotes
	maxBody    = 10 << 10 // read of a body for the line that a failure quotes
	maxPage    = 1 << 20  // of a page or a card that is fetched
	maxMessage = 4 << 20  // of what answers one MCP request, the events before it too
)

// failuref is a failure without a cause that anybody could act on.
func failuref(format string, args ...any) error { return fmt.Errorf(format, args...) }

// quoted gives the last line of what somebody wrote, behind a colon.
func quoted(output []byte) string {
	if line := observe.LastLine(output, maxQuoted); line != "" {
		return ": " + line
	}
	return ""
}

// allowedKey is where a context carries how long the attempt may take.
type allowedKey struct{}

// withAllowance notes how long an attempt may take, which begins now. Without it
// a failure of its second request would name what was left of that time.
func withAllowance(ctx context.Context) context.Context {
	return context.WithValue(ctx, allowedKey{}, allowance(ctx))
}

// allowance is how long an attempt may take, as its failure will say it. It is
// asked at the beginning.
func allowance(ctx context.Context) time.Duration {
	if noted, ok := ctx.Value(allowedKey{}).(time.Duration); ok {
		return noted
	}
	return observe.Allowed(ctx)
}

// within names the end of an attempt by its deadline: "no answer within 1s".
func within(what string, allowed time.Duration) string {
	if allowed <= 0 {
		return what + " in time"
	}
	return what + " within " + allowed.String()
}

// cause says in few words why a request or a connection failed.
func cause(err error, allowed time.Duration) string {
	var timeout net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return within("no answer", allowed)
	case errors.Is(err, context.Canceled):
		return "given up"
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	text := err.Error()
	if text == "EOF" || text == "unexpected EOF" {
		return errCutOff.Error()
	}
	return observe.Printable(strings.ReplaceAll(text, "\n", " "), maxQuoted)
}
