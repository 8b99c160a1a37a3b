package edit

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/proc-controller/proc-controller/spec"
)

// pieces are ways to write a spec and what stands around a document.
var (
	specs = []string{
		"spec:\n  command: [x]\n",
		"spec: # c\n    # about it\n    command:\n    - x # y\n    - 'a: b'\n",
		"spec: {command: [x, \"y\"]}\n",
		"spec: {\n  # c\n  command: [x],\n  replicas: 2,\n}\n",
		"spec: &s\n  command: [&x x, *x]\n  suspend: false # why\n",
		"spec:\n  suspend: true\n  command: [x]\n",
		"spec:\n  command: [x]\n  # why\n  suspend: true\n",
		"spec: {command: [x], suspend: true}\n",
		"spec:\n  command: [sh, -c]\n  args:\n  - |\n    if true; then\n      echo '---'\n    fi\n",
		"spec:\n  command: [\"\u00e9\u2028\U0001F600\"]\n  env:\n  - {name: A, value: \"--- x\"}\n  - name: B\n    value: >-\n      folded\n      text\n",
		"\"spec\": {\"suspend\": false, \"command\": [\"x\"]}\n",
	}
	brokenDocs = []string{"kind: [\n", "apiVersion: v1\nkind: Pod\n", "just text\n", head + "spec: {comand: [x]}\n", "kind: Agent\nmetadata: {name: a}\n"}
	befores    = []string{"", "# a comment\n", "\n", "#\n\n# two\n"}
	dividers   = []string{"---\n", "--- # next\n", "...\n---\n", "\n---\n\n", "# end\n---\n", "---\t\n"}
	afters     = []string{"", "\n", "# last\n", "...\n", "\n\n# x\n\n"}
)

// drawFile gives a file of several documents, of which exactly one is agent/a.
func drawFile(t *rapid.T) (string, int) {
	from := func(label string, of []string) string { return rapid.SampledFrom(of).Draw(t, label) }
	n := rapid.IntRange(1, 4).Draw(t, "documents")
	chosen := rapid.IntRange(0, n-1).Draw(t, "chosen")
	var b strings.Builder
	b.WriteString(from("before", befores))
	if rapid.Bool().Draw(t, "announced") {
		b.WriteString("---\n")
	}
	for i := range n {
		if i > 0 {
			b.WriteString(from("divider", dividers))
		}
		name := fmt.Sprintf("n%d", i)
		if i == chosen {
			name = "a"
		} else if rapid.IntRange(0, 3).Draw(t, "broken") == 0 {
			b.WriteString(strings.Replace(from("text", brokenDocs), "name: a", "name: "+name, 1))
			continue
		}
		b.WriteString(from("before", befores))
		b.WriteString("apiVersion: proc-controller.dev/v1alpha1\nkind: Agent\nmetadata:\n  name: " + name + "\n" + from("spec", specs))
	}
	b.WriteString(from("after", afters))
	text := b.String()
	if rapid.Bool().Draw(t, "no line end") {
		text = strings.TrimRight(text, "\n")
	}
	if rapid.IntRange(0, 3).Draw(t, "Windows") == 0 {
		text = dos(text)
	}
	if rapid.IntRange(0, 7).Draw(t, "mark") == 0 {
		text = "\xef\xbb\xbf" + text
	}
	return text, chosen
}

// others are the texts of all documents but one.
func others(docs []Document, without int) string {
	var b strings.Builder
	for i := range docs {
		if i != without {
			fmt.Fprintf(&b, "[%q %v]", bytes.TrimRight(docs[i].text, "\r\n"), docs[i].Key)
		}
	}
	return b.String()
}

