package spec

import "testing"

func TestEndpoint(t *testing.T) {
	http, admin, bare := NamedPort{"http", 8123}, NamedPort{"admin", 9000}, NamedPort{"", 7000}
	for name, tt := range map[string]struct {
		mcp   *MCP
		ports PortMap
		want  string // type and URL
	}{
		"all defaults":     {nil, NewPortMap(admin), "http http://127.0.0.1:9000/mcp"},
		"the one for http": {&MCP{}, NewPortMap(http, admin), "http http://127.0.0.1:8123/mcp"},
		"without a name":   {&MCP{}, NewPortMap(bare, admin), "http http://127.0.0.1:7000/mcp"},
		"by name":          {&MCP{Port: "admin"}, NewPortMap(http, admin), "http http://127.0.0.1:9000/mcp"},
		"by number":        {&MCP{Port: "80"}, nil, "http http://127.0.0.1:80/mcp"},
		"sse":              {&MCP{Transport: TransportSSE}, NewPortMap(http), "sse http://127.0.0.1:8123/sse"},
		"path":             {&MCP{Path: "/a?b=c"}, NewPortMap(http), "http http://127.0.0.1:8123/a?b=c"},
		"stdio":            {&MCP{Transport: TransportStdio}, NewPortMap(http), "http http://127.0.0.1:8123/mcp"},
		"no ports":         {nil, nil, ""},
		"which":            {nil, NewPortMap(admin, NamedPort{"other", 1}), ""},
		"no such name":     {&MCP{Port: "none"}, NewPortMap(http), ""},
		"port zero":        {&MCP{Port: "0"}, NewPortMap(http), ""},
	} {
		e, ok := tt.mcp.Endpoint("files", tt.ports)
		if got := string(e.Type) + " " + e.URL; ok != (tt.want != "") || ok && (got != tt.want || e.Name != "files") {
			t.Errorf("%s: %q, %v, want %q", name, got, ok, tt.want)
		}
	}
}

func TestMCPConfig(t *testing.T) {
	known := []ServerEndpoint{
		{Name: "b", Type: TransportSSE, URL: "http://127.0.0.1:1/sse?a=1&b=<2>"},
		{Name: "a", Type: TransportHTTP, URL: "http://127.0.0.1:2/mcp"},
		{Name: "none"},
	}
	const want = `{
  "mcpServers": {
    "a": {
      "type": "http",
      "url": "http://127.0.0.1:2/mcp"
    },
    "b": {
      "type": "sse",
      "url": "http://127.0.0.1:1/sse?a=1&b=<2>"
    }
  }
}
`
	content := EncodeMCPConfig(known, nil)
	if string(content) != want {
		t.Errorf("it is %s", content)
	}
	if got := string(EncodeMCPConfig(nil, nil)); got != "{\n  \"mcpServers\": {}\n}\n" {
		t.Errorf("without servers it is %s", got)
	}
	asked := []ServerEndpoint{{Name: "a"}, {Name: "b", Type: TransportHTTP, URL: "http://127.0.0.1:3/mcp"}, {Name: "c"}}
	got := WithKnown(asked, content)
	if got[0] != known[1] || got[1] != asked[1] || got[2] != asked[2] || asked[0].URL != "" {
		t.Errorf("filled in: %v, of %v", got, asked)
	}
	for _, bad := range []string{"", "{", "[]", `{"mcpServers": []}`, `{"mcpServers": {"a": 1}}`, `null`} {
		if got := WithKnown(asked, []byte(bad)); got[0].URL != "" {
			t.Errorf("of %q it takes %v", bad, got)
		}
	}
}

func TestMCPConfigHasTokens(t *testing.T) {
	mcp := MCP{Transport: TransportStdio, Auth: &MCPAuth{TokenFile: "token"}}
	e, ok := mcp.Endpoint("a", NewPortMap(NamedPort{"http", 8123}))
	if !ok || e.TokenFile != "token" {
		t.Fatalf("the endpoint is %+v", e)
	}
	open := ServerEndpoint{Name: "b", Type: TransportHTTP, URL: "http://127.0.0.1:1/mcp"}
	content := EncodeMCPConfig([]ServerEndpoint{e, open}, map[string]string{"a": "s3cret", "c": "unused"})
	const want = `{
  "mcpServers": {
    "a": {
      "type": "http",
      "url": "http://127.0.0.1:8123/mcp",
      "headers": {
        "Authorization": "Bearer s3cret"
      }
    },
    "b": {
      "type": "http",
      "url": "http://127.0.0.1:1/mcp"
    }
  }
}
`
	if string(content) != want {
		t.Errorf("it is %s", content)
	}
	if got := KnownTokens(content); len(got) != 1 || got["a"] != "s3cret" {
		t.Errorf("the tokens in it are %v", got)
	}
	if got := KnownTokens([]byte("{")); len(got) != 0 {
		t.Errorf("the tokens in what is no such file are %v", got)
	}
}
