package spec

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
)

// Document is what one document of a manifest file turned out to be: an
// object, a broken one, or one that is none of our business.
type Document struct {
	File string
	// Line is where its content starts, from 1.
	Line int
	// Key is the key of the object, as far as kind and name could be read even
	// if other things are wrong; else zero.
	Key Key
	// Object is the workload with its defaults filled in. It is nil where the
	// document is broken or skipped.
	Object *Object
	// Findings are everything that is wrong, by line and column. Where Object
	// is set there are none.
	Findings []Finding
	// Skipped says that the object is of another API group. Findings then has
	// one notice, of ReasonOtherGroup.
	Skipped bool
}

// Broken says that the document should be a workload and is not a valid one.
func (d *Document) Broken() bool { return d.Object == nil && !d.Skipped }

// byteOrderMark is what some editors begin a file with.
var byteOrderMark = []byte("\xef\xbb\xbf")

// Decode reads a manifest file: YAML, or JSON, which is YAML. There is one
// Document for each document of the file, and at least one; what is wrong with
// one does not touch the others. What is wrong with the file as a whole (too
// large, binary, empty) is one Document without a key.
//
// It may be called from many goroutines and keeps nothing of data.
func Decode(file string, data []byte) []Document {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if f, bad := unfit(file, data); bad {
		return wholeFile(f)
	}
	if strings.HasSuffix(file, ".json") {
		data = jsonToYAML(data)
	}
	chunks := split(data)
	switch {
	case len(chunks) == 0:
		return wholeFile(Finding{file, 1, 1, ReasonInvalid, "the file holds no object: write one, or remove the file"})
	case len(chunks) > maxDocuments:
		return wholeFile(Finding{file, 1, 1, ReasonInvalid, fmt.Sprintf("the file holds more than %d documents: split it", maxDocuments)})
	}
	docs := make([]Document, len(chunks))
	onAllCores(len(chunks), func(i int) { docs[i] = decodeChunk(file, chunks[i]) })
	rejectTwins(docs)
	return docs
}

// wholeFile is the answer where something is wrong with a file as a whole.
func wholeFile(f Finding) []Document {
	return []Document{{File: f.File, Line: max(f.Line, 1), Findings: []Finding{f}}}
}

// onAllCores calls do for 0 to n-1. A large file is shared out, since at a
// cold start all workloads may stand in one.
func onAllCores(n int, do func(int)) {
	const worthwhile = 32
	if n < worthwhile {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}

func decodeChunk(file string, c chunk) Document {
	d := Document{File: file, Line: c.before + 1}
	root, err := parseYAML(c.data)
	if err != nil {
		line, column, message := explainSyntax(c.data, err)
		d.Findings = []Finding{{file, c.before + line, column, ReasonInvalid, message}}
		return d
	}
	w := walker{file: file, before: c.before}
	switch {
	case root == nil:
		w.findings = []Finding{{file, d.Line, 1, ReasonInvalid, "empty document: remove the --- before it, or write an object"}}
	case root.Kind != yaml.MappingNode:
		w.fail(root, "a manifest is a mapping that begins with apiVersion, kind and metadata, not "+describe(root))
	default:
		d.Line = c.before + root.Line
		if other := otherGroup(root); other != "" {
			w.fail(root, other+" is of another API group: skipped")
			w.findings[0].Reason = ReasonOtherGroup
			d.Skipped = true
			break
		}
		d.Object = w.decode(root)
		d.Key = d.Object.readableKey()
	}
	if len(w.findings) > 0 {
		d.Object = nil
		slices.SortStableFunc(w.findings, func(a, b Finding) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		if w.unsaid > 0 {
			last := w.findings[len(w.findings)-1]
			last.Message = fmt.Sprintf("and %d more findings in this object", w.unsaid)
			w.findings = append(w.findings, last)
		}
		d.Findings = w.findings
	}
	return d
}

// decode turns the nodes into JSON, the JSON into an object, and validates it.
// The object is as complete as the findings allow.
func (w *walker) decode(root *yaml.Node) *Object {
	w.out = make([]byte, 0, 1024)
	w.value(root, objectSchema())
	o := defaultObject()
	strict, err := kjson.UnmarshalStrict(w.out, o)
	if err != nil {
		strict = append(strict, err)
	}
	if len(w.findings) == 0 && len(strict) > 0 {
		// The walk should have found it first; the strict decoder has the
		// last word all the same.
		for _, err := range strict {
			w.fail(root, err.Error())
		}
	}
	o.normalize()
	if w.unsaid == 0 {
		w.report(root, problemsOf(o))
	}
	return o
}

// report turns problems into findings, at the place of their field. A problem
// with a value that was found wrong before is a mere consequence of that.
func (w *walker) report(root *yaml.Node, problems []problem) {
	for _, p := range problems {
		if !slices.ContainsFunc(w.dropped, p.followsFrom) {
			w.fail(locate(root, p.path), p.path.String()+": "+p.message)
		}
	}
}

// followsFrom says that the problem is a consequence of a value that was left
// out.
func (p *problem) followsFrom(dropped fieldPath) bool {
	return p.path.within(dropped) || slices.ContainsFunc(p.from, func(f fieldPath) bool {
		return f.within(dropped) || dropped.within(f)
	})
}

// readableKey is the key, or zero where it is not valid.
func (o *Object) readableKey() Key {
	if (o.Kind != KindAgent && o.Kind != KindMCPServer) || checkDNSLabel(o.Metadata.Name) != "" {
		return Key{}
	}
	return o.Key()
}

// otherGroup names an object of another API group, as in "apps/v1 Deployment".
// It gives "" for ours, and for what looks like a mistyped one of ours.
func otherGroup(root *yaml.Node) string {
	v := lookup(root, "apiVersion")
	if v == nil || v.Kind != yaml.ScalarNode || v.Value == "" {
		return ""
	}
	group, _, _ := strings.Cut(v.Value, "/")
	if group == Version || nearest(group, []string{Group}) != "" {
		return ""
	}
	name := v.Value
	if k := lookup(root, "kind"); k != nil && k.Kind == yaml.ScalarNode {
		name += " " + k.Value
	}
	return name
}

// rejectTwins makes broken every document whose key another one has too: which
// of them is meant cannot be told.
func rejectTwins(docs []Document) {
	if len(docs) < 2 {
		return
	}
	first := make(map[Key]int, len(docs))
	for i := range docs {
		d := &docs[i]
		if d.Key == (Key{}) {
			continue
		}
		j, twin := first[d.Key]
		if !twin {
			first[d.Key] = i
			continue
		}
		d.reject(fmt.Sprintf("%v is defined twice in this file: first at line %d", d.Key, docs[j].Line))
		if docs[j].Object != nil || len(docs[j].Findings) == 0 {
			docs[j].reject(fmt.Sprintf("%v is defined twice in this file: again at line %d", d.Key, d.Line))
		}
	}
}

func (d *Document) reject(message string) {
	d.Object = nil
	d.Findings = append(d.Findings, Finding{d.File, d.Line, 1, ReasonDuplicate, message})
}
