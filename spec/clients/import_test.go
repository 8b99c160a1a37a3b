package clients

import (
	"fmt"
	"strings"
	"testing"

	"github.com/proc-controller/proc-controller/spec"
)

// names are how the samples are called where they come from.
var names = map[string]string{
	"claude-desktop.json": "/home/me/.config/Claude/claude_desktop_config.json",
	"claude-code.json":    "/home/me/.claude.json",
	"cursor.json":         "/src/app/.cursor/mcp.json",
	"vscode.json":         "/src/app/.vscode/mcp.json",
	"windsurf.json":       "/home/me/.codeium/windsurf/mcp_config.json",
	"zed.json":            "/home/me/.config/zed/settings.json",
	"codex.toml":          "/home/me/src/.codex/config.toml",
	"gemini.json":         "/src/app/.gemini/settings.json",
	"goose.yaml":          "/home/me/.config/goose/config.yaml",
	"opencode.json":       "/home/me/.config/opencode/opencode.json",
	"opencode2.json":      "/src/app/opencode.json",
	"server.json":         "/src/app/server.json",
}

// What becomes of each sample stands in testdata/imported, to be looked at. All of
// it is valid, and no secret is in it.
func TestImportSamples(t *testing.T) {
	for sample, data := range samples(t) {
		t.Run(sample, func(t *testing.T) {
			_, all, notes := convert(t, names[sample], string(data))
			var b strings.Builder
			for _, n := range notes {
				fmt.Fprintf(&b, "note: %s\n", n)
			}
			for _, w := range all {
				fmt.Fprintf(&b, "---\n%s", w.Manifest)
				for _, s := range w.Secrets {
					fmt.Fprintf(&b, "# %s: %d characters, asked for: %v\n", s.File, len(s.Value), s.Asked)
				}
			}
			for _, secret := range []string{"hunter2", "ctx7sk-"} {
				if strings.Contains(b.String(), secret) {
					t.Errorf("a secret stands in what is made of it")
				}
			}
			golden(t, "testdata/imported/"+strings.TrimSuffix(strings.TrimSuffix(sample, ".toml"), ".json")+".yaml", []byte(b.String()))
		})
	}
}

// What was imported and runs is exported under the same names, to each client, and
// what was exported is not imported again.
func TestRoundTrip(t *testing.T) {
	objects, _, _ := convert(t, names["claude-desktop.json"], string(samples(t)["claude-desktop.json"]))
	var want []string
	for _, o := range objects {
		want = append(want, o.Metadata.Name)
	}
	for _, c := range Catalog {
		for _, door := range []bool{false, true} {
			var entries []Entry
			for i, name := range want {
				entries = append(entries, c.Entry(Endpoint{
					Name: name, URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", 3900+i), Door: []string{"/bin/proc-controller", "connect", name},
				}, door))
			}
			ch := merged(t, c, nil, &Record{}, entries)
			read, err := Parse(fileOf(c), ch.Text)
			if err != nil {
				t.Fatalf("%s: %v\n%s", c.Name, err, ch.Text)
			}
			var got []string
			for i := range read.Servers {
				got = append(got, read.Servers[i].Name)
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("%s has %v, want %v", c.Name, got, want)
			}
			all, notes, err := read.Workloads(Options{Ours: map[string]bool{want[0]: true}})
			if err != nil || len(all) > 0 {
				t.Errorf("%s: of its own entries became %+v, %v", c.Name, all, err)
			}
			says(t, notes, want[0]+" is not imported: it leads to a server that is run here already")
		}
	}
}

// fileOf is the name of a file of a client.
func fileOf(c *Client) string {
	places, _ := c.Places(Host{OS: "linux", Home: "/home/me", Getenv: func(string) string { return "" }})
	return places[0]
}

func TestImportMistakes(t *testing.T) {
	for _, tt := range []struct{ file, data, want string }{
		{"config.toml", "[mcp_servers.a]\nurl = 3\n", "line 2: a.url is not a string"},
		{"config.toml", "[mcp_servers.a]\nargs = []\n", "line 1: a has neither command nor url"},
		{"config.toml", "a = 1\na = 2\n", "line 2"},
		{"config.toml", "[mcp_servers\n", "line 1, column 13"},
		{"config.yaml", "extensions:\n  a:\n    cmd: [\n", "line 3"},
		{"config.yaml", "extensions:\n  a: {cmd: x}\n  a: {cmd: y}\n", "line 3"},
		{"config.yaml", "extensions: {}\n---\na: 1\n", "a second document"},
		{"config.yaml", "extensions: [a]\n", "line 1: extensions is not an object"},
		{"server.json", `{"name": "a/b", "packages": [{"registryType": "mcpb", "identifier": "x"}]}`, "comes in no package that can be run here"},
		{"server.json", `{"name": "a/b", "packages": [{"registryType": "npm"}]}`, "line 1: the package has no identifier"},
		{"server.json", `{"name": 3, "packages": []}`, "line 1: name is not a string"},
		{"mcp.json", `{"mcpServers": {}, "mcpServers": {}}`, "line 1: the file has mcpServers twice"},
	} {
		if _, err := Parse(tt.file, []byte(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: %v, want %q", tt.file, tt.data, err, tt.want)
		}
	}
}

// Packages of each kind become the command that runs them.
func TestRegistryCommands(t *testing.T) {
	for _, tt := range []struct{ packages, want string }{
		{`{"registryType": "npm", "identifier": "@a/b", "version": "1.2.3"}`, "npx -y @a/b@1.2.3"},
		{`{"registryType": "npm", "identifier": "b", "runtimeArguments": [{"type": "positional", "value": "-y"}]}`, "npx -y b"},
		{`{"registryType": "pypi", "identifier": "b", "version": "1", "runtimeHint": "uvx", "packageArguments": [{"type": "positional", "value": "serve"}]}`, "uvx b@1 serve"},
		{`{"registryType": "nuget", "identifier": "B", "version": "1", "packageArguments": [{"type": "positional", "value": "mcp"}]}`, "dnx --yes B@1 -- mcp"},
		{`{"registryType": "oci", "identifier": "a/b", "version": "1"}`, "docker run -i --rm a/b:1"},
		{`{"registryType": "oci", "identifier": "r:5000/a/b@sha256:00", "version": "1", "environmentVariables": [{"name": "A", "value": "b"}]}`, "docker run -i --rm -e A r:5000/a/b@sha256:00"},
		{`{"registryType": "npm", "identifier": "http", "transport": {"type": "streamable-http", "url": "http://localhost:8080/x"}}, {"registryType": "pypi", "identifier": "stdio"}`, "uvx stdio"},
	} {
		objects, _, _ := convert(t, "server.json", `{"name": "a/b", "packages": [`+tt.packages+`]}`)
		if got := strings.Join(spec.Argv(objects[0], nil), " "); got != tt.want {
			t.Errorf("%s became %q, want %q", tt.packages, got, tt.want)
		}
	}
	objects, _, _ := convert(t, "server.json", `{"server": {"name": "a/b", "packages": [{"registryType": "npm", "identifier": "b", "transport": {"type": "sse", "url": "http://localhost:8080/x"}}]}, "_meta": {}}`)
	if s := objects[0].Spec; s.Ports[0].Port != 8080 || s.MCP.Path != "/x" || s.MCP.Transport != spec.TransportSSE {
		t.Errorf("one that listens became %+v", s)
	}
}
