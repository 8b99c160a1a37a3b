package clients

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func entryFor(c *Client, url string) []Entry {
	return []Entry{c.Entry(Endpoint{Name: "files", URL: url, Door: []string{"/bin/p", "connect", "files"}}, false)}
}

// An entry with one of our names that is not ours stays, whatever is forced.
func TestForeignEntriesStay(t *testing.T) {
	for client, text := range map[string]string{
		"cursor": `{"mcpServers": {"files": {"command": "theirs"}}}`,
		"codex":  "[mcp_servers.files]\ncommand = \"theirs\"\n",
		"goose":  "extensions:\n  files: {type: stdio, cmd: theirs}\n",
	} {
		c := Named(client)
		ch, err := c.Merge([]byte(text), &Record{}, entryFor(c, "http://127.0.0.1:1/mcp"), true)
		if err != nil || string(ch.Text) != text || ch.Outcomes["files"] != Foreign || len(ch.Record.Entries) > 0 {
			t.Errorf("%s: %v, %+v:\n%s", client, err, ch.Outcomes, ch.Text)
		}
		ch, err = c.Strip([]byte(text), &Record{}, []string{"files"}, true)
		if err != nil || string(ch.Text) != text || ch.Outcomes["files"] != Foreign {
			t.Errorf("%s: %v, %+v:\n%s", client, err, ch.Outcomes, ch.Text)
		}
	}
}

// One of ours that somebody has changed stays, unless that is forced.
func TestEditedEntriesStay(t *testing.T) {
	for _, client := range []string{"vscode", "codex", "goose"} {
		c := Named(client)
		ch := merged(t, c, nil, &Record{}, entryFor(c, "http://127.0.0.1:1/mcp"))
		edited := bytes.Replace(ch.Text, []byte(":1/mcp"), []byte(":9/mine"), 1)
		for _, force := range []bool{false, true} {
			want, gone := Edited, Edited
			if force {
				want, gone = Updated, Removed
			}
			again, err := c.Merge(edited, ch.Record, entryFor(c, "http://127.0.0.1:2/mcp"), force)
			if err != nil || again.Outcomes["files"] != want || bytes.Contains(again.Text, []byte(":9/mine")) == force {
				t.Errorf("%s, forced %v: %v, %v:\n%s", client, force, err, again.Outcomes, again.Text)
			}
			back, err := c.Strip(edited, ch.Record, nil, force)
			if err != nil || back.Outcomes["files"] != gone || force != (len(back.Text) == 0) {
				t.Errorf("%s, forced %v: %v, %v:\n%s", client, force, err, back.Outcomes, back.Text)
			}
		}
	}
}

// One that somebody has removed is put in again, and taking it out is no error.
func TestRemovedEntries(t *testing.T) {
	c := Named("zed")
	ch := merged(t, c, []byte("{\"a\": 1}"), &Record{}, entryFor(c, "http://127.0.0.1:1/mcp"))
	if again := merged(t, c, []byte("{\"a\": 1}"), ch.Record, entryFor(c, "http://127.0.0.1:1/mcp")); again.Outcomes["files"] != Added {
		t.Errorf("the outcome is %v", again.Outcomes)
	}
	back, err := c.Strip([]byte("{\"a\": 1}"), ch.Record, nil, false)
	if err != nil || back.Outcomes["files"] != Removed || string(back.Text) != "{\"a\": 1}" || len(back.Record.Entries) > 0 {
		t.Errorf("%v, %+v", err, back)
	}
}

// What a client writes anew, in its own way and with settings that are not set, is
// still ours: it is updated, and taken out.
func TestClientsWriteTheirFilesAnew(t *testing.T) {
	for client, anew := range map[string]func([]byte) []byte{
		"gemini": func(text []byte) []byte {
			var all map[string]map[string]map[string]any
			if err := json.Unmarshal(text, &all); err != nil {
				t.Fatal(err)
			}
			all["mcpServers"]["files"]["disabled"] = false
			all["mcpServers"]["files"]["headers"] = map[string]any{}
			out, err := json.MarshalIndent(all, "", "    ")
			if err != nil {
				t.Fatal(err)
			}
			return out
		},
		"goose": func([]byte) []byte {
			return []byte(`extensions:
  theirs:
    type: builtin
  files:
    enabled: true
    type: streamable_http
    name: files
    description: run by proc-controller
    uri: http://127.0.0.1:1/mcp
    envs: {}
    env_keys: []
    headers: {}
    timeout: 300
    bundled: null
    available_tools: []
after: 1
`)
		},
		"codex": func([]byte) []byte {
			return []byte("[mcp_servers]\n\n[mcp_servers.theirs]\ncommand = \"x\"\n\n[mcp_servers.files]\n'url' = 'http://127.0.0.1:1/mcp'\n\n[mcp_servers.files.http_headers]\n\n# about it\n[tui]\n")
		},
	} {
		c := Named(client)
		ch := merged(t, c, []byte(map[string]string{
			"gemini": `{"mcpServers": {"theirs": {"command": "x"}}}`, "goose": "extensions:\n  theirs: {type: builtin}\nafter: 1\n", "codex": "[mcp_servers.theirs]\ncommand = \"x\"\n",
		}[client]), &Record{}, entryFor(c, "http://127.0.0.1:1/mcp"))
		ch.Text = anew(ch.Text)
		ch = merged(t, c, ch.Text, ch.Record, entryFor(c, "http://127.0.0.1:2/mcp"))
		if ch.Outcomes["files"] != Updated || !bytes.Contains(ch.Text, []byte(":2/mcp")) || bytes.Contains(ch.Text, []byte(":1/mcp")) {
			t.Errorf("%s: %v:\n%s", client, ch.Outcomes, ch.Text)
		}
		back := stripped(t, c, ch)
		if bytes.Contains(back.Text, []byte("files")) || !bytes.Contains(back.Text, []byte("theirs")) {
			t.Errorf("%s:\n%s", client, back.Text)
		}
	}
}

