package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/proc-controller/proc-controller/spec"
)

// standIn is an Upgrader that does nothing.
type standIn struct{}

func (standIn) Prepare(context.Context) (func(), error) { return func() {}, nil }
func (standIn) Failure() string                         { return "" }

// everything are services that answer whatever can be asked.
func everything(t *testing.T) Services {
	w := newWorld()
	for _, sample := range sampleView().Workloads {
		w.workloads[sample.Key] = sample
	}
	return Services{
		Viewer: w, Changes: w, Image: Image{Version: "v1", Upgrader: standIn{}},
		Events: &fakeLog{past: happened("MCPServer/files", 0, 3), next: make(chan any)},
	}
}

// described loads the document that a handler serves. Where it is strict, an
// object may have no other fields than those that are described.
func described(t *testing.T, h http.Handler, strict bool) *openapi3.T {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, openAPIPath, nil))
	var tree any
	if err := json.Unmarshal(rec.Body.Bytes(), &tree); err != nil || rec.Code != http.StatusOK {
		t.Fatalf("%d %v: %s", rec.Code, err, rec.Body)
	}
	if strict {
		closeObjects(tree)
	}
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// closeObjects forbids other properties wherever some are listed.
func closeObjects(tree any) {
	switch node := tree.(type) {
	case []any:
		for _, n := range node {
			closeObjects(n)
		}
	case map[string]any:
		if node["type"] == "object" && node["properties"] != nil {
			node["additionalProperties"] = false
		}
		for _, n := range node {
			closeObjects(n)
		}
	}
}

// TestEveryRouteIsDescribed names the routes beside which nothing stands.
func TestEveryRouteIsDescribed(t *testing.T) {
	ids := map[string]string{}
	for _, r := range (&handler{}).routes() {
		o := &r.about
		if o.summary == "" || !strings.HasSuffix(o.summary, ".") {
			t.Errorf("%s %s lacks a summary that ends in a full stop: see operation.go", r.method, r.path)
		}
		if o.answer == nil && o.line == nil && o.media == "" {
			t.Errorf("%s %s does not say what it answers: see operation.go", r.method, r.path)
		}
		for _, p := range o.query {
			if _, err := p.schema(); err != nil || p.about == "" {
				t.Errorf("%s %s: parameter %q: %v, %q", r.method, r.path, p.name, err, p.about)
			}
		}
		if before, twice := ids[r.operationID()]; twice {
			t.Errorf("%s and %s %s are both called %s", before, r.method, r.path, r.operationID())
		}
		ids[r.operationID()] = r.method + " " + r.path
	}
	doc := described(t, NewHandler(everything(t)), false)
	if err := doc.Validate(t.Context()); err != nil {
		t.Errorf("the document is not valid: %v", err)
	}
	if !doc.IsOpenAPI31OrLater() {
		t.Errorf("it is of version %s", doc.OpenAPI)
	}
}

func TestRouteWithoutDescriptionIsNamed(t *testing.T) {
	_, err := describeRoutes([]route{{method: http.MethodGet, path: Root + "/odd"}})
	if err == nil || !strings.Contains(err.Error(), "GET "+Root+"/odd") {
		t.Errorf("got %v", err)
	}
}

// TestAnswersAreAsDescribed asks every route and holds the answer against the
// document.
func TestAnswersAreAsDescribed(t *testing.T) {
	services := everything(t)
	h := newHandler(services, quick())
	doc := described(t, h, true)
	checked := 0
	for _, r := range (&handler{}).routes() {
		path := strings.NewReplacer("{name}", "files", "{pid}", "99").Replace(r.path)
		code, header, body := answerOf(t, h, r.method, path)
		if err := asDescribed(doc, &r, code, header, body); err != nil {
			t.Errorf("%s %s: %d: %v\n%s", r.method, path, code, err, body)
		}
		checked++
		if r.about.other != nil {
			code, header, body = answerOf(t, h, r.method, path+"?as=wide")
			if err := asDescribed(doc, &r, code, header, body); err != nil || !strings.Contains(string(body), tableKind) {
				t.Errorf("%s %s as a table: %d: %v\n%s", r.method, path, code, err, body)
			}
			checked++
		}
		if r.about.line == nil || r.about.answer == nil {
			continue
		}
		query := "?"
		for _, p := range r.about.query {
			if p.value == false {
				query += p.name + "=true&"
			}
		}
		code, header, body = answerOf(t, h, r.method, path+query)
		if header.Get("Content-Type") != linesMedia {
			t.Errorf("%s %s%s: %d %s", r.method, path, query, code, body)
		}
		for line := range strings.Lines(string(body)) {
			if err := asDescribed(doc, &r, code, header, []byte(line)); err != nil {
				t.Errorf("%s %s%s: %v\n%s", r.method, path, query, err, line)
			}
			checked++
		}
	}
	if checked < 15 {
		t.Errorf("only %d answers were checked", checked)
	}
}

// answerOf asks, and of a stream takes what comes first.
func answerOf(t *testing.T, h http.Handler, method, path string) (int, http.Header, []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	rec := &flushed{httptest.NewRecorder(), cancel}
	h.ServeHTTP(rec, httptest.NewRequestWithContext(ctx, method, path, nil))
	return rec.Code, rec.Header(), rec.Body.Bytes()
}

// flushed is a peer that has enough once something was flushed.
type flushed struct {
	*httptest.ResponseRecorder
	enough func()
}

func (f *flushed) Flush() { f.enough() }

func asDescribed(doc *openapi3.T, r *route, code int, header http.Header, body []byte) error {
	item := doc.Paths.Find(r.path)
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: httptest.NewRequest(r.method, "/", nil),
			Route:   &routers.Route{Spec: doc, Path: r.path, PathItem: item, Method: r.method, Operation: item.GetOperation(r.method)},
		},
		Status: code, Header: header, Body: io.NopCloser(strings.NewReader(string(body))),
	}
	return openapi3filter.ValidateResponse(context.Background(), input)
}

// TestTypesAreAsDescribed holds a value of each type, with every field set and
// with none, against its description.
func TestTypesAreAsDescribed(t *testing.T) {
	doc := described(t, NewHandler(everything(t)), true)
	for name, typ := range newSchemas((&handler{}).routes()).named {
		component := doc.Components.Schemas[name]
		if component == nil {
			t.Errorf("%s is not described", name)
			continue
		}
		v := reflect.New(typ)
		fill(v.Elem(), 0)
		text, err := json.Marshal(v.Interface())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var tree any
		if err := json.Unmarshal(text, &tree); err != nil {
			t.Fatal(err)
		}
		if err := component.Value.VisitJSON(tree, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// fill sets every field.
func fill(v reflect.Value, depth int) {
	if !v.CanSet() || depth > 12 {
		return
	}
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = time.Unix(1, 0)
		return
	case *spec.Kind:
		*at = spec.KindAgent
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	}
}

// The lines of a stream are checked one by one, as any other JSON.
func init() { openapi3filter.RegisterBodyDecoder(linesMedia, openapi3filter.JSONBodyDecoder) }
