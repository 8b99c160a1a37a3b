package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

const module = "github.com/proc-controller/proc-controller"

// rooms gives for each room the rooms that it may import. A directory belongs
// to the room with the longest path that it lies in; a room may always import
// itself. Where a new room is wanted, add it here and say why in
// docs/decisions.
var rooms = map[string][]string{
	"spec":                {},
	"spec/edit":           {"spec"},
	"spec/source":         {"spec"},
	"spec/reference":      {"spec"},
	"spec/clients":        {"spec"},
	"spec/store":          {"spec", "spec/edit", "spec/source"},
	"observe":             {"spec"},
	"observe/probe":       {"spec", "observe", "mcp/rpc"},
	"actuate":             {"spec", "observe", "mcp/rpc", "bearer", "loopback"},
	"mcp/rpc":             {},
	"bearer":              {"spec"},
	"loopback":            {},
	"controller":          {"spec", "observe"},
	"controller/api":      {"spec", "observe", "controller", "bearer", "loopback"},
	"controller/metrics":  {"spec", "observe", "controller"},
	"cmd/proc-controller": {"bearer", "spec", "spec/clients", "spec/edit", "spec/reference", "spec/source", "spec/store", "observe", "observe/probe", "actuate", "controller", "controller/api", "controller/metrics"},
	"examples":            {},
	"e2e":                 {}, // drives the binary and its files, as a user would
	"hack":                {},
	"hack/bench":          {"spec", "observe"}, // measures the scan itself
}

// impure are the imports that reach outside, each with what it would let in.
var impure = map[string]string{
	"os":                           "files, environment, processes",
	"os/exec":                      "processes",
	"net":                          "sockets",
	"syscall":                      "the kernel",
	"golang.org/x/sys/unix":        "the kernel",
	"github.com/fsnotify/fsnotify": "file events",
}

// pure are the rooms that take what they need as arguments, so that what they
// decide can be tested as data.
var pure = []string{"spec", "spec/clients", "spec/edit", "spec/reference", "controller", "mcp/rpc", "loopback"}

// vague are names that say nothing of what is inside.
var vague = regexp.MustCompile(`^(utils?|common|helpers?|misc|managers?|shared|base|lib)$`)

// file is one Go source file of the project.
type file struct {
	path string // below the module root, with slashes
	ast  *ast.File
}

func (f *file) dir() string  { return path.Dir(f.path) }
func (f *file) test() bool   { return strings.HasSuffix(f.path, "_test.go") }
func (f *file) room() string { return roomOf(f.dir()) }

// imports gives the import paths of the file.
func (f *file) imports() []string {
	var paths []string
	for _, i := range f.ast.Imports {
		paths = append(paths, strings.Trim(i.Path.Value, `"`))
	}
	return paths
}

// roomOf gives the room that a directory lies in, or "".
func roomOf(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, ok := rooms[dir]; ok {
			return dir
		}
	}
	return ""
}

// direction: a room imports only the rooms that the table allows. Tests of a
// room may look further, but e2e may not.
func direction(f *file) (complaints []string) {
	room := f.room()
	if room == "" {
		return []string{"lies in no room: see the table in hack/archtest"}
	}
	if f.test() && room != "e2e" {
		return nil
	}
	for _, p := range f.imports() {
		to, ours := strings.CutPrefix(p, module+"/")
		if !ours {
			continue
		}
		if other := roomOf(to); other != room && !slices.Contains(rooms[room], other) {
			complaints = append(complaints, fmt.Sprintf("%s may not import %s", room, to))
		}
	}
	return complaints
}

// purity: the pure rooms reach for nothing outside.
func purity(f *file) (complaints []string) {
	if f.test() || !slices.Contains(pure, f.room()) {
		return nil
	}
	for _, p := range f.imports() {
		if lets, ok := impure[p]; ok {
			complaints = append(complaints, fmt.Sprintf("%s is pure and may not import %s: it lets in %s", f.room(), p, lets))
		}
	}
	return complaints
}

// noTestCode: what is only for tests is not in the product.
func noTestCode(f *file) (complaints []string) {
	if f.test() || f.room() == "hack" {
		return nil
	}
	for _, p := range f.imports() {
		if p == "testing" || strings.HasPrefix(p, "testing/") || p == "github.com/google/go-cmp/cmp" {
			complaints = append(complaints, "imports "+p+": test code in a production file")
		}
	}
	return complaints
}

// naming: no file and no package has a name that says nothing.
func naming(f *file) (complaints []string) {
	stem, _, _ := strings.Cut(strings.TrimSuffix(path.Base(f.path), ".go"), "_")
	for _, name := range []string{stem, path.Base(f.dir()), strings.TrimSuffix(f.ast.Name.Name, "_test")} {
		if vague.MatchString(name) {
			complaints = append(complaints, fmt.Sprintf("the name %q says nothing of what is inside", name))
		}
	}
	return complaints
}

// noSleep: a test waits for a condition, never for a time.
func noSleep(f *file) (complaints []string) {
	if !f.test() {
		return nil
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && sel.Sel.Name == "Sleep" {
			complaints = append(complaints, "calls time.Sleep: wait for the condition instead")
		}
		return true
	})
	return complaints
}

// thinMain: the main function of a command only hands over. What it would
// decide belongs where a test can call it.
func thinMain(f *file) (complaints []string) {
	if f.test() || f.ast.Name.Name != "main" || !strings.HasPrefix(f.path, "cmd/") {
		return nil
	}
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Name.Name == "main" && fn.Recv == nil && statements(fn.Body) > 3 {
			complaints = append(complaints, fmt.Sprintf("main has %d statements: at most 3, the rest where a test can call it", statements(fn.Body)))
		}
	}
	return complaints
}

// statements counts the statements of a body, nested ones included.
func statements(body *ast.BlockStmt) (n int) {
	ast.Inspect(body, func(x ast.Node) bool {
		if _, block := x.(*ast.BlockStmt); block {
			return true
		}
		if _, ok := x.(ast.Stmt); ok {
			n++
		}
		return true
	})
	return n
}

// documented: every package has its comment in doc.go and nowhere else. A
// command that is a single file may carry it there.
func documented(files []*file) (complaints []string) {
	dirs := map[string][]*file{}
	for _, f := range files {
		if !f.test() {
			dirs[f.dir()] = append(dirs[f.dir()], f)
		} else if dirs[f.dir()] == nil {
			dirs[f.dir()] = []*file{}
		}
	}
	for dir, in := range dirs {
		if len(in) == 1 && in[0].ast.Name.Name == "main" && in[0].ast.Doc != nil {
			continue
		}
		has := false
		for _, f := range in {
			switch doc := path.Base(f.path) == "doc.go"; {
			case doc && f.ast.Doc != nil:
				has = true
			case !doc && f.ast.Doc != nil:
				complaints = append(complaints, f.path+": has a package comment: it belongs in doc.go")
			}
		}
		if !has {
			complaints = append(complaints, dir+": has no doc.go with a package comment")
		}
	}
	slices.Sort(complaints)
	return complaints
}
