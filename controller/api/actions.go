package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/spec"
)

// downPath is where the end of everything is asked for, by POST.
const downPath = Root + "/controller/down"

// Operator takes what a person asks of the running controller; the controller is
// one. No method waits until it is done, but a Viewer shows it from then on. Errors
// are those of the controller's methods of the same names.
type Operator interface {
	Restart(ctx context.Context, k spec.Key) error
	Suspend(ctx context.Context, k spec.Key, suspend bool) error
	Down(ctx context.Context) error
}

func (h *handler) actionRoutes() []route {
	rs := []route{{http.MethodPost, downPath, h.down, operation{
		summary: "Stop every workload, those that are kept too, and end.",
		status:  http.StatusAccepted, answer: Accepted{},
	}}}
	rs = append(rs, describe(operation{
		summary: "Replace what runs of a workload, as its strategy says.",
		status:  http.StatusAccepted, answer: Object{},
	}, h.each(http.MethodPost, "/restart", h.action(http.StatusAccepted, Operator.Restart)))...)
	rs = append(rs, describe(operation{
		summary: "Stop a workload and keep it stopped, whatever its manifest says.", answer: Object{},
	}, h.each(http.MethodPost, "/suspend", h.action(http.StatusOK, suspends(true))))...)
	return append(rs, describe(operation{
		summary: "Take back a suspension that was asked for here.", answer: Object{},
	}, h.each(http.MethodPost, "/resume", h.action(http.StatusOK, suspends(false))))...)
}

func suspends(suspend bool) func(Operator, context.Context, spec.Key) error {
	return func(o Operator, ctx context.Context, k spec.Key) error { return o.Suspend(ctx, k, suspend) }
}

// action serves what is asked for one workload, and answers with what is true of
// that since.
func (h *handler) action(done int, ask func(Operator, context.Context, spec.Key) error) func(http.ResponseWriter, *http.Request, spec.Key) {
	return func(w http.ResponseWriter, r *http.Request, k spec.Key) {
		if !h.operate(w, r, k, func(ctx context.Context) error { return ask(h.Operator, ctx, k) }) {
			return
		}
		v, ok := h.view(w, r)
		if !ok {
			return
		}
		for i := range v.Workloads {
			if v.Workloads[i].Key == k {
				writeJSON(w, done, objectOf(&v.Workloads[i]))
				return
			}
		}
		writeFailure(w, noWorkload(k)) // it has gone since
	}
}

// down answers before anything has ended.
func (h *handler) down(w http.ResponseWriter, r *http.Request) {
	if h.operate(w, r, spec.Key{}, func(ctx context.Context) error { return h.Operator.Down(ctx) }) {
		writeJSON(w, http.StatusAccepted, Accepted{APIVersion: spec.APIVersion, Kind: "DownAccepted", Upgrades: h.Image.Upgrades})
	}
}

// operate asks, and answers for it where it was refused.
func (h *handler) operate(w http.ResponseWriter, r *http.Request, k spec.Key, ask func(context.Context) error) bool {
	if h.Operator == nil {
		writeFailure(w, failure(http.StatusNotImplemented, "this controller can only be looked at"))
		return false
	}
	ctx, cancel := context.WithTimeout(r.Context(), viewTimeout)
	defer cancel()
	err := ask(ctx)
	if err != nil {
		writeFailure(w, refusal(err, k))
	}
	return err == nil
}

// refusal is why nothing was done, on the wire.
func refusal(err error, k spec.Key) *Failure {
	switch {
	case errors.Is(err, controller.ErrNoWorkload):
		return noWorkload(k)
	case errors.Is(err, controller.ErrNotPossible), errors.Is(err, controller.ErrShutDown):
		f := failure(http.StatusConflict, "%v", err)
		f.Details = detailsOf(k)
		return f
	}
	return failure(http.StatusServiceUnavailable, "the controller gave no answer: %v", err)
}

// noWorkload is the failure for a key that nobody knows.
func noWorkload(k spec.Key) *Failure {
	f := failure(http.StatusNotFound, "no %s named %s", k.Kind, k.Name)
	f.Details = detailsOf(k)
	return f
}

func detailsOf(k spec.Key) *Details {
	if k == (spec.Key{}) {
		return nil
	}
	return &Details{Name: k.Name, Group: spec.Group, Kind: string(k.Kind)}
}

// Restart asks that every instance of a workload be replaced, and that what waits,
// has completed or has failed be started now. It does not wait. The answer is the
// workload as it is since then: it is done when none of its instances is outdated
// any more. The error is a *Failure: 404 where there is no such workload, 409 where
// it cannot be, as of one that is suspended.
func (c *Client) Restart(ctx context.Context, k spec.Key) (Object, error) {
	var o Object
	err := c.act(ctx, k, "restart", http.StatusAccepted, &o)
	return o, err
}

// SetSuspended suspends a workload at runtime, in addition to what its manifest
// says, or takes that back. It does not wait; what is so already is no error. The
// error is a *Failure: 404 where there is no such workload, 409 where it cannot be.
// One of them is that of a workload which is suspended by its manifest and so is not
// resumed; what was suspended at runtime is taken back then all the same.
func (c *Client) SetSuspended(ctx context.Context, k spec.Key, suspended bool) error {
	below := "resume"
	if suspended {
		below = "suspend"
	}
	return c.act(ctx, k, below, http.StatusOK, &Object{})
}

// Down has the controller end, and everything that it runs, onControllerExit: Keep
// or not. It does not wait.
func (c *Client) Down(ctx context.Context) error {
	return c.ask(ctx, http.MethodPost, downPath, http.StatusAccepted, &Accepted{})
}

// act asks for something below the path of one workload.
func (c *Client) act(ctx context.Context, k spec.Key, below string, want int, into any) error {
	if k.Kind == "" {
		return fmt.Errorf("cannot %s %v: there is no kind %s", below, k, k.Kind) // not of all
	}
	path, err := pathOf(k)
	if err != nil {
		return err
	}
	return c.ask(ctx, http.MethodPost, path+"/"+below, want, into)
}
