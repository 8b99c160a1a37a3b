package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// openAPIPath is where the description of the API is.
const openAPIPath = "/openapi.json"

// document is an OpenAPI document (https://spec.openapis.org/oas/v3.1.1), as far
// as we need one.
type document struct {
	OpenAPI    string                          `json:"openapi"`
	Info       info                            `json:"info"`
	Servers    []server                        `json:"servers"`
	Security   []map[string][]string           `json:"security"`
	Paths      map[string]map[string]*pathItem `json:"paths"`
	Components components                      `json:"components"`
}

type info struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Version     string `json:"version"`
}

type server struct {
	URL         string `json:"url"`
	Description string `json:"description,omitempty"`
}

// pathItem is one method of a path.
type pathItem struct {
	OperationID string                 `json:"operationId"`
	Summary     string                 `json:"summary"`
	Parameters  []parameterItem        `json:"parameters,omitempty"`
	Responses   map[string]*answerItem `json:"responses"`
	// Security is empty where no token is needed.
	Security *[]map[string][]string `json:"security,omitempty"`
}

type parameterItem struct {
	Name        string `json:"name"`
	In          string `json:"in"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Schema      any    `json:"schema"`
}

type answerItem struct {
	Description string               `json:"description"`
	Content     map[string]mediaItem `json:"content,omitempty"`
}

type mediaItem struct {
	Schema any `json:"schema"`
}

type components struct {
	Schemas         map[string]any `json:"schemas"`
	SecuritySchemes map[string]any `json:"securitySchemes"`
}

func (h *handler) openAPIRoutes() []route {
	return []route{{http.MethodGet, openAPIPath, h.openAPI, operation{
		summary: "This description of the API.", answer: map[string]any{},
	}}}
}

func (h *handler) openAPI(w http.ResponseWriter, _ *http.Request) {
	text, err := h.description()
	if err != nil {
		writeFailure(w, failure(http.StatusInternalServerError, "cannot describe the API: %v", err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the peer is gone: nobody is left to tell
}

// describeRoutes makes the document. It is asked for seldom, and made then.
func describeRoutes(routes []route) ([]byte, error) {
	token := []map[string][]string{{}, {"token": {}}}
	d := document{
		OpenAPI: "3.1.1",
		Info: info{
			Title: "proc-controller", Version: spec.Version,
			Description: "What a controller sees and does. It is served on a unix socket, where the peer's uid is checked, and, where that was asked for, on a port of the loopback, where a token is needed.",
		},
		Servers:  []server{{URL: "/"}},
		Security: token,
		Paths:    map[string]map[string]*pathItem{},
		Components: components{SecuritySchemes: map[string]any{
			"token": map[string]string{"type": "http", "scheme": "bearer", "description": "The content of the token file. Not needed on the unix socket."},
		}},
	}
	types := newSchemas(routes)
	for _, r := range routes {
		if r.about.summary == "" {
			return nil, fmt.Errorf("%s %s lacks a description: say beside the route what it is", r.method, r.path)
		}
		item, err := r.describe(types)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %v", r.method, r.path, err)
		}
		if d.Paths[r.path] == nil {
			d.Paths[r.path] = map[string]*pathItem{}
		}
		d.Paths[r.path][strings.ToLower(r.method)] = item
	}
	var err error
	if d.Components.Schemas, err = types.components(); err != nil {
		return nil, err
	}
	return json.MarshalIndent(&d, "", "  ")
}

// placeholder is the variable part of a path.
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{(\w+)\}`) })

func (r *route) describe(types *schemas) (*pathItem, error) {
	item := &pathItem{OperationID: r.operationID(), Summary: r.about.summary, Responses: map[string]*answerItem{}}
	for _, m := range placeholder().FindAllStringSubmatch(r.path, -1) {
		item.Parameters = append(item.Parameters, parameterItem{Name: m[1], In: "path", Required: true, Schema: map[string]any{"type": "string"}})
	}
	for _, p := range r.about.query {
		s, err := p.schema()
		if err != nil {
			return nil, err
		}
		item.Parameters = append(item.Parameters, parameterItem{Name: p.name, In: "query", Description: p.about, Schema: s})
	}
	good := &answerItem{Description: "What was asked for.", Content: map[string]mediaItem{}}
	if r.about.media != "" {
		good.Content[r.about.media] = mediaItem{map[string]string{"type": "string"}}
	}
	for media, value := range map[string]any{"application/json": r.about.answer, linesMedia: r.about.line} {
		if value == nil {
			continue
		}
		s, err := types.of(reflect.TypeOf(value))
		if err != nil {
			return nil, err
		}
		good.Content[media] = mediaItem{s}
	}
	if r.about.other != nil {
		s, err := types.of(reflect.TypeOf(r.about.other))
		if err != nil {
			return nil, err
		}
		const media = "application/json"
		good.Content[media] = mediaItem{map[string]any{"oneOf": []any{good.Content[media].Schema, s}}}
	}
	if r.about.line != nil {
		good.Description += " As " + linesMedia + ", each line is one of these."
	}
	no, err := types.of(reflect.TypeFor[Failure]())
	if err != nil {
		return nil, err
	}
	item.Responses[strconv.Itoa(r.about.good())] = good
	item.Responses["default"] = &answerItem{"What went wrong.", map[string]mediaItem{"application/json": {no}}}
	if r.path == healthPath {
		item.Security = &[]map[string][]string{}
	}
	return item, nil
}

// operationID is a name for the method that is made of a route: getAgentsNameLogs.
func (r *route) operationID() string {
	id := strings.ToLower(r.method)
	for word := range strings.FieldsFuncSeq(strings.TrimPrefix(r.path, Root), func(c rune) bool { return strings.ContainsRune("/{}:.-_", c) }) {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

// schema is that of the value in a query.
func (p *parameter) schema() (map[string]string, error) {
	switch p.value.(type) {
	case string:
		return map[string]string{"type": "string"}, nil
	case bool:
		return map[string]string{"type": "boolean"}, nil
	case int:
		return map[string]string{"type": "integer"}, nil
	case time.Time:
		return map[string]string{"type": "string", "format": "date-time"}, nil
	case time.Duration:
		return map[string]string{"type": "string", "description": "a duration as Go writes it: 1m30s"}, nil
	}
	return nil, fmt.Errorf("cannot describe the parameter %s: its value is a %T", p.name, p.value)
}
