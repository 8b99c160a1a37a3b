package edit

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/spec"
)

// doc is a small document with that name.
func doc(name string, more ...string) string {
	return "apiVersion: proc-controller.dev/v1alpha1\nkind: Agent\nmetadata: {name: " + name + "}\nspec:\n  command: [x]\n" + strings.Join(more, "")
}

// given is a document as somebody hands it in.
func given(t *testing.T, file, text string) Document {
	t.Helper()
	docs := Read(file, []byte(text))
	if len(docs) != 1 || docs[0].Object == nil {
		t.Fatalf("%q has %d documents, %v", text, len(docs), docs[0].Findings)
	}
	return docs[0]
}

func TestReplace(t *testing.T) {
	newA := doc("a", "  replicas: 2 # two\n")
	tests := []struct{ name, before, given, after string }{
		{"the only one", doc("a"), newA, newA},
		{"comments come with it", "# old\n" + doc("a") + "# old end\n", "# new\n" + newA + "# new end\n", "# new\n" + newA + "# new end\n"},
		{"the first", "# 1\n" + doc("a") + "\n---\n# b\n" + doc("b"), newA, newA + "\n---\n# b\n" + doc("b")},
		{"one between", doc("b") + "# b\n--- # a\n" + doc("a") + "...\n---\n" + doc("c"), "---\n" + newA, doc("b") + "# b\n---\n" + newA + "...\n---\n" + doc("c")},
		{"the last, without a line end", doc("b") + "---\n" + strings.TrimSpace(doc("a")), strings.TrimSpace(newA), doc("b") + "---\n" + newA},
		{"what was broken", doc("a", "  comand: [y]\n") + "---\n" + doc("b"), newA, newA + "---\n" + doc("b")},
		{"a comment before the first", "# about a\n---\n" + doc("a"), "# more about a\n---\n" + newA, "# more about a\n" + newA},
		{"a comment on the divider", "--- # old\n" + doc("a"), "--- # new\n" + newA, "---\n# new\n" + newA},
		{"a directive before the first", "%YAML 1.2\n---\n" + doc("a"), newA, "%YAML 1.2\n---\n" + newA},
		{"an anchor of its own", doc("a") + "---\n" + doc("b"), doc("a", "  env: [{name: A, value: &v 'x'}, {name: B, value: *v}]\n"), doc("a", "  env: [{name: A, value: &v 'x'}, {name: B, value: *v}]\n") + "---\n" + doc("b")},
		{"braces behind the divider", doc("b") + "--- {apiVersion: proc-controller.dev/v1alpha1, kind: Agent, metadata: {name: a}, spec: {command: [y]}}\n", newA, doc("b") + "---\n" + newA},
		{"Windows lines stay", dos("# 1\n" + doc("b") + "---\n" + doc("a")), newA, dos("# 1\n" + doc("b") + "---\n" + newA)},
		{"Windows lines go", doc("b") + "---\n" + doc("a"), dos(newA), doc("b") + "---\n" + newA},
		{"blank lines of a block text", doc("a") + "---\n" + doc("b"), doc("a", "  args:\n  - |+\n    x\n\n\n"), doc("a", "  args:\n  - |+\n    x\n\n\n") + "---\n" + doc("b")},
		{"a byte order mark", "\xef\xbb\xbf# 1\n---\n" + doc("a"), newA, "\xef\xbb\xbf" + newA},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := given(t, "new.yaml", tt.given)
			after, err := Replace("m.yaml", []byte(tt.before), d)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, string(after)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if changed, err := Open("m.yaml", after).Replace(&d); changed || err != nil {
				t.Errorf("%v: the same text is not taken for that", err)
			}
			again, err := Replace("m.yaml", after, d)
			if err != nil || string(again) != string(after) {
				t.Errorf("a second time: %v\n%s", err, again)
			}
		})
	}
}

