package api

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/spec"
)

// Root is the path below which everything but the health check lies.
const Root = "/apis/" + spec.Group + "/" + spec.Version

// viewTimeout is how long the loop may take to hand out a view. It answers
// between two steps, each of which takes a few milliseconds.
const viewTimeout = 5 * time.Second

// Viewer hands out a consistent view of the world; the controller is one.
type Viewer interface {
	View(ctx context.Context) (controller.View, error)
}

// collections are the list paths below Root: what each holds and how its list
// is called. The empty kind stands for all.
var collections = []struct {
	path string
	kind spec.Kind
	list string
}{
	{"agents", spec.KindAgent, "AgentList"},
	{"mcpservers", spec.KindMCPServer, "MCPServerList"},
	{"workloads", "", "List"},
}

// NewHandler gives the HTTP side of the API: for reading, but for the upgrade of
// the program itself. It may be called from many goroutines, as far as the
// viewer may.
func NewHandler(v Viewer, image Image) http.Handler {
	h := &handler{viewer: v, image: image}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", h.health)
	mux.HandleFunc(Root+"/controller", h.controller)
	mux.HandleFunc(Root+"/processes/{pid}", h.process)
	for _, c := range collections {
		mux.HandleFunc(Root+"/"+c.path, func(w http.ResponseWriter, r *http.Request) {
			h.list(w, r, c.kind, c.list)
		})
		if c.kind == "" {
			continue
		}
		mux.HandleFunc(Root+"/"+c.path+"/{name}", func(w http.ResponseWriter, r *http.Request) {
			h.object(w, r, spec.Key{Kind: c.kind, Name: r.PathValue("name")})
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeFailure(w, failure(http.StatusNotFound, "nothing is served at %s; the API is below %s", r.URL.Path, Root))
	})
	all := http.NewServeMux()
	all.Handle("/", readOnly(mux))
	all.HandleFunc(upgradePath, h.upgrade)
	return all
}

// readOnly answers every method that would change something.
func readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			writeFailure(w, failure(http.StatusMethodNotAllowed,
				"%s is not possible: the API only reads; change the manifests instead", r.Method))
			return
		}
		next.ServeHTTP(w, r)
	})
}

type handler struct {
	viewer Viewer
	image  Image
}

// view asks the loop, and answers for it where it does not.
func (h *handler) view(w http.ResponseWriter, r *http.Request) (*controller.View, bool) {
	ctx, cancel := context.WithTimeout(r.Context(), viewTimeout)
	defer cancel()
	v, err := h.viewer.View(ctx)
	if err != nil {
		writeFailure(w, failure(http.StatusServiceUnavailable, "the controller gave no answer: %v", err))
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
		c := controllerOf(v)
		c.Version, c.Upgrades = h.image.Version, h.image.Upgrades
		if h.image.Upgrader != nil {
			c.UpgradeFailure = h.image.Upgrader.Failure()
		}
		writeJSON(w, http.StatusOK, c)
	}
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
	f := failure(http.StatusNotFound, "no %s named %s", key.Kind, key.Name)
	f.Details = &Details{Name: key.Name, Group: spec.Group, Kind: string(key.Kind)}
	writeFailure(w, f)
}

// list writes the items one by one, so that ten thousand of them need no buffer
// of their own size.
func (h *handler) list(w http.ResponseWriter, r *http.Request, kind spec.Kind, name string) {
	v, ok := h.view(w, r)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	b := bufio.NewWriterSize(w, 16<<10)
	defer b.Flush()
	b.WriteString(`{"apiVersion":"` + spec.APIVersion + `","kind":"` + name + `","metadata":{},"items":[`)
	enc := newEncoder(b)
	first := true
	for i := range v.Workloads {
		if kind != "" && v.Workloads[i].Key.Kind != kind {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		if enc.Encode(objectOf(&v.Workloads[i])) != nil {
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
