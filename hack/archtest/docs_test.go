package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testName is a test as prose names it.
var testName = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`")

// TestDocsNameTestsThatExist: what a document calls shown has to have a test of
// that name.
func TestDocsNameTestsThatExist(t *testing.T) {
	there := map[string]bool{}
	for _, f := range sources(t, "../..") {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test() && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				there[fn.Name.Name] = true
			}
		}
	}
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	named := 0
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testName.FindAllStringSubmatch(string(text), -1) {
			if named++; !there[m[1]] {
				t.Errorf("%s names %s: there is no such test", filepath.Base(doc), m[1])
			}
		}
	}
	if named == 0 {
		t.Error("no document names a test: the search is broken")
	}
}
