package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/proc-controller/proc-controller/spec"
)

// upgradePath is where an upgrade is asked for, by POST.
const upgradePath = Root + "/controller:upgrade"

// Upgrader puts the program on the disk in the place of the one that runs.
type Upgrader interface {
	// Prepare checks that it can be done. What it gives does it, and is called
	// once, when the answer has been sent; it does not wait.
	Prepare(ctx context.Context) (commit func(), err error)
	// Failure says why the last one that was begun did not happen.
	Failure() string
}

// Image is what a handler knows of the program that it is a part of.
type Image struct {
	Version string
	// Upgrades counts the programs that had this pid and these children before.
	Upgrades int
	// Upgrader is nil where there are no upgrades.
	Upgrader Upgrader
}

func (h *handler) upgradeRoutes() []route {
	return []route{{http.MethodPost, upgradePath, h.upgrade, operation{
		summary: "Replace the running program by the one on the disk; answered before it happens.",
		status:  http.StatusAccepted, answer: Accepted{},
	}}}
}

// upgrade answers before it happens: what comes after is another program's.
func (h *handler) upgrade(w http.ResponseWriter, r *http.Request) {
	if h.Image.Upgrader == nil {
		writeFailure(w, failure(http.StatusNotImplemented, "this controller has no upgrades"))
		return
	}
	commit, err := h.Image.Upgrader.Prepare(r.Context())
	if err != nil {
		writeFailure(w, failure(http.StatusConflict, "%v", err))
		return
	}
	writeJSON(w, http.StatusAccepted, Accepted{APIVersion: spec.APIVersion, Kind: "UpgradeAccepted", Upgrades: h.Image.Upgrades})
	_ = http.NewResponseController(w).Flush() // the peer is gone: it will not miss the answer
	commit()
}

// Accepted is the answer to what begins now, and ends after the answer.
type Accepted struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Upgrades counts the programs that had the controller's pid before the one that
	// answers.
	Upgrades int `json:"upgrades"`
}

// upgradeLook is how often it is looked whether an upgrade is done.
const upgradeLook = 20 * time.Millisecond

// Upgrade has the controller replace itself by the program on the disk, and
// waits until that is ready. The error says why it was refused or did not
// happen, in which case the controller goes on as before.
func (c *Client) Upgrade(ctx context.Context) (Controller, error) {
	var before Accepted
	if err := c.ask(ctx, http.MethodPost, upgradePath, http.StatusAccepted, &before); err != nil {
		return Controller{}, err
	}
	tick := time.NewTicker(upgradeLook)
	defer tick.Stop()
	var last error
	for {
		now, err := c.Controller(ctx)
		switch {
		case err == nil && now.Upgrades > before.Upgrades && now.Ready:
			return now, nil
		case err == nil && now.Upgrades == before.Upgrades && now.UpgradeFailure != "":
			return now, fmt.Errorf("not upgraded: %s", now.UpgradeFailure)
		}
		last = err // nobody answers while one program follows the other
		select {
		case <-tick.C:
		case <-ctx.Done():
			if last == nil {
				last = ctx.Err()
			}
			return now, fmt.Errorf("cannot tell whether the upgrade is done: %w", last)
		}
	}
}