func dos(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

// JSON and YAML turn into one another where the file demands it.
func TestReplaceInAnotherForm(t *testing.T) {
	asJSON := "{\n  \"apiVersion\": \"proc-controller.dev/v1alpha1\",\n  \"kind\": \"Agent\",\n  \"metadata\": {\n    \"name\": \"a\"\n  },\n  \"spec\": {\n    \"command\": [\n      \"x\"\n    ]\n  }\n}\n"
	old := strings.Replace(asJSON, `"x"`, `"y"`, 1)
	got, err := Replace("m.json", []byte(old), given(t, "new.yaml", "# lost\n"+doc("a")))
	if err != nil || string(got) != asJSON {
		t.Errorf("%v\n%s", err, got)
	}
	got, err = Replace("m.yaml", []byte(doc("b")+"---\n"+doc("a")), given(t, "new.json", strings.Replace(asJSON, `"x"`, `"\/\ud83d\ude00"`, 1)))
	want := doc("b") + "---\napiVersion: proc-controller.dev/v1alpha1\nkind: Agent\nmetadata:\n  name: a\nspec:\n  command:\n  - \"/\\U0001F600\"\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	_, err = Append("m.json", []byte(old), given(t, "new.yaml", doc("b")))
	if !errors.Is(err, ErrOneObject) {
		t.Errorf("error = %v, want ErrOneObject", err)
	}
}

func TestAppend(t *testing.T) {
	tests := []struct{ name, before, after string }{
		{"nothing there", "", doc("a")},
		{"another", doc("b"), doc("b") + "---\n" + doc("a")},
		{"no line end", strings.TrimSpace(doc("b")), doc("b") + "---\n" + doc("a")},
		{"an end", doc("b") + "...\n", doc("b") + "...\n---\n" + doc("a")},
		{"Windows lines", dos(doc("b")), dos(doc("b") + "---\n" + doc("a"))},
	}
	for _, tt := range tests {
		got, err := Append("m.yaml", []byte(tt.before), given(t, "new.yaml", "---\n"+doc("a")+"\n\n"))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if diff := cmp.Diff(tt.after, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	// A line end would become part of the text.
	_, err := Append("m.yaml", []byte(doc("b", "  args:\n  - |\n    x")), given(t, "new.yaml", doc("a")))
	if !errors.Is(err, errLineEnd) {
		t.Errorf("error = %v, want that the last line has no end", err)
	}
	d := Read("new.yaml", []byte(doc("a", "  args:\n  - |\n    x")))[0]
	if _, err := Append("m.yaml", nil, d); !errors.Is(err, errLineEnd) {
		t.Errorf("error = %v, want that the last line has no end", err)
	}
}

func TestRemove(t *testing.T) {
	tests := []struct{ name, before, after string }{
		{"the first", "# a\n" + doc("a") + "---\n# b\n" + doc("b"), "---\n# b\n" + doc("b")},
		{"one between", doc("b") + "---\n# a\n" + doc("a") + "# a\n---\n" + doc("c"), doc("b") + "---\n" + doc("c")},
		{"the last", doc("b") + "# b\n---\n" + doc("a"), doc("b") + "# b\n"},
		{"with an end", doc("b") + "---\n" + doc("a") + "...\n---\n" + doc("c"), doc("b") + "---\n" + doc("c")},
		{"an end that divides", doc("b") + "---\n" + doc("a") + "...\n" + doc("c"), doc("b") + "...\n" + doc("c")},
		{"the first, and an end", doc("a") + "...\n" + doc("c"), doc("c")},
		{"the last, behind an end", doc("b") + "...\n" + doc("a") + "...\n", doc("b") + "...\n"},
		{"Windows lines", dos(doc("b") + "---\n" + doc("a")), dos(doc("b"))},
		{"beside a broken one", "kind: [\n---\n" + doc("a"), "kind: [\n"},
	}
	for _, tt := range tests {
		got, err := Remove("m.yaml", []byte(tt.before), agentA)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if diff := cmp.Diff(tt.after, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if got, err := Remove("m.yaml", []byte("# all about a\n"+doc("a")), agentA); got != nil || err != nil {
		t.Errorf("the only one: %q, %v; want nothing", got, err)
	}
	if _, err := Remove("m.yaml", []byte(doc("b")), spec.Key{Kind: spec.KindMCPServer, Name: "b"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("error = %v, want ErrNotFound", err)
	}
}

func TestMentions(t *testing.T) {
	d := Read("m.yaml", []byte("kind: [\nmetadata: {name: files-2, x: files}\n"))[0]
	for word, want := range map[string]bool{"files": true, "files-2": true, "file": false, "metadata": true, "2": false, "none": false} {
		if d.Mentions(word) != want {
			t.Errorf("Mentions(%q) = %v", word, !want)
		}
	}
}
