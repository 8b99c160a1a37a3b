package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"

	"github.com/proc-controller/proc-controller/actuate/journal"
	"github.com/proc-controller/proc-controller/controller"
	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
	"github.com/proc-controller/proc-controller/spec/source"
)

// outlook is what is done with a process, and who says so.
type outlook struct {
	api.Outlook
	// By is "controller" where a controller runs and was asked, "forecast" where
	// one with these flags would decide so, and empty where nobody can tell.
	By string `json:"by,omitempty"`
}

const (
	byController = "controller"
	byForecast   = "forecast"
)

// planFor asks the controller of the owner if it runs; else it finds out what
// one with these flags would do.
func (p place) planFor(ctx context.Context, told *observe.Explanation, e *explained) outlook {
	if e.OwnerAlive == nil || !*e.OwnerAlive {
		return p.forecast(ctx, told)
	}
	answer, err := p.of(told.Owner).ask(ctx, told)
	switch {
	case err != nil:
		return outlook{Outlook: api.Outlook{Message: fmt.Sprintf(
			"its controller (pid %d) runs and gives no answer: %v; the flags that it was started with find it", e.OwnerPID, err)}}
	case answer.Process != nil && answer.Process.Ident != told.Ident:
		return outlook{Outlook: api.Outlook{Message: "the number has passed to another process meanwhile"}}
	}
	return outlook{answer.Plan, byController}
}

func (p place) ask(ctx context.Context, told *observe.Explanation) (api.Prospect, error) {
	socket, err := p.socket()
	if err != nil {
		return api.Prospect{}, err
	}
	var part spec.Instance
	if told.Verdict == observe.Ours {
		part = told.Instance
	}
	return api.NewClient(socket).Prospect(ctx, told.PID, part)
}

// readWait is how long manifests may take to be read.
const readWait = 5 * time.Second

// forecast decides as a controller would that is started now, and does nothing.
func (p place) forecast(ctx context.Context, told *observe.Explanation) outlook {
	w, err := p.worldNow(ctx)
	if err != nil {
		return outlook{Outlook: api.Outlook{Message: err.Error()}}
	}
	prospect := controller.ProspectOf(p.owner, *w, controller.Decide(*w), told.Ident, "")
	if prospect.Reason == spec.ReasonOtherOwner {
		prospect.Detail = fmt.Sprintf("it belongs to owner %s, not to %s", told.Owner, p.owner)
	}
	return outlook{api.OutlookOf(prospect), byForecast}
}

// worldNow is the world as the first decision of a controller would find it,
// but that nothing which is gone is waited for.
func (p place) worldNow(ctx context.Context) (*controller.World, error) {
	set, err := p.readManifests(ctx)
	if err != nil {
		return nil, err
	}
	scanner, err := observe.NewScanner(observe.ScannerOptions{Owner: p.owner, UID: p.uid})
	if err != nil {
		return nil, err
	}
	defer scanner.Close()
	h, _ := p.history()
	users := controller.UsersOf(set)
	known := append(h.Witnesses(), controller.UserWitnesses(users)...)
	scanner.Scan(ctx, known, observe.Full)
	// The second look proves what the first found to have ended.
	snapshot := scanner.Scan(ctx, known, observe.Look)
	if snapshot.Err != nil {
		return nil, fmt.Errorf("cannot read the process table: %w", snapshot.Err)
	}
	snapshot.Users = users
	return &controller.World{Desired: *set, Observed: snapshot, History: h, Now: time.Now()}, nil
}

// hint is what is remembered of manifests, to be read only.
type hint struct{ source.Memory }

// Remember and Forget change nothing.
func (hint) Remember(string, []byte) {}
func (hint) Forget(string)           {}

// readManifests reads the directory once, as the controller does.
func (p place) readManifests(ctx context.Context) (*spec.Set, error) {
	o := source.Options{Dir: p.manifests, Home: os.Getenv("HOME"), UID: p.uid, DeleteHold: -1, Log: logr.Discard()}
	if state := p.existingState(); state != "" {
		memory := journal.OpenMemory(state, logr.Discard())
		defer closeAll(memory.Close)
		o.Memory = hint{memory}
	}
	src, err := source.New(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readWait)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = src.Run(ctx) // ends with ctx, and with nothing else
	}()
	defer func() {
		cancel()
		<-ended
	}()
	for set := range src.Sets() {
		if set.Complete {
			return set, nil
		}
	}
	return nil, fmt.Errorf("cannot read the manifests in %s within %v", p.manifests, readWait)
}
