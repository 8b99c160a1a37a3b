package spec

import "testing"

func TestParseKindSaysWhatIsNear(t *testing.T) {
	for word, want := range map[string]string{
		"agnt":      `unknown kind "agnt" (did you mean agent?): use agent or mcpserver`,
		"mpc":       `unknown kind "mpc" (did you mean mcp?): use agent or mcpserver`,
		"mcpservrs": `unknown kind "mcpservrs" (did you mean mcpservers?): use agent or mcpserver`,
		"pod":       `unknown kind "pod": use agent or mcpserver`,
	} {
		if _, err := ParseKind(word); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", word, err, want)
		}
	}
}
