package clients

import (
	"path"
	"strings"
	"testing"
)

// What is imported was written by others: no name in it leads out of the directory of
// secrets, and none has the file of another.
func TestSecretsStayInTheirDirectory(t *testing.T) {
	long := strings.Repeat("x", 300) + "_TOKEN"
	_, all, _ := convert(t, "/home/me/.cursor/mcp.json", `{"mcpServers": {
		"a": {"command": "sh", "env": {
			"../../x/API_KEY": "sk-0123456789abcdef01234567", "..__..__x__API_KEY": "sk-1123456789abcdef01234567",
			"b-API_KEY": "sk-2123456789abcdef01234567", "/TOKEN": "${input:one}", "\\TOKEN": "${input:two}", "`+long+`": "sk-3123456789abcdef01234567"}},
		"a-b": {"command": "sh", "env": {"API_KEY": "sk-4123456789abcdef01234567"}}}}`)
	files := map[string]bool{}
	for _, w := range all {
		for _, s := range w.Secrets {
			if path.Dir(s.File) != ".secrets" || strings.ContainsAny(s.File, `\`) || len(path.Base(s.File)) > 200 {
				t.Errorf("a secret is in %q", s.File)
			}
			if files[s.File] {
				t.Errorf("two secrets are in %q", s.File)
			}
			files[s.File] = true
			if !strings.Contains(string(w.Manifest), "path: "+s.File) {
				t.Errorf("the manifest does not name %s:\n%s", s.File, w.Manifest)
			}
		}
	}
	if len(files) != 7 {
		t.Errorf("%d files: %v", len(files), files)
	}
}
