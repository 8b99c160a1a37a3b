package door

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// lostError says that a server, or the session with it, is not there any more.
type lostError struct {
	cause error
	// sent says that the server may have the message, and may have done what it asks
	// for.
	sent bool
	// unknown says that the server is there, and does not know the session.
	unknown bool
}

func (e *lostError) Error() string { return e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

func isLost(err error) (*lostError, bool) { return errors.AsType[*lostError](err) }

// refusedError is an answer over HTTP that is none of MCP.
type refusedError struct {
	status int
	// says is the error of JSON-RPC in it, or nil; text is the beginning of it
	// otherwise.
	says *rpc.Error
	text string
}

func (e *refusedError) Error() string {
	status := fmt.Sprintf("%d %s", e.status, http.StatusText(e.status))
	switch {
	case e.says != nil:
		return status + ": " + e.says.Message
	case e.text != "":
		return status + ": " + e.text
	}
	return status
}

// refusedBy reads the answer of a server that does not want a message.
func refusedBy(res *http.Response) *refusedError {
	e := &refusedError{status: res.StatusCode}
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if e.says = rpc.ErrorIn(body); e.says == nil {
		e.text = firstLine(string(body))
	}
	return e
}

// firstLine is what fits into one line of a message.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	s = strings.ToValidUTF8(strings.TrimSpace(s), "?")
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}

// causeOf says what went wrong with a request over HTTP, without its URL, which is
// said once.
func causeOf(err error) error {
	var made *url.Error
	if errors.As(err, &made) {
		err = made.Err
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("nobody listens there (connection refused)")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it closed the connection")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return errors.New("it broke the connection")
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("it does not answer")
	}
	return err
}
