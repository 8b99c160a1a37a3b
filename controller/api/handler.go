package api

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/spec"
)

// Root is the path below which everything but the health check lies.
const Root = "/apis/" + spec.Group + "/" + spec.Version

// healthPath is where the health check is.
const healthPath = "/healthz"

// viewTimeout is how long the loop may take to hand out a view. It answers
// between two steps, each of which takes a few milliseconds.
const viewTimeout = 5 * time.Second

// Viewer hands out a consistent view of the world; the controller is one.
type Viewer interface {
	View(ctx context.Context) (controller.View, error)
}

// collection is a list path below Root: what it holds and how its list is called.
type collection struct {
	path string
	kind spec.Kind
	list string
}

// collections are all of them. The empty kind stands for all kinds.
var collections = []collection{
	{"agents", spec.KindAgent, "AgentList"},
	{"mcpservers", spec.KindMCPServer, "MCPServerList"},
	{"workloads", "", "List"},
}

// Services are what a handler asks. Viewer is required; what another one would
// answer is refused with 501 where it is nil.
type Services struct {
	// Viewer answers what is true now.
	Viewer Viewer
	// Changes tells when a watcher has to look again.
	Changes Changes
	// Events tells what has happened.
	Events EventLog
	// Logs tells what workloads have written; nil where no output is kept.
	Logs Logs
	// Operator takes what is asked for; nil where the controller is only looked at.
	Operator Operator
	// Image is what is told of the program, and how it is replaced.
	Image Image
	// Meter reads what instances use.
	Meter Meter
	// Metrics answers Prometheus.
	Metrics http.Handler
}

// route is one method on one path; all of them stand in routes.
type route struct {
	method, path string
	serve        func(http.ResponseWriter, *http.Request)
	about        operation
}

// NewHandler gives the HTTP side of the API. It may be called from many
// goroutines, as far as the services may.
func NewHandler(s Services) http.Handler { return newHandler(s, standardBounds()) }

func newHandler(s Services, b bounds) http.Handler {
	h := &handler{Services: s, bounds: b, streams: make(chan struct{}, b.streams), world: newSnapshots(s, b)}
	h.description = sync.OnceValues(func() ([]byte, error) { return describeRoutes(h.routes()) })
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range h.routes() {
		mux.HandleFunc(r.method+" "+r.path, r.serve)
		methods[r.path] = append(methods[r.path], r.method)
	}
	for path, allowed := range methods {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { refuseMethod(w, r, allowed) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeFailure(w, failure(http.StatusNotFound, "nothing is served at %s; the API is below %s", r.URL.Path, Root))
	})
	return mux
}

// routes gives everything that is served. A part of the API with a file of its
// own has its routes there.
func (h *handler) routes() []route {
	rs := []route{
		{http.MethodGet, healthPath, h.health, operation{
			summary: "Whether the loop answers and has begun its work.", media: "text/plain",
		}},
		{http.MethodGet, Root + "/controller", h.controller, operation{
			summary: "Who the controller is, and what a person should know of its surroundings.", answer: Controller{},
		}},
		{http.MethodGet, Root + "/processes/{pid}", h.process, operation{
			summary: "What the controller does with a process, and why.", answer: Prospect{},
			query: []parameter{{"instance", "", "the instance that a process belongs to which has not been seen yet"}},
		}},
	}
	for _, c := range collections {
		rs = append(rs, route{http.MethodGet, Root + "/" + c.path, func(w http.ResponseWriter, r *http.Request) {
			h.list(w, r, c.kind, c.list)
		}, operation{
			summary: "The workloads and their status, as a list or as a watch.",
			answer:  List{}, other: Table{}, line: WatchEvent{}, query: append(slices.Clip(selectionParameters), tableParameter),
		}})
	}
	rs = append(rs, describe(operation{
		summary: "One workload and its status, or a watch of it alone.",
		answer:  Object{}, line: WatchEvent{}, query: selectionParameters[1:],
	}, h.each(http.MethodGet, "", h.object))...)
	rs = append(rs, h.usageRoutes()...)
	rs = append(rs, h.metricsRoutes()...)
	rs = append(rs, h.openAPIRoutes()...)
	rs = append(rs, h.eventRoutes()...)
	rs = append(rs, h.logRoutes()...)
	rs = append(rs, h.actionRoutes()...)
	return append(rs, h.upgradeRoutes()...)
}

// each gives the routes of what is there for every workload: below the path of
// its kind and its name. Their description is added by describe.
func (h *handler) each(method, below string, serve func(http.ResponseWriter, *http.Request, spec.Key)) (rs []route) {
	for _, c := range collections {
		if c.kind == "" {
			continue
		}
		rs = append(rs, route{method: method, path: Root + "/" + c.path + "/{name}" + below, serve: func(w http.ResponseWriter, r *http.Request) {
			serve(w, r, spec.Key{Kind: c.kind, Name: r.PathValue("name")})
		}})
	}
	return rs
}

