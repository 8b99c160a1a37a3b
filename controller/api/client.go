package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// clientTimeout bounds one request, from dialling to the last byte.
const clientTimeout = 30 * time.Second

// Client asks a controller through its socket. It may be used by many
// goroutines.
type Client struct {
	path string
	// there says that the controller lives; nil where that cannot be told.
	there func() bool
	http  http.Client
	// streams is for answers without an end.
	streams http.Client
}

// NewClient makes a client for the socket at path. It connects for each
// request.
func NewClient(path string) *Client {
	c := &Client{path: path}
	c.streams = newStreamClient(c.dial)
	c.http.Timeout = clientTimeout
	c.http.Transport = &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return c.dial(ctx)
		},
	}
	return c
}

// WaitWhile has each request wait where nobody listens on a socket that is there,
// while the controller lives: one program follows another, and listens in a moment.
// It is called before the first request.
func (c *Client) WaitWhile(lives func() bool) { c.there = lives }

// How long that may take, and how often it is tried.
const (
	followsWithin = 2 * time.Second
	followsLook   = 10 * time.Millisecond
)

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	between := false // the file goes before there is another one
	for until := time.Now().Add(followsWithin); ; {
		conn, err := dial(ctx, c.path)
		between = between || errors.Is(err, syscall.ECONNREFUSED)
		if err == nil || c.there == nil || !between || time.Now().After(until) || !c.there() {
			return conn, err
		}
		select {
		case <-time.After(followsLook):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// dial connects and checks who listens. Root may look at anybody's controller.
func dial(ctx context.Context, path string) (net.Conn, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	uid := os.Getuid()
	if uid == 0 {
		return conn, nil
	}
	if err := checkPeer(conn, uid); err != nil {
		conn.Close()
		return nil, fmt.Errorf("not trusted: %w", err)
	}
	return conn, nil
}

// Workloads gives every workload, sorted by key.
func (c *Client) Workloads(ctx context.Context) ([]Object, error) {
	var l List
	err := c.get(ctx, Root+"/workloads", &l)
	return l.Items, err
}

// Controller gives what is known beside the workloads.
func (c *Client) Controller(ctx context.Context) (Controller, error) {
	var info Controller
	err := c.get(ctx, Root+"/controller", &info)
	return info, err
}

// Prospect tells what the controller does with the process of a pid. Of a
// process that it has not seen yet it tells what it does with the instance,
// where one is named.
func (c *Client) Prospect(ctx context.Context, pid int, of spec.Instance) (Prospect, error) {
	var p Prospect
	err := c.get(ctx, fmt.Sprintf("%s/processes/%d?instance=%s", Root, pid, url.QueryEscape(string(of))), &p)
	return p, err
}

// get asks for one path. The error is ErrNotRunning where nobody listens and a
// *Failure where the controller says no.
func (c *Client) get(ctx context.Context, path string, into any) error {
	return c.ask(ctx, http.MethodGet, path, http.StatusOK, into)
}

// ask sends a request; any other status than the one that is wanted is no.
func (c *Client) ask(ctx context.Context, method, path string, want int, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://controller"+path, nil)
	if err != nil {
		return fmt.Errorf("cannot ask the controller: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.explain(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		return readFailure(resp)
	}
	if err := decode(resp, into); err != nil {
		return fmt.Errorf("cannot read the controller's answer: %w", err)
	}
	return nil
}

// largestAnswer bounds what is read in one piece; what is longer, or does not say how
// long it is, is read as it comes.
const largestAnswer = 16 << 20

func decode(resp *http.Response, into any) error {
	if resp.ContentLength < 0 || resp.ContentLength > largestAnswer {
		return json.NewDecoder(resp.Body).Decode(into)
	}
	text := make([]byte, resp.ContentLength)
	if _, err := io.ReadFull(resp.Body, text); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// explain turns a failed request into words without the made-up URL.
func (c *Client) explain(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" &&
		(errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR)) {
		return fmt.Errorf("%w on %s", ErrNotRunning, c.path)
	}
	var made *url.Error
	if errors.As(err, &made) {
		err = made.Err
	}
	return fmt.Errorf("cannot ask the controller on %s: %w", c.path, err)
}

// readFailure gives the error that the controller sent.
func readFailure(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("cannot read the controller's answer: %w", err)
	}
	f := &Failure{}
	if json.Unmarshal(body, f) != nil || f.Message == "" {
		return fmt.Errorf("cannot understand the controller's answer: %s", resp.Status)
	}
	return f
}
