// Command portable says whether the project compiles on other systems, tests
// included:
//
//	portable GOOS...
//
// It reads and type-checks everything from source, and of what is not ours only
// the declarations. No code is generated, which for three systems and all that the
// project depends on takes minutes; this takes seconds. Exit code 1 if it does not.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(systems []string) (code int) {
	for _, system := range systems {
		mistakes, err := check(system)
		if err != nil {
			fmt.Fprintf(os.Stderr, "portable: %v\n", err)
			return 1
		}
		for _, m := range mistakes {
			fmt.Printf("%s: %s\n", system, m)
			code = 1
		}
	}
	return code
}

// check gives what is wrong with the packages of this module on a system.
func check(system string) (mistakes []string, err error) {
	top, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedModule,
		Env:   append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
		Tests: true,
		ParseFile: func(set *token.FileSet, name string, src []byte) (*ast.File, error) {
			f, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
			if f != nil && !strings.HasPrefix(name, top+string(filepath.Separator)) {
				withoutBodies(f)
			}
			return f, err
		},
	}, "./...")
	if err != nil {
		return nil, fmt.Errorf("cannot load the packages for %s: %w", system, err)
	}
	if len(pkgs) == 0 {
		return nil, fmt.Errorf("there are no packages for %s", system)
	}
	seen := map[string]bool{}
	for _, p := range pkgs {
		if strings.HasSuffix(p.ID, ".test") {
			continue // the main function of the tests, which the go command writes
		}
		for _, e := range p.Errors {
			if text := e.Error(); !seen[text] { // a package with tests is there twice
				seen[text] = true
				mistakes = append(mistakes, text)
			}
		}
	}
	return mistakes, nil
}

// withoutBodies leaves the declarations of a file. A function whose result type is
// all that matters needs no body.
func withoutBodies(f *ast.File) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			fn.Body = nil
		}
	}
}
