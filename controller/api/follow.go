package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// headerWait bounds the time until a stream begins.
const headerWait = clientTimeout

// newStreamClient is for answers that go on as long as they are read.
func newStreamClient(dial func(context.Context) (net.Conn, error)) http.Client {
	return http.Client{Transport: &http.Transport{
		DisableKeepAlives:     true,
		ResponseHeaderTimeout: headerWait,
		DialContext:           func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
	}}
}

// follow asks for a stream of JSON lines and gives each to take. It ends with
// ErrEnded when the controller ends the stream, with the error of take, with that
// of ctx, or with what went wrong.
func follow[T any](ctx context.Context, c *Client, path string, take func(T) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://controller"+path, nil)
	if err != nil {
		return fmt.Errorf("cannot ask the controller: %w", err)
	}
	resp, err := c.streams.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return c.explain(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return readFailure(resp)
	}
	lines := json.NewDecoder(resp.Body)
	for {
		var line T
		err := lines.Decode(&line)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return ErrEnded
		case err != nil:
			return &brokenError{err}
		}
		if err := take(line); err != nil {
			return err
		}
	}
}

// brokenError is a stream that was cut off.
type brokenError struct{ cause error }

func (e *brokenError) Error() string {
	return fmt.Sprintf("the connection with the controller broke: %v", e.cause)
}

func (e *brokenError) Unwrap() error { return e.cause }
