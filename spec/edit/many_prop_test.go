package edit

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/proc-controller/proc-controller/spec"
)

// TestManyEdits: many changes of one file, decoded as a whole once, give what they
// give one after the other, each decoded as a whole.
func TestManyEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, _ := drawFile(t)
		data := []byte(text)
		f := Open("m.yaml", data)
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			name := rapid.SampledFrom([]string{"a", "n0", "n1", "n2", "n3"}).Draw(t, "name")
			change, what := drawChange(t, name)
			before := data
			after, err := once("m.yaml", before, change)
			if errMany := change(f); err == nil && errMany != nil {
				t.Fatalf("%s alone is made, and among others not: %v\n%q", what, errMany, before)
			} else if err == nil {
				data = after
			} else if errMany == nil {
				if result, err := f.Result(); err == nil {
					t.Fatalf("%s alone is refused, and among others not\n%q\n%q", what, before, result)
				}
				return
			}
			if result, err := f.Result(); err != nil || !bytes.Equal(result, data) {
				t.Fatalf("%s of\n%q gives %v\n%q alone\n%q", what, before, err, result, data)
			}
		}
	})
}

// drawChange gives a change of the document with a name.
func drawChange(t *rapid.T, name string) (change func(*File) error, what string) {
	key := spec.Key{Kind: spec.KindAgent, Name: name}
	text := rapid.SampledFrom(befores).Draw(t, "comments") +
		"apiVersion: proc-controller.dev/v1alpha1\nkind: Agent\nmetadata: {name: " + name + "}\n" +
		rapid.SampledFrom(specs).Draw(t, "spec")
	d := Read("new.yaml", []byte(text))[0]
	what = rapid.SampledFrom([]string{"set", "reset", "replace", "append", "remove"}).Draw(t, "change")
	change = func(f *File) (err error) {
		switch what {
		case "set":
			_, err = f.Set(key, suspendPath, true)
		case "reset":
			_, err = f.Reset(key, suspendPath, false)
		case "replace":
			_, err = f.Replace(&d)
		case "append":
			err = f.Append(&d)
		case "remove":
			err = f.Remove(key)
		}
		return err
	}
	return change, what + " " + name
}

// A change that is refused leaves the others as they are.
func TestRefusedAmongOthers(t *testing.T) {
	f := Open("m.yaml", []byte(doc("a")+"---\n"+doc("b", "  args:\n  - |\n    x")))
	if _, err := f.Set(agentA, suspendPath, true); err != nil {
		t.Fatal(err)
	}
	d := given(t, "new.yaml", doc("c"))
	if err := f.Append(&d); err == nil {
		t.Error("the text that the last line is in would change, and nothing is said")
	}
	if err := f.Remove(spec.Key{Kind: spec.KindAgent, Name: "c"}); err == nil {
		t.Error("what is not there is removed")
	}
	want := strings.Replace(doc("a"), "spec:\n", "spec:\n  suspend: true\n", 1) + "---\n" + doc("b", "  args:\n  - |\n    x")
	if got, err := f.Result(); err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// What is right document by document and wrong as a whole is not handed out.
func TestWholeFileIsVerified(t *testing.T) {
	f := Open("m.yaml", []byte(doc("a")))
	for range 2 {
		d := given(t, "new.yaml", doc("b"))
		if err := f.Append(&d); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := f.Result(); err == nil {
		t.Errorf("two of one name are handed out:\n%s", got)
	}
	f = New("m.yaml")
	for i := range 3 {
		d := given(t, "new.yaml", doc(fmt.Sprintf("x%d", i))+"# "+strings.Repeat("x", spec.MaxFileSize/2)+"\n")
		if err := f.Append(&d); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Result(); err == nil || !strings.Contains(err.Error(), "cannot change m.yaml: the file is larger than 1 MiB") {
		t.Errorf("error = %v, want that it is too large", err)
	}
}
