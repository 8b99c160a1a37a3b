//go:build unix

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/edit"
)

func agent(name string, more ...string) string {
	return "apiVersion: proc-controller.dev/v1alpha1\nkind: Agent\nmetadata: {name: " + name + "}\nspec:\n  command: [x]\n" + strings.Join(more, "")
}

func key(name string) spec.Key { return spec.Key{Kind: spec.KindAgent, Name: name} }

func document(t testing.TB, text string) *edit.Document {
	t.Helper()
	docs := edit.Read("given.yaml", []byte(text))
	if len(docs) != 1 || docs[0].Object == nil {
		t.Fatalf("%q: %v", text, docs[0].Findings)
	}
	return &docs[0]
}

// directory makes one with these files.
func directory(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// holds compares the whole directory, so that nothing else may be left in it.
func holds(t testing.TB, dir string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(data)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the directory (-want +got):\n%s", diff)
	}
}

// put puts documents in, as one change.
func put(t testing.TB, dir string, texts ...string) error {
	t.Helper()
	return Change(t.Context(), dir, func(c *Content) error {
		for _, text := range texts {
			if _, _, err := c.Put(document(t, text)); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestPutAndRemove(t *testing.T) {
	dir := directory(t, map[string]string{"many.yaml": "# 1\n" + agent("a") + "---\n# 2\n" + agent("b"), "agent-d.yaml": agent("e")})
	if err := put(t, dir, agent("b", "  replicas: 2\n"), agent("c"), agent("d")); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{
		"many.yaml":    "# 1\n" + agent("a") + "---\n" + agent("b", "  replicas: 2\n"),
		"agent-c.yaml": agent("c"),
		"agent-d.yaml": agent("e") + "---\n" + agent("d"),
	})
	err := Change(t.Context(), dir, func(c *Content) error {
		for _, name := range []string{"a", "c", "d", "nobody"} {
			if found, err := c.Remove(key(name)); err != nil || found == (name == "nobody") {
				return fmt.Errorf("%s: found %v, %w", name, found, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"many.yaml": "---\n" + agent("b", "  replicas: 2\n"), "agent-d.yaml": agent("e")})
}

// A file that is removed and written anew in one change is there with the new
// content.
func TestRemoveAndPut(t *testing.T) {
	dir := directory(t, map[string]string{"agent-a.yaml": "# old\n" + agent("a")})
	err := Change(t.Context(), dir, func(c *Content) error {
		if _, err := c.Remove(key("a")); err != nil {
			return err
		}
		_, _, err := c.Put(document(t, agent("a", "  replicas: 2\n")))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"agent-a.yaml": agent("a", "  replicas: 2\n")})
}

func TestNothingIsWrittenAfterAnError(t *testing.T) {
	files := map[string]string{"a.yaml": agent("a"), "b.yaml": agent("b")}
	dir := directory(t, files)
	failure := errors.New("no")
	err := Change(t.Context(), dir, func(c *Content) error {
		if _, err := c.Remove(key("a")); err != nil {
			return err
		}
		if _, _, err := c.Set(key("b"), []string{"spec", "suspend"}, true); err != nil {
			return err
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("error = %v", err)
	}
	holds(t, dir, files)
}

// TestManyAtOnce: whoever changes a directory at the same time as others loses
// nothing of theirs, in one file and in files of their own.
func TestManyAtOnce(t *testing.T) {
	const n = 12
	dir := directory(t, map[string]string{"shared.yaml": agent("shared")})
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() {
			errs[i] = Change(t.Context(), dir, func(c *Content) error {
				_, d, err := c.Where(key("shared"))
				if err != nil {
					return err
				}
				args := append(append([]string{}, d.Object.Spec.Args...), fmt.Sprint(i))
				if _, _, err := c.Put(document(t, agent("shared", "  args: ['"+strings.Join(args, "', '")+"']\n"))); err != nil {
					return err
				}
				_, _, err = c.Put(document(t, agent(fmt.Sprintf("own-%d", i))))
				return err
			})
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, d, err := c.Where(key("shared"))
	if err != nil || len(d.Object.Spec.Args) != n {
		t.Errorf("%v; args = %q, want %d", err, d.Object.Spec.Args, n)
	}
	if got := len(c.Keys()); got != n+1 {
		t.Errorf("%d objects, want %d", got, n+1)
	}
	if _, err := os.Lstat(filepath.Join(dir, lockName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock file is left: %v", err)
	}
}

func TestModeAndLinksAreKept(t *testing.T) {
	dir := directory(t, nil)
	sub, outside := filepath.Join(dir, "sub"), filepath.Join(t.TempDir(), "outside.yaml")
	for _, err := range []error{
		os.Mkdir(sub, 0o755),
		os.WriteFile(filepath.Join(sub, "real.yaml"), []byte(agent("a")), 0o640),
		os.Symlink("sub/real.yaml", filepath.Join(dir, "a.yaml")),
		os.WriteFile(outside, []byte(agent("b")), 0o644),
		os.Symlink(outside, filepath.Join(dir, "b.yaml")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := put(t, dir, agent("a", "  replicas: 2\n")); err != nil {
		t.Fatal(err)
	}
	if link, err := os.Readlink(filepath.Join(dir, "a.yaml")); err != nil || link != "sub/real.yaml" {
		t.Errorf("the link leads to %q, %v", link, err)
	}
	if fi, err := os.Stat(filepath.Join(sub, "real.yaml")); err != nil || fi.Mode() != 0o640 {
		t.Errorf("mode = %v, %v; want 0640", fi.Mode(), err)
	}
	holds(t, sub, map[string]string{"real.yaml": agent("a", "  replicas: 2\n")})

	err := put(t, dir, agent("c"), agent("b", "  replicas: 2\n"))
	if err == nil || !strings.Contains(err.Error(), "it is a link to "+outside) {
		t.Errorf("error = %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "agent-c.yaml")); err == nil {
		t.Error("one file was written although the other cannot be")
	}
}

// What is read-only is not written over, though it could be replaced.
func TestReadOnlyFilesAreKept(t *testing.T) {
	files := map[string]string{"a.yaml": agent("a"), "b.yaml": agent("b")}
	dir := directory(t, files)
	path := filepath.Join(dir, "b.yaml")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	err := put(t, dir, agent("a", "  replicas: 2\n"), agent("b", "  replicas: 2\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "cannot write "+path+": it is read-only") || !strings.HasSuffix(err.Error(), "chmod u+w "+path) {
		t.Errorf("error = %v", err)
	}
	holds(t, dir, files)
}

func TestLinkedDirectory(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": agent("a")})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := put(t, link, agent("a", "  replicas: 2\n"), agent("b")); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"a.yaml": agent("a", "  replicas: 2\n"), "agent-b.yaml": agent("b")})
}

// TestEditorInBetween: what somebody saves without the lock is not overwritten.
func TestEditorInBetween(t *testing.T) {
	dir := directory(t, map[string]string{"a.yaml": agent("a")})
	saved := "# by an editor\n" + agent("a")
	err := Change(t.Context(), dir, func(c *Content) error {
		if _, _, err := c.Put(document(t, agent("a", "  replicas: 2\n"))); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(saved), 0o644)
	})
	if err == nil || !strings.Contains(err.Error(), "somebody else is changing it") {
		t.Errorf("error = %v", err)
	}
	holds(t, dir, map[string]string{"a.yaml": saved})
}

func TestWhatCannotBeTold(t *testing.T) {
	dir := directory(t, map[string]string{
		"broken.yaml": "kind: [\n# maybe a\n", "twin1.yaml": agent("t"), "twin2.yaml": agent("t"), "big.yaml": strings.Repeat("# b\n", spec.MaxFileSize/4+1),
	})
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Unclear(key("a")); err == nil || !strings.Contains(err.Error(), "broken.yaml:1:7 holds Agent/a") {
		t.Errorf("error = %v", err)
	}
	if err := c.Unclear(key("b")); err == nil || !strings.Contains(err.Error(), "big.yaml") {
		t.Errorf("error = %v", err)
	}
	if err := c.Unclear(key("other")); err != nil {
		t.Errorf("error = %v", err)
	}
	if _, _, err := c.Where(key("t")); err == nil || !strings.Contains(err.Error(), "twin1.yaml:1 and in ") {
		t.Errorf("error = %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "broken.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling.yaml")); err != nil {
		t.Fatal(err)
	}
	if c, err = Load(dir); err != nil {
		t.Fatal(err)
	}
	if err := c.Unclear(key("a")); err == nil || !strings.Contains(err.Error(), "dangling.yaml") {
		t.Errorf("error = %v", err)
	}
}

func TestNoDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	_, err1 := Load(dir)
	err2 := Change(t.Context(), dir, func(*Content) error { return nil })
	for _, err := range []error{err1, err2} {
		if err == nil || err.Error() != "the manifest directory "+dir+" does not exist: mkdir -p "+dir {
			t.Errorf("error = %v", err)
		}
	}
}

func TestWorkTree(t *testing.T) {
	top, outside := t.TempDir(), t.TempDir()
	dir := filepath.Join(top, "x", "y")
	link := filepath.Join(outside, "link")
	for _, err := range []error{os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(top, ".git"), nil, 0o644), os.Symlink(dir, link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := WorkTree(dir); got != top {
		t.Errorf("%q, want %q", got, top)
	}
	if got := WorkTree(link); got != resolved(top) {
		t.Errorf("through a link: %q, want %q", got, resolved(top))
	}
	if got := WorkTree(outside); got != "" {
		t.Errorf("outside: %q", got)
	}
}
