//go:build linux

package e2e

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// document is one page for people.
type document struct {
	name, text string // name from the top of the project
}

// documents gives every page of the project.
func documents(t *testing.T) (all []document) {
	t.Helper()
	err := filepath.WalkDir(projectDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(projectDir, path)
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != projectDir || name == "dist" || name == "bin") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".md") {
			return nil
		}
		text, err := os.ReadFile(path)
		all = append(all, document{name, string(text)})
		return err
	})
	if err != nil || len(all) < 10 {
		t.Fatalf("found %d documents: %v", len(all), err)
	}
	return all
}

// fence is a block of code with its language.
var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// blocks gives the blocks of code in one language.
func (d document) blocks(language string) (found []string) {
	for _, m := range fence.FindAllStringSubmatch(d.text, -1) {
		if m[1] == language {
			found = append(found, m[2])
		}
	}
	return found
}

// prose is the page without its blocks of code.
func (d document) prose() string { return fence.ReplaceAllString(d.text, "") }

var (
	link    = regexp.MustCompile(`\[[^\]]+\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	unslug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the places of a page that a link can point to, named as the usual
// renderers name them.
func (d document) anchors() (all []string) {
	for _, m := range heading.FindAllStringSubmatch(d.prose(), -1) {
		all = append(all, strings.ReplaceAll(unslug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

// TestDocumentLinks: what a page links to within the project is there, down to
// the heading.
func TestDocumentLinks(t *testing.T) {
	t.Parallel()
	pages := map[string]document{}
	for _, d := range documents(t) {
		pages[d.name] = d
	}
	checked := 0
	for _, d := range pages {
		for _, m := range link.FindAllStringSubmatch(d.prose(), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue // not ours to keep
			}
			checked++
			name := d.name
			if target != "" {
				name = filepath.Join(filepath.Dir(d.name), target)
			}
			if _, err := os.Stat(filepath.Join(projectDir, name)); err != nil {
				t.Errorf("%s links to %s, which is not there", d.name, m[1])
			} else if anchor != "" && !slices.Contains(pages[name].anchors(), anchor) {
				t.Errorf("%s links to %s: %s has no such heading", d.name, m[1], name)
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d links found: the search is broken", checked)
	}
}

// TestDocumentManifests: what a page shows as manifests are valid ones, together.
func TestDocumentManifests(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, d := range documents(t) {
		var manifests []string
		for _, block := range d.blocks("yaml") {
			if strings.Contains(block, "apiVersion: proc-controller.dev/") {
				manifests = append(manifests, block)
			}
		}
		if checked += len(manifests); manifests == nil {
			continue
		}
		r := newRig(t)
		secrets := filepath.Join(r.dir, ".secrets")
		r.mkdir(secrets, 0o700)
		if err := os.WriteFile(filepath.Join(secrets, "search"), []byte("not one"), 0o600); err != nil {
			t.Fatal(err)
		}
		r.write("page.yaml", strings.Join(manifests, "---\n"))
		if res := r.run("validate"); res.code != 0 {
			t.Errorf("%s: %s%s", d.name, res.stdout, res.stderr)
		}
	}
	if checked < 8 {
		t.Errorf("only %d manifests found: the search is broken", checked)
	}
}

// invocation is how a page calls the program, after the prompt.
var invocation = regexp.MustCompile(`^\$ (?:\S+/)?(?:proc-controller|pc) (.*)$`)

// TestDocumentCommands: each command line that a page shows has a verb and flags
// that there are. It is asked for its help in place of doing it.
func TestDocumentCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	checked := map[string]bool{}
	for _, d := range documents(t) {
		for _, block := range d.blocks("console") {
			for line := range strings.Lines(block) {
				m := invocation.FindStringSubmatch(strings.TrimRight(line, "\n"))
				if m == nil || checked[m[1]] {
					continue
				}
				checked[m[1]] = true
				words := shellWords(t, m[1])
				res := r.exec(slices.Insert(slices.Clone(words), 1, "--help")...)
				if res.code != 0 || !strings.Contains(res.stdout, "proc-controller "+words[0]) {
					t.Errorf("%s: %s: exit code %d: %s", d.name, m[1], res.code, res.stderr)
				}
			}
		}
	}
	if len(checked) < 20 {
		t.Errorf("only %d commands found: the search is broken", len(checked))
	}
}

// shellWords has a shell take a line apart, up to a pipe or a comment. What would
// make it run something is refused.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	line, _, _ = strings.Cut(line, " | ")
	line, _, _ = strings.Cut(line, " #")
	line = strings.ReplaceAll(line, "$(pgrep -n node)", "1")
	if strings.ContainsAny(line, ";&|<>`") {
		t.Fatalf("a command of a document does more than call the program: %s", line)
	}
	out, err := exec.Command("sh", "-c", `printf '%s\0' `+line).Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
}