// Files that are not understood are named with the line, and nothing comes out.
func TestMergeMistakes(t *testing.T) {
	for _, tt := range []struct{ client, text, want string }{
		{"cursor", "{\n  \"mcpServers\": {\n    oops\n", "line 3, column 5"},
		{"cursor", `{"mcpServers": []}`, "line 1: mcpServers is not an object"},
		{"cursor", "{\"mcpServers\": {},\n\"mcpServers\": {}}", "line 2: the file has mcpServers twice"},
		{"cursor", "{\"mcpServers\": {\"a\": {},\n\"a\": {}}}", "line 2: mcpServers has a twice"},
		{"cursor", `[]`, "line 1: the file is not an object"},
		{"codex", "a = 1\n[b\n", "line 2, column 3"},
		{"codex", "mcp_servers = {}\n", "nothing was changed"},
		{"codex", "mcp_servers = 1\n", "line 1: mcp_servers is not an object"},
		{"goose", "a: 1\nb: ]\n", "line 2"},
		{"goose", "extensions:\n- a\n", "line 2: extensions is not an object"},
		{"goose", "a: 1\n---\nb: 1\n", "line 2: a second document begins"},
		{"goose", "{a: 1}\n", "by hand"},
		{"goose", "b: &x {c: 1}\nextensions: *x\n", "by hand"},
	} {
		c := Named(tt.client)
		ch, err := c.Merge([]byte(tt.text), &Record{}, c.entries(false), false)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %q: %v, want %q\n%+v", tt.client, tt.text, err, tt.want, ch)
		}
	}
}

func TestPlaces(t *testing.T) {
	env := map[string]string{"XDG_CONFIG_HOME": "/cfg", "CODEX_HOME": "/codex", "CLAUDE_CONFIG_DIR": "relative", "APPDATA": `C:\Users\me\AppData\Roaming`}
	getenv := func(name string) string { return env[name] }
	none := func(string) string { return "" }
	for _, tt := range []struct {
		client string
		host   Host
		want   string
	}{
		{"claude-desktop", Host{"linux", "/home/me", none}, "/home/me/.config/Claude/claude_desktop_config.json"},
		{"claude-desktop", Host{"darwin", "/Users/me", none}, "/Users/me/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", Host{"windows", `C:\Users\me`, getenv}, "C:/Users/me/AppData/Roaming/Claude/claude_desktop_config.json"},
		{"claude-code", Host{"linux", "/home/me", getenv}, "/home/me/.claude.json"},
		{"vscode", Host{"linux", "/home/me", getenv}, "/cfg/Code/User/mcp.json"},
		{"zed", Host{"darwin", "/Users/me", none}, "/Users/me/.config/zed/settings.json"},
		{"codex", Host{"linux", "/home/me", getenv}, "/codex/config.toml"},
		{"gemini", Host{"linux", "/home/me", getenv}, "/home/me/.gemini/settings.json"},
		{"goose", Host{"windows", `C:\Users\me`, none}, "C:/Users/me/AppData/Roaming/Block/goose/config/config.yaml"},
		{"opencode", Host{"linux", "/home/me", none}, "/home/me/.config/opencode/opencode.json"},
	} {
		got, err := Named(tt.client).Places(tt.host)
		if err != nil || got[0] != tt.want {
			t.Errorf("%s on %s: %v, %v", tt.client, tt.host.OS, got, err)
		}
	}
	if _, err := Named("cursor").Places(Host{"linux", "", none}); err == nil {
		t.Error("without a home there is a place")
	}
}

// No token is ever in an entry, whoever it is for.
func TestTokensStayOut(t *testing.T) {
	for _, c := range Catalog {
		e := c.Entry(Endpoint{Name: "a-b", URL: "u", TokenFile: "/t", Door: []string{"p"}}, false)
		says := e.value.canonical()
		switch {
		case e.Door, strings.Contains(says, "{file:/t}"):
		case e.Variable != "A_B_MCP_TOKEN" || !strings.Contains(says, e.Variable):
			t.Errorf("%s is told %s, and %+v", c.Name, says, e)
		}
	}
	if diff := cmp.Diff("Zed could only have its token in the file", Named("zed").Entry(Endpoint{TokenFile: "/t", Door: []string{"p"}}, false).Why); diff != "" {
		t.Error(diff)
	}
}