// refuseMethod names what would be possible. Whoever asks for GET may ask for
// HEAD.
func refuseMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(slices.Clip(allowed), http.MethodHead)
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	writeFailure(w, failure(http.StatusMethodNotAllowed, "%s is not possible at %s, only %s; what should run is said in the manifests: change the manifests instead",
		r.Method, r.URL.Path, strings.Join(allowed, " and ")))
}

type handler struct {
	Services
	bounds  bounds
	streams chan struct{} // holds one for each that is open
	world   *snapshots
	// description is the OpenAPI document.
	description func() ([]byte, error)
}

// view asks the loop, and answers for it where it does not.
func (h *handler) view(w http.ResponseWriter, r *http.Request) (*controller.View, bool) {
	ctx, cancel := context.WithTimeout(r.Context(), viewTimeout)
	defer cancel()
	v, err := h.Viewer.View(ctx)
	if err != nil {
		writeFailure(w, unanswered(err))
		return nil, false
	}
	return &v, true
}

// health is for a supervisor: 200 while the loop answers and has begun its work.
func (h *handler) health(w http.ResponseWriter, r *http.Request) {
	v, ok := h.view(w, r)
	if !ok {
		return
	}
	if !v.Ready {
		writeFailure(w, failure(http.StatusServiceUnavailable, "the controller is not ready yet"))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n") // the peer is gone: nobody is left to tell
}

func (h *handler) controller(w http.ResponseWriter, r *http.Request) {
	if v, ok := h.view(w, r); ok {
		writeJSON(w, http.StatusOK, h.controllerOf(v))
	}
}

// controllerOf is what a view says beside its workloads, and what is known of the
// program.
func (h *handler) controllerOf(v *controller.View) Controller {
	c := controllerOf(v)
	c.Version, c.Upgrades = h.Image.Version, h.Image.Upgrades
	if h.Image.Upgrader != nil {
		c.UpgradeFailure = h.Image.Upgrader.Failure()
	}
	return c
}

// process tells what the controller does with a process. One that it has never
// heard of is one that it does not touch: that is an answer, too.
func (h *handler) process(w http.ResponseWriter, r *http.Request) {
	pid, err := strconv.Atoi(r.PathValue("pid"))
	if err != nil || pid <= 0 {
		writeFailure(w, failure(http.StatusNotFound, "%q is not the number of a process", r.PathValue("pid")))
		return
	}
	if v, ok := h.view(w, r); ok {
		writeJSON(w, http.StatusOK, prospectOf(v, pid, spec.Instance(r.FormValue("instance"))))
	}
}

func (h *handler) object(w http.ResponseWriter, r *http.Request, key spec.Key) {
	if h.watching(w, r, key) {
		return
	}
	v, ok := h.view(w, r)
	if !ok {
		return
	}
	for i := range v.Workloads {
		if v.Workloads[i].Key == key {
			writeJSON(w, http.StatusOK, objectOf(&v.Workloads[i]))
			return
		}
	}
	writeFailure(w, noWorkload(key))
}

// list writes the items one by one, so that ten thousand of them need no buffer
// of their own size.
func (h *handler) list(w http.ResponseWriter, r *http.Request, kind spec.Kind, name string) {
	if h.watching(w, r, spec.Key{Kind: kind}) {
		return
	}
	which, ok := selectionOf(w, r, spec.Key{Kind: kind})
	if !ok {
		return
	}
	form, ok := tableForm(w, r)
	if !ok {
		return
	}
	v, ok := h.view(w, r)
	if !ok {
		return
	}
	if form != "" {
		h.writeTable(w, v, which, form)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	b := bufio.NewWriterSize(w, 16<<10)
	defer b.Flush()
	b.WriteString(`{"apiVersion":"` + spec.APIVersion + `","kind":"` + name + `","metadata":{},"items":[`)
	enc := newEncoder(b)
	first := true
	for i := range v.Workloads {
		o := objectOf(&v.Workloads[i])
		if !which.takes(o.Key(), o.Metadata.Labels) {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		if enc.Encode(o) != nil {
			return // the peer is gone
		}
	}
	b.WriteString("]}\n")
}

func writeFailure(w http.ResponseWriter, f *Failure) { writeJSON(w, f.Code, f) }

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = newEncoder(w).Encode(v) // the peer is gone: nobody is left to tell
}

// newEncoder leaves <, > and & as they are: the answer is for programs and
// terminals, never for a page.
func newEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}
