package clients

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/spec"
)

// The samples have the shape of those in the documentation of each client.
const (
	claudeDesktop = `{
  "globalShortcut": "",
  "mcpServers": {
    "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"]},
    "GitHub": {
      "command": "docker",
      "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github/github-mcp-server"],
      "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "LOG_LEVEL": "debug"}
    },
    "git hub": {"command": "x", "args": ["--api-key", "abc", "--db=postgres://u:p@h/db", "a$(b)$$"], "env": {"N": 3, "GONE": null}, "alwaysAllow": []}
  }
}`
	claudeCode = `{"mcpServers": {
  "api": {"type": "http", "url": "${API_BASE_URL:-https://api.example.com}/mcp", "headers": {"Authorization": "Bearer ${API_KEY}"}},
  "db": {"command": "${HOME}/bin/db-server", "args": ["--config", "${CONFIG:-/etc/db.json}"], "env": {"DB_PASSWORD": "${DB_PASSWORD}"}}
}}`
	vscodeFile = `{
  // Asked for on the first start.
  "inputs": [{"type": "promptString", "id": "perplexity-key", "description": "Perplexity API Key", "password": true}],
  "servers": {
    "perplexity": {"type": "stdio", "command": "npx", "args": ["-y", "server-perplexity-ask"],
      "env": {"PERPLEXITY_API_KEY": "${input:perplexity-key}", "HEADER": "Bearer ${input:perplexity-key}"}, "envFile": "${workspaceFolder}/.env",},
    "fetch": {"command": "uvx", "args": ["mcp-server-fetch", "${workspaceFolder}/x", "${userHome}", "${env:LANG}", "${config:a.b}"], "cwd": "tools"},
    "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/"}, /* remote */
  },
}`
	proc = "# a comment\nweb: bundle exec rails s -p $PORT\n\nworker_1: env $(cat x) sidekiq\n"
)

func convert(t *testing.T, file, data string) (objects []*spec.Object, all []Workload, notes []string) {
	t.Helper()
	c, err := Parse(file, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	all, notes, err = c.Workloads(Options{Folder: Folder(file), Secrets: ".secrets"})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		docs := spec.Decode(file, w.Manifest)
		if len(docs) != 1 || docs[0].Object == nil {
			t.Fatalf("%s is no valid manifest: %+v\n%s", w.Key, docs, w.Manifest)
		}
		if docs[0].Key != w.Key {
			t.Errorf("the manifest of %s has the key %s", w.Key, docs[0].Key)
		}
		objects = append(objects, docs[0].Object)
	}
	return objects, all, notes
}

func says(t *testing.T, notes []string, text string) {
	t.Helper()
	if all := strings.Join(notes, "\n"); !strings.Contains(all, text) {
		t.Errorf("no note says %q:\n%s", text, all)
	}
}

func TestClaudeDesktop(t *testing.T) {
	objects, all, _ := convert(t, "/home/me/.config/Claude/claude_desktop_config.json", claudeDesktop)
	var names []string
	for _, o := range objects {
		names = append(names, o.Metadata.Name)
	}
	if diff := cmp.Diff([]string{"filesystem", "github", "git-hub"}, names); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"}, objects[0].Spec.Command); diff != "" {
		t.Error(diff)
	}
	for _, w := range all {
		for _, secret := range []string{"ghp_", "abc\n", "u:p@h"} {
			if strings.Contains(string(w.Manifest)+strings.Join(w.Notes, "\n"), secret) {
				t.Errorf("a secret stands in\n%s", w.Manifest)
			}
		}
		if d := string(w.Manifest); !strings.Contains(d, "mcp: {transport: stdio}") {
			t.Errorf("it is not said how it is spoken to:\n%s", d)
		}
	}
	want := []Secret{{File: ".secrets/github-GITHUB_PERSONAL_ACCESS_TOKEN", Value: "ghp_16C7e42F292c6912E7710c838347Ae178B4a"}}
	if diff := cmp.Diff(want, all[1].Secrets); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"x", "--api-key", "$(ARG_API_KEY)", "--db=$(ARG_DB)", "a$$(b)$$$"}, objects[2].Spec.Command); diff != "" {
		t.Error(diff)
	}
	if env := objects[2].Spec.Env; len(env) != 3 || env[0].Value != "3" {
		t.Errorf("environment %+v", env)
	}
	says(t, all[2].Notes, "not taken over: alwaysAllow")
}

func TestClaudeCode(t *testing.T) {
	objects, all, notes := convert(t, "/src/app/.mcp.json", claudeCode)
	says(t, notes, "api is not imported")
	o := objects[0]
	if diff := cmp.Diff([]string{"$(HOME)/bin/db-server", "--config", "$(CONFIG)"}, o.Spec.Command); diff != "" {
		t.Error(diff)
	}
	if o.Spec.WorkingDir != "/src/app" || o.Spec.Env[0].Value != "$(DB_PASSWORD)" {
		t.Errorf("directory %q, environment %+v", o.Spec.WorkingDir, o.Spec.Env)
	}
	says(t, all[0].Notes, "there are no defaults")
}

