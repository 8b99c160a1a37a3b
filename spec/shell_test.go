package spec

import "testing"

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"/a/b-c_d.e": "/a/b-c_d.e", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "~": "'~'", "": "''", "ä": "'ä'",
	} {
		if got := ShellWord(word); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}
