package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
)

// root is the type that a manifest is decoded into.
const root = "Object"

// source is what the files of the package declare.
type source struct {
	types map[string]*ast.TypeSpec
	about map[string]string // the comment of each type
	words map[string]string // the comment of the constants of each type
}

// collect reads the comments of everything that is reachable from the root: of a
// type by its name, of a field as Type.Field, of the values of a type of words as
// Type.values.
func collect(dir string) (map[string]string, error) {
	src, err := parse(dir)
	if err != nil {
		return nil, err
	}
	if src.types[root] == nil {
		return nil, fmt.Errorf("no type %s in %s", root, dir)
	}
	found := map[string]string{}
	src.visit(root, found)
	return found, nil
}

func parse(dir string) (*source, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	src := &source{types: map[string]*ast.TypeSpec{}, about: map[string]string{}, words: map[string]string{}}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				src.take(d)
			}
		}
	}
	return src, nil
}

func (src *source) take(d *ast.GenDecl) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			src.types[s.Name.Name] = s
			src.about[s.Name.Name] = firstParagraph(d.Doc)
		case *ast.ValueSpec:
			if t, ok := s.Type.(*ast.Ident); ok && d.Tok == token.CONST {
				src.words[t.Name] = firstParagraph(d.Doc)
			}
		}
	}
}

// visit adds the comments of a type, and of the types of its fields.
func (src *source) visit(name string, found map[string]string) {
	t := src.types[name]
	if _, done := found[name]; done || t == nil {
		return
	}
	st, ok := t.Type.(*ast.StructType)
	if !ok {
		if src.words[name] != "" {
			found[name+".values"] = src.words[name]
		}
		return
	}
	names := jsonNames(st)
	// The first word is the name of the type.
	first, rest, _ := strings.Cut(src.about[name], " ")
	found[name] = first + " " + src.rename(rest, names)
	for _, f := range st.Fields.List {
		for _, id := range f.Names {
			found[name+"."+id.Name] = src.rename(firstParagraph(f.Doc), names)
		}
		src.visit(elementName(f.Type), found)
	}
}

// rename gives the fields that a comment speaks of the names that they have in a
// manifest: those of the same type by any name, those of others where the name
// cannot be taken for a word.
func (src *source) rename(text string, own map[string]string) string {
	words := strings.Split(text, " ")
	for i, w := range words {
		name, _, _ := strings.Cut(strings.TrimRight(w, ".,:;"), "^")
		if json, ok := own[name]; ok {
			words[i] = json + w[len(name):]
		} else if strings.ContainsAny(strings.TrimLeft(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			words[i] = src.anyField(name) + w[len(name):]
		}
	}
	return strings.Join(words, " ")
}

// anyField is the name in a manifest of a field of any type, or the word itself.
func (src *source) anyField(name string) string {
	for _, t := range src.types {
		if st, ok := t.Type.(*ast.StructType); ok {
			if json := jsonNames(st)[name]; json != "" {
				return json
			}
		}
	}
	return name
}

// jsonNames are the names of the fields of a struct in a manifest, by those in Go.
func jsonNames(st *ast.StructType) map[string]string {
	names := map[string]string{}
	for _, f := range st.Fields.List {
		if f.Tag == nil {
			continue
		}
		json, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		for _, id := range f.Names {
			names[id.Name] = json
		}
	}
	return names
}

// elementName is the name of the type that a field has one or several of.
func elementName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return elementName(t.X)
	case *ast.ArrayType:
		return elementName(t.Elt)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// firstParagraph is what users are told, on one line.
func firstParagraph(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	first, _, _ := strings.Cut(doc.Text(), "\n\n")
	return strings.Join(strings.Fields(first), " ")
}