func TestVSCode(t *testing.T) {
	objects, all, notes := convert(t, "/src/app/.vscode/mcp.json", vscodeFile)
	says(t, notes, "github is not imported")
	p, f := objects[0].Spec, objects[1].Spec
	if !p.Suspend || p.WorkingDir != "/src/app" || p.EnvFrom[0].File.Path != "/src/app/.env" {
		t.Errorf("%+v", p)
	}
	says(t, all[0].Notes, "write the value of the input perplexity-key (Perplexity API Key) into .secrets/perplexity-PERPLEXITY_API_KEY")
	if e := p.Env; len(e) != 3 || e[0].ValueFrom.File.Path != ".secrets/perplexity-PERPLEXITY_API_KEY" || e[2].Value != "Bearer $(INPUT_PERPLEXITY_KEY)" {
		t.Errorf("environment %+v", e)
	}
	if diff := cmp.Diff([]string{"uvx", "mcp-server-fetch", "/src/app/x", "$(HOME)", "$(LANG)", "${config:a.b}"}, f.Command); diff != "" || f.WorkingDir != "/src/app/tools" {
		t.Errorf("%s in %s", diff, f.WorkingDir)
	}
	says(t, all[1].Notes, "${config:a.b} cannot be translated")
}

func TestProcfile(t *testing.T) {
	objects, _, _ := convert(t, "/src/app/Procfile.dev", proc)
	web, worker := objects[0], objects[1]
	if web.Kind != spec.KindAgent || len(web.Spec.Ports) != 1 || web.Spec.WorkingDir != "/src/app" {
		t.Errorf("%+v", web)
	}
	if worker.Metadata.Name != "worker-1" || len(worker.Spec.Ports) != 0 {
		t.Errorf("%+v", worker)
	}
	if got := spec.Argv(worker, nil); got[2] != "env $(cat x) sidekiq" {
		t.Errorf("the shell gets %q", got[2])
	}
}

// Names are made once each, in the order of the file.
func TestNames(t *testing.T) {
	objects, _, _ := convert(t, "mcp.json", `{"mcpServers": {"A b": {"command": "x"}, "a-b": {"command": "x"}, "ü": {"command": "x", "disabled": true}, "`+strings.Repeat("x", 80)+`": {"command": "x"}}}`)
	for i, want := range []string{"a-b", "a-b-2", "server", strings.Repeat("x", 60)} {
		if got := objects[i].Metadata.Name; got != want {
			t.Errorf("name %q, want %q", got, want)
		}
	}
	if !objects[2].Spec.Suspend {
		t.Error("what is disabled is not suspended")
	}
}

func TestMistakes(t *testing.T) {
	for _, tt := range []struct{ file, data, want string }{
		{"mcp.json", `{"mcpServers": {"a": {"command": 3}}}`, "line 1: a.command is not a string"},
		{"mcp.json", "{\n\"mcpServers\": {\n\"a\": {}}}", "line 3: a has neither command nor url"},
		{"mcp.json", `{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}`, "has a twice"},
		{"mcp.json", `{"mcpServers": [`, "line 1"},
		{"mcp.json", `[]`, "not an object"},
		{"settings.json", `{"a": 1}`, "its keys are a"},
		{"Procfile", "web bundle", "line 1"},
		{"empty.json", "", "line 1"},
	} {
		if _, err := Parse(tt.file, []byte(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: %v, want %q", tt.file, tt.data, err, tt.want)
		}
	}
}

func TestIsSecret(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		want        bool
	}{
		{"API_KEY", "x9", true},
		{"apiKey", "abcdef", true},
		{"GITHUB_TOKEN", "${GITHUB_TOKEN}", false},
		{"SSH_KEY", "~/.ssh/id", false},
		{"TOKENIZER", "cl100k", false},
		{"MONKEY", "george", false},
		{"AUTH", "true", false},
		{"MAX_TOKENS", "4096", false},
		{"A", "sk-proj-abc", true},
		{"DATABASE_URL", "postgres://user:pass@host/db", true},
		{"DATABASE_URL", "postgres://host/db", false},
		{"A", "9f86d081884c7d659a2feaa0c55ad015", true},
		{"MODEL", "claude-sonnet-4-5-20250929", false},
		{"A", "@modelcontextprotocol/server-everything", false},
		{"SECRET", "", false},
	} {
		if got := isSecret(tt.name, tt.value); got != tt.want {
			t.Errorf("isSecret(%q, %q) = %v", tt.name, tt.value, got)
		}
	}
}
