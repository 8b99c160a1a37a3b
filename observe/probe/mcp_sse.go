package probe

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// sseVersion is the revision that HTTP+SSE belongs to.
const sseVersion = "2024-11-05"

// sseCall is one connection of HTTP+SSE (MCP 2024-11-05): a stream of events, on
// which all answers come, and an address for the requests that it begins with.
// The session at the server ends with it.
type sseCall struct {
	events *rpc.EventReader
	url    string // for requests
	id     int64
}

// askOnce asks a server of HTTP+SSE: one connection per probe. That it answers
// the greeting is the sign of life.
func (s *server) askOnce(ctx context.Context, verify bool, answer *observe.Answer) error {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	c, closeStream, err := openSSE(ctx, s.url)
	if err != nil {
		return err
	}
	defer closeStream()
	result, err := c.request(ctx, methodInitialize, initializeParams(sseVersion))
	if err != nil {
		return err
	}
	r, err := parseInitialized(result)
	if err != nil {
		return failuref("%s: %v", c.asked(methodInitialize), err)
	}
	if !verify {
		return nil
	}
	return c.verify(ctx, s.url, r, answer)
}

// verify asks for the tools.
func (c *sseCall) verify(ctx context.Context, url string, r initialized, answer *observe.Answer) (err error) {
	says := r.Capabilities.greeted(r.ServerInfo)
	info := says.info(url, r.ProtocolVersion, spec.EraLegacy)
	if says.tools {
		if err := c.send(ctx, rpc.Message{Method: methodInitialized}); err != nil {
			return err
		}
		info.Tools, err = countTools(func(params map[string]any) (json.RawMessage, error) {
			return c.request(ctx, methodTools, params)
		})
	}
	if err == nil {
		answer.Server = info
	}
	return err
}

// openSSE opens the stream and reads where requests go.
func openSSE(ctx context.Context, at string) (*sseCall, func() error, error) {
	allowed := allowance(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return nil, nil, failuref("GET %s: %v", at, err)
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "text/event-stream")
	res, err := client.Do(req)
	if err != nil {
		return nil, nil, failuref("GET %s: %s", at, cause(err, allowed))
	}
	c := &sseCall{events: newEventReader(res.Body, maxMessage)}
	if c.url, err = c.endpoint(res); err != nil {
		res.Body.Close()
		if r := (*refusal)(nil); errors.As(err, &r) {
			return nil, nil, err
		}
		return nil, nil, failuref("GET %s: %s", at, cause(err, allowed))
	}
	return c, res.Body.Close, nil
}

// endpoint reads the event that the stream begins with. The address in it must
// be of the same server: nobody else was asked.
func (c *sseCall) endpoint(res *http.Response) (string, error) {
	if res.StatusCode != http.StatusOK {
		return "", refused("GET "+res.Request.URL.String(), res)
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "text/event-stream" {
		return "", failuref("%s, but no event stream: it is %s", status(res), orNothing(kind))
	}
	for {
		e, err := c.events.Read()
		switch {
		case errors.Is(err, io.EOF):
			return "", failuref("the event stream ended without an endpoint")
		case err != nil:
			return "", err
		case e.Name != "endpoint" || len(e.Data) == 0:
			continue
		}
		to, err := res.Request.URL.Parse(string(e.Data))
		if err != nil || !sameServer(to, res.Request.URL) {
			return "", failuref("the endpoint %q is not of this server", told(string(e.Data)))
		}
		return to.String(), nil
	}
}

func sameServer(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

func (c *sseCall) asked(method string) string { return "POST " + c.url + " (" + method + ")" }

// request sends a request and waits for its answer on the stream.
func (c *sseCall) request(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	c.id++
	m, err := newMessage(method, params, c.id)
	if err != nil {
		return nil, failuref("%s: %v", c.asked(method), err)
	}
	if err := c.send(ctx, m); err != nil {
		return nil, err
	}
	result, err := awaitAnswer(c.events, c.id)
	if err != nil {
		return nil, &failure{c.asked(method) + ": " + cause(err, allowance(ctx)), err}
	}
	return result, nil
}

// send posts one message, which is only taken note of there.
func (c *sseCall) send(ctx context.Context, m rpc.Message) error {
	req, err := newPost(ctx, c.url, m)
	if err != nil {
		return failuref("%s: %v", c.asked(m.Method), err)
	}
	res, err := poster.Do(req)
	if err != nil {
		return failuref("%s: %s", c.asked(m.Method), cause(err, allowance(ctx)))
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return refused(c.asked(m.Method), res)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxBody))
	return nil
}