// TestEdits makes each kind of change in files of all kinds. Each must succeed,
// have its effect and no other, and have none the second time.
func TestEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, chosen := drawFile(t)
		before := Read("m.yaml", []byte(text))
		if len(before) <= chosen || before[chosen].Key != agentA || before[chosen].Object == nil {
			t.Fatalf("the drawing is wrong:\n%s\n%+v", text, before)
		}
		rest := others(before, chosen)
		check := func(what string, result []byte, err error, want *spec.Object) []byte {
			if err != nil {
				t.Fatalf("%s: %v\n%q", what, err, text)
			}
			after := Read("m.yaml", result)
			if others(after, chosen) != rest {
				t.Fatalf("%s: other documents changed\n%q\n%q", what, text, result)
			}
			if len(after) != len(before) || !equal(after[chosen].Object, want) {
				t.Fatalf("%s: not what was wanted\n%q\n%q", what, text, result)
			}
			return result
		}

		want := *before[chosen].Object
		want.Spec.Suspend = true
		suspended, err := Set("m.yaml", []byte(text), agentA, suspendPath, true)
		check("suspend", suspended, err, &want)
		again, err := Set("m.yaml", suspended, agentA, suspendPath, true)
		if err != nil || !bytes.Equal(again, suspended) {
			t.Fatalf("suspend again: %v\n%q\n%q", err, suspended, again)
		}
		want.Spec.Suspend = false
		resumed, err := Reset("m.yaml", suspended, agentA, suspendPath, false)
		check("resume", resumed, err, &want)
		if !bytes.Contains([]byte(text), []byte("suspend")) && string(resumed) != text {
			t.Fatalf("resumed is not what it was:\n%q\n%q", text, resumed)
		}

		other, at := drawFile(t)
		d := Read("new.yaml", []byte(strings.TrimRight(other, "\r\n")+"\n"))[at]
		replaced, err := Replace("m.yaml", []byte(text), d)
		check("replace", replaced, err, d.Object)
		again, err = Replace("m.yaml", replaced, d)
		if err != nil || !bytes.Equal(again, replaced) {
			t.Fatalf("replace again: %v\n%q\n%q", err, replaced, again)
		}

		removed, err := Remove("m.yaml", []byte(text), agentA)
		switch {
		case err != nil:
			t.Fatalf("remove: %v\n%q", err, text)
		case removed == nil && len(before) > 1, removed != nil && others(Read("m.yaml", removed), -1) != rest:
			t.Fatalf("remove: other documents changed\n%q\n%q", text, removed)
		}
	})
}

// FuzzEdits: whatever the file, nothing panics, and what is handed out is what was
// asked for.
func FuzzEdits(f *testing.F) {
	for _, s := range specs {
		f.Add([]byte(head+s), "m.yaml")
	}
	for _, b := range brokenDocs {
		f.Add([]byte(head+specs[0]+"---\n"+b), "m.yaml")
	}
	f.Add([]byte(`{"apiVersion":"proc-controller.dev\/v1alpha1","kind":"Agent","metadata":{"name":"a"},"spec":{"command":["\\\/"]}}`), "m.json")
	f.Fuzz(func(t *testing.T, data []byte, file string) {
		for _, d := range Read(file, data) {
			if d.Key == (spec.Key{}) {
				continue
			}
			if out, err := Set(file, data, d.Key, suspendPath, true); err == nil {
				if got := object(file, out, d.Key); got == nil || !got.Spec.Suspend {
					t.Errorf("%q is not suspended in %q", data, out)
				}
				if back, err := Reset(file, out, d.Key, suspendPath, false); err == nil && object(file, back, d.Key).Spec.Suspend {
					t.Errorf("%q is not resumed in %q", out, back)
				}
			}
			if out, err := Remove(file, data, d.Key); err == nil && object(file, out, d.Key) != nil {
				t.Errorf("%q is still in %q", d.Key, out)
			}
			if d.Object == nil {
				continue
			}
			if out, err := Append("m.yaml", []byte(doc("other")), d); err == nil && !equal(object("m.yaml", out, d.Key), d.Object) {
				t.Errorf("%q is another in %q", data, out)
			}
		}
	})
}

// object gives the object with a key, or nil.
func object(file string, data []byte, key spec.Key) *spec.Object {
	for _, d := range spec.Decode(file, data) {
		if d.Key == key {
			return d.Object
		}
	}
	return nil
}
