package door

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// newClient makes the client for servers of this machine: no proxy is asked, and
// connections are closed before a server would do so (Node.js: after 5 s), since a
// request that meets the end of its connection may or may not have arrived.
func newClient() *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:         dialer.DialContext,
			DisableCompression:  true,
			MaxIdleConnsPerHost: maxCalls,
			IdleConnTimeout:     3 * time.Second,
		},
		CheckRedirect: nearby,
	}
}

// nearby follows a redirection to another path of the same server (/mcp to /mcp/, of
// some frameworks), and to nowhere else.
func nearby(to *http.Request, via []*http.Request) error {
	if to.URL.Host != via[0].URL.Host || to.URL.Scheme != via[0].URL.Scheme || to.Method != via[0].Method || len(via) > 2 {
		return http.ErrUseLastResponse
	}
	return nil
}

// request makes a request over HTTP to the server.
func (e Endpoint) request(ctx context.Context, method, url string, body []byte) (*http.Request, error) {
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return nil, fmt.Errorf("cannot make a request to %s: %w", url, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if e.Token != "" {
		req.Header.Set("Authorization", "Bearer "+e.Token)
	}
	return req, nil
}

// trouble says that the server cannot be spoken to.
func (e Endpoint) trouble(err error, sent bool) *lostError {
	return &lostError{cause: fmt.Errorf("cannot reach the server at %s: %w", e.URL, causeOf(err)), sent: sent}
}

// unknown says that the server does not know the session.
func (e Endpoint) unknown(err error) *lostError {
	return &lostError{cause: fmt.Errorf("the server at %s does not know the session any more: %w", e.URL, err), unknown: true}
}

// carry sends a request, calls sent once it was written, and gives the answer if it is
// a success. The error is a *lostError or a *refusedError.
func (d *door) carry(req *http.Request, at Endpoint, sent func()) (*http.Response, error) {
	var begun atomic.Bool // the server may have something of it
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { begun.Store(false) }, // the second, after one that was closed
		WroteHeaders: func() { begun.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) { sent() },
	})
	res, err := d.http.Do(req.WithContext(ctx))
	if err != nil {
		return nil, at.trouble(err, begun.Load())
	}
	d.reached(at)
	if res.StatusCode < 200 || res.StatusCode > 299 {
		defer res.Body.Close()
		return nil, refusedBy(res)
	}
	return res, nil
}

// discard reads what is left of an answer that nobody needs, so that its connection
// can be used again.
func discard(res *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	res.Body.Close()
}

func nothing() {}
