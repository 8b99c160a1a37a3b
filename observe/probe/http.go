package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

const (
	userAgent    = "proc-controller"
	maxRedirects = 10
	maxHeader    = 64 << 10 // bytes
)

// client makes every request of this room. It asks the environment for no proxy,
// checks no certificate, and keeps no cookie.
//
// It keeps no connection either. A server is not told so: it would close first,
// and the connection would wait out its time (TIME-WAIT) on the server's port,
// which keeps one that does not set SO_REUSEADDR from being started again. With a
// negative MaxIdleConnsPerHost it is us who close.
var client = &http.Client{
	Transport: &http.Transport{
		Proxy:                  nil,
		DialContext:            (&net.Dialer{KeepAlive: -1}).DialContext,
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: true},
		MaxIdleConnsPerHost:    -1,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
	},
	CheckRedirect: checkRedirect,
}

// errRedirects ends a redirect loop.
var errRedirects = fmt.Errorf("it redirects more than %d times", maxRedirects)

// checkRedirect follows within one host, as the kubelet does. A redirect to
// another is the answer: what is there says nothing about this one.
func checkRedirect(to *http.Request, via []*http.Request) error {
	switch {
	case to.URL.Hostname() != via[0].URL.Hostname():
		return http.ErrUseLastResponse
	case len(via) > maxRedirects:
		return errRedirects
	}
	return nil
}

// HTTPGet asks for a page. A status from 200 to 399 is success, if the page ends
// within the time, and after 1 MiB at the latest.
func HTTPGet(url string, headers []spec.HTTPHeader) Func {
	return func(ctx context.Context) error {
		_, err := fetch(ctx, url, headers, false)
		return err
	}
}

// fetch asks for a page, and gives it if it is wanted. The error is a *refusal
// where the status is the failure.
func fetch(ctx context.Context, url string, headers []spec.HTTPHeader, wanted bool) ([]byte, error) {
	allowed := allowance(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, failuref("GET %s: %v", url, err)
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "*/*")
	for _, h := range headers {
		setHeader(req, h)
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, failuref("GET %s: %s", url, cause(err, allowed))
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 399 {
		return nil, refused("GET "+url, res)
	}
	page, err := readPage(res, wanted)
	switch {
	case errors.Is(err, errTooLong):
		return nil, failuref("GET %s: %s, but %v (%d bytes read)", url, status(res), err, maxPage)
	case err != nil && (errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil):
		return nil, failuref("GET %s: %s, but %s", url, status(res), within("the body did not end", allowed))
	case err != nil:
		return nil, failuref("GET %s: %s, but %s", url, status(res), cause(err, allowed))
	}
	return page, nil
}

// setHeader sets a header of a manifest; Host is none for Go.
func setHeader(req *http.Request, h spec.HTTPHeader) {
	if strings.EqualFold(h.Name, "Host") {
		req.Host = h.Value
		return
	}
	req.Header.Add(h.Name, h.Value)
	if strings.EqualFold(h.Name, "User-Agent") || strings.EqualFold(h.Name, "Accept") {
		req.Header.Set(h.Name, h.Value) // ours gives way
	}
}

var errTooLong = errors.New("the body does not end")

func readPage(res *http.Response, wanted bool) ([]byte, error) {
	limited := &io.LimitedReader{R: res.Body, N: maxPage + 1}
	var page []byte
	var err error
	if wanted {
		page, err = io.ReadAll(limited)
	} else {
		_, err = io.Copy(io.Discard, limited)
	}
	if err == nil && limited.N <= 0 {
		err = errTooLong
	}
	return page, err
}

// refusal is an answer whose status is the failure.
type refusal struct {
	asked  string // "GET http://…"
	status int
	header http.Header
	text   string // "503 Service Unavailable"
	body   []byte // its beginning
}

func (r *refusal) Error() string { return r.asked + ": " + r.text + quoted(r.body) }

// unauthorized says that it was reached, and wants credentials.
func (r *refusal) unauthorized() bool {
	return r.status == http.StatusUnauthorized || r.status == http.StatusForbidden
}

// refused reads what comes with a status that is a failure. How the body ends
// plays no part: the status is known.
func refused(asked string, res *http.Response) *refusal {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxBody))
	return &refusal{asked: asked, status: res.StatusCode, header: res.Header, text: status(res), body: body}
}

// isUnauthorized says of a failure that it is a refusal for want of credentials.
func isUnauthorized(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.unauthorized()
}

// status gives the status with its name, whatever the server calls it.
func status(res *http.Response) string {
	if name := http.StatusText(res.StatusCode); name != "" {
		return fmt.Sprintf("%d %s", res.StatusCode, name)
	}
	return fmt.Sprint(res.StatusCode)
}

// TCPSocket opens a connection, and closes it.
func TCPSocket(address string) Func {
	return func(ctx context.Context) error {
		allowed := allowance(ctx)
		conn, err := (&net.Dialer{KeepAlive: -1}).DialContext(ctx, "tcp", address)
		if err != nil {
			return failuref("connect to %s: %s", address, cause(err, allowed))
		}
		return conn.Close()
	}
}
