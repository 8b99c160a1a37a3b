//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// bridgeClient speaks Streamable HTTP with as little work as can be.
type bridgeClient struct {
	http    *http.Client
	url     string
	session string
	last    int
}

func newBridgeClient(url string) *bridgeClient {
	return &bridgeClient{http: &http.Client{Transport: &http.Transport{}}, url: url}
}

func (c *bridgeClient) close() { c.http.CloseIdleConnections() }

// greet begins a session, once.
func (c *bridgeClient) greet() error {
	if c.session != "" {
		return nil
	}
	if err := c.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`); err != nil {
		return err
	}
	return c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "")
}

// ask makes a request, and reads its answer to the end.
func (c *bridgeClient) ask(method, params string) error {
	c.last++
	return c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.last, method, params), fmt.Sprintf(`"id":%d`, c.last))
}

// post sends a message. The answer has to contain want.
func (c *bridgeClient) post(body, want string) error {
	req, err := http.NewRequest(http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
		req.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if s := res.Header.Get("Mcp-Session-Id"); s != "" {
		c.session = s
	}
	if res.StatusCode > 299 || !bytes.Contains(answer, []byte(want)) || bytes.Contains(answer, []byte(`"error"`)) {
		return fmt.Errorf("%s to %s: %s", res.Status, body, answer)
	}
	return nil
}
