package clients

import (
	"slices"
	"strings"
)

// Client is a program that uses MCP servers, and how it is told of them. The forms
// are those of the documentation of each, as of late 2026.
type Client struct {
	Name  string // as it is typed: claude-desktop
	Title string
	// After is what has to be done for a change to take effect; empty for nothing.
	After  string
	syntax syntax
	way    []string // where entries are
	places func(Host) []string
	// http makes an entry with a URL; nil where the client knows none.
	http  func(Endpoint) *node
	sse   bool
	token tokenFrom // nil where a token would have to stand in the file
	stdio func(Endpoint) *node
}

// Catalog are the clients that entries can be written for.
var Catalog = []*Client{
	{
		Name: "claude-desktop", Title: "Claude Desktop", After: "quit Claude Desktop and start it again",
		syntax: jsonText{}, way: []string{"mcpServers"}, places: claudeDesktopPlaces,
		stdio: command,
	},
	{
		Name: "claude-code", Title: "Claude Code", After: "start a new session of Claude Code",
		syntax: jsonText{}, way: []string{"mcpServers"}, places: claudeCodePlaces,
		http: typed, sse: true, token: bearer("${", "}"), stdio: typedCommand,
	},
	{
		Name: "cursor", Title: "Cursor",
		syntax: jsonText{}, way: []string{"mcpServers"}, places: home(".cursor/mcp.json"),
		http: field("url"), sse: true, token: bearer("${env:", "}"), stdio: command,
	},
	{
		Name: "vscode", Title: "VS Code",
		syntax: jsonText{}, way: []string{"servers"}, places: vscodePlaces,
		http: typed, sse: true, token: bearer("${env:", "}"), stdio: typedCommand,
	},
	{
		Name: "windsurf", Title: "Windsurf", After: "refresh the servers in Windsurf",
		syntax: jsonText{}, way: []string{"mcpServers"}, places: home(".codeium/windsurf/mcp_config.json"),
		http: field("serverUrl"), sse: true, token: bearer("${env:", "}"), stdio: command,
	},
	{
		Name: "zed", Title: "Zed",
		syntax: jsonText{}, way: []string{"context_servers"}, places: zedPlaces,
		http: field("url"), stdio: command,
	},
	{
		Name: "codex", Title: "Codex", After: "start a new session of Codex",
		syntax: tomlText{}, way: []string{"mcp_servers"}, places: codexPlaces,
		http: field("url"), token: bearerVariable, stdio: command,
	},
	{
		Name: "gemini", Title: "Gemini CLI", After: "start a new session of Gemini CLI",
		syntax: jsonText{}, way: []string{"mcpServers"}, places: home(".gemini/settings.json"),
		http: geminiEntry, sse: true, token: bearer("${", "}"), stdio: command,
	},
	{
		Name: "goose", Title: "Goose", After: "start a new session of Goose",
		syntax: yamlText{}, way: []string{"extensions"}, places: goosePlaces,
		http:  func(e Endpoint) *node { return gooseEntry(e, "streamable_http").with("uri", textNode(e.URL)) },
		stdio: gooseCommand,
	},
	{
		Name: "opencode", Title: "OpenCode", After: "start a new session of OpenCode",
		syntax: jsonText{}, way: []string{"mcp"}, places: opencodePlaces,
		http: opencodeEntry, sse: true, token: bearerFile, stdio: opencodeCommand,
	},
}

// Named finds a client by its name; nil where there is none.
func Named(name string) *Client {
	i := slices.IndexFunc(Catalog, func(c *Client) bool { return c.Name == strings.ToLower(name) })
	if i < 0 {
		return nil
	}
	return Catalog[i]
}

// Comment begins a comment in the file of a client.
func (c *Client) Comment() string {
	if _, json := c.syntax.(jsonText); json {
		return "//"
	}
	return "#"
}

// wayIn is where entries are in a file.
func (c *Client) wayIn(root *node) []string {
	if c.Name == "opencode" && isServerMap(root.get("mcp", "servers")) {
		return []string{"mcp", "servers"} // version 2
	}
	return c.way
}

// geminiEntry has another field for each transport.
func geminiEntry(e Endpoint) *node {
	if e.SSE {
		return field("url")(e)
	}
	return field("httpUrl")(e)
}

func gooseCommand(e Endpoint) *node {
	return gooseEntry(e, "stdio").with("cmd", textNode(e.Door[0])).with("args", listNode(e.Door[1:]))
}

func opencodeEntry(e Endpoint) *node {
	return objectNode().with("type", textNode("remote")).with("url", textNode(e.URL)).with("enabled", truthNode(true))
}

func opencodeCommand(e Endpoint) *node {
	return objectNode().with("type", textNode("local")).with("command", listNode(e.Door)).with("enabled", truthNode(true))
}
