//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// message is one of JSON-RPC.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		ProgressToken any
		Progress      float64
		Message       string
	}
	Result *struct {
		ProtocolVersion string
		Content         []struct{ Text string }
	}
	Error *struct {
		Code    int
		Message string
	}
}

func (m *message) text() string {
	if m.Result == nil || len(m.Result.Content) != 1 {
		return ""
	}
	return m.Result.Content[0].Text
}

// rawClient speaks Streamable HTTP without an SDK: it chooses its ids, and sees what
// comes as it comes.
type rawClient struct {
	http    *http.Client
	url     string
	session string
	modern  bool
}

func newRawClient(url string, modern bool) *rawClient {
	return &rawClient{http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}, url: url, modern: modern}
}

func (c *rawClient) close(ctx context.Context) {
	if c.session != "" {
		if req, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.url, nil); err == nil {
			req.Header.Set("Mcp-Session-Id", c.session)
			if res, err := c.http.Do(req); err == nil {
				res.Body.Close()
			}
		}
	}
	c.http.CloseIdleConnections()
}

// greet begins a session, in the legacy era.
func (c *rawClient) greet(ctx context.Context) error {
	if c.modern {
		return nil
	}
	c.session = ""
	m, err := c.ask(ctx, 0, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`, nil)
	if err == nil && m.Result == nil {
		err = errors.New("initialize was refused")
	}
	if err != nil {
		return err
	}
	return c.notify(ctx, "notifications/initialized", `{}`)
}

func (c *rawClient) post(ctx context.Context, method, params, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	switch {
	case c.modern:
		h.Set("Mcp-Protocol-Version", "2026-07-28")
		h.Set("Mcp-Method", method)
		var named struct{ Name string }
		_ = json.Unmarshal([]byte(params), &named)
		h.Set("Mcp-Name", named.Name)
	case c.session != "":
		h.Set("Mcp-Session-Id", c.session)
		h.Set("Mcp-Protocol-Version", "2025-06-18")
	}
	return c.http.Do(req)
}

func (c *rawClient) notify(ctx context.Context, method, params string) error {
	res, err := c.post(ctx, method, params, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusAccepted {
		return fmt.Errorf("%s: %s", method, res.Status)
	}
	return nil
}

// errStatus is an answer over HTTP that is none of JSON-RPC.
type errStatus int

func (e errStatus) Error() string { return fmt.Sprintf("status %d", int(e)) }

// ask makes a request; other is called with what comes before the answer.
func (c *rawClient) ask(ctx context.Context, id int, method, params string, other func(message)) (m message, err error) {
	if c.modern {
		params = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":` + fmt.Sprint(id) + `},` + params[1:]
	}
	res, err := c.post(ctx, method, params, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	if err != nil {
		return m, err
	}
	defer res.Body.Close()
	if s := res.Header.Get("Mcp-Session-Id"); method == "initialize" && s != "" {
		c.session = s
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		if err := json.NewDecoder(res.Body).Decode(&m); err != nil {
			return m, err
		}
		return m, sameID(m, id)
	}
	if res.StatusCode != http.StatusOK {
		return m, errStatus(res.StatusCode)
	}
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return m, io.ErrUnexpectedEOF
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok || len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		m = message{}
		if err := json.Unmarshal(data, &m); err != nil {
			return m, err
		}
		if m.Method == "" {
			return m, sameID(m, id)
		}
		if other != nil {
			other(m)
		}
	}
}

func sameID(m message, id int) error {
	if string(m.ID) != fmt.Sprint(id) && m.Error == nil {
		return fmt.Errorf("%w: id %s, want %d", errWrong, m.ID, id)
	}
	return nil
}

// errWrong is what must never come: an answer that is another's.
var errWrong = errors.New("a wrong answer")

// echo calls the tool echo and checks what comes: its own text, and nobody else's.
func (c *rawClient) echo(ctx context.Context, id int, text string, steps int) error {
	params := fmt.Sprintf(`{"name":"echo","arguments":{"text":%q,"steps":%d}%s}`, text, steps, c.token(id))
	seen := 0
	var wrong error
	m, err := c.ask(ctx, id, "tools/call", params, func(m message) {
		seen++
		if m.Method == "notifications/progress" && (m.Params.Message != text || m.Params.ProgressToken != float64(id)) {
			wrong = fmt.Errorf("%w: progress %+v of %q", errWrong, m.Params, text)
		}
	})
	switch {
	case err != nil:
		return err
	case wrong != nil:
		return wrong
	case m.Error != nil:
		return errors.New(m.Error.Message)
	case m.text() != text:
		return fmt.Errorf("%w: %q, want %q", errWrong, m.text(), text)
	case seen != steps:
		return fmt.Errorf("%d of %d notifications came", seen, steps)
	}
	return nil
}

// token is where the legacy era puts the token of progress.
func (c *rawClient) token(id int) string {
	if c.modern {
		return ""
	}
	return fmt.Sprintf(`,"_meta":{"progressToken":%d}`, id)
}

// cancelled calls the tool echo so that it never ends, and cancels it once it was
// heard of.
func (c *rawClient) cancelled(ctx context.Context, id int, text string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	params := fmt.Sprintf(`{"name":"echo","arguments":{"text":%q,"steps":1,"hold":true}%s}`, text, c.token(id))
	var told error
	m, err := c.ask(ctx, id, "tools/call", params, func(message) {
		if c.modern {
			cancel()
			return
		}
		told = c.notify(ctx, "notifications/cancelled", fmt.Sprintf(`{"requestId":%d}`, id))
	})
	if told != nil {
		return told
	}
	if err == nil && m.Error == nil && m.text() == text {
		return fmt.Errorf("%w: an answer to what was cancelled", errWrong)
	}
	return nil
}
