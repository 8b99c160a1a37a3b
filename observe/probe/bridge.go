package probe

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// bridge is the bridge before a stdio server.
type bridge struct {
	// page is where it says how its server is, endpoint where clients find that.
	page, endpoint string
}

// Bridge asks the bridge of a stdio server how that is. The bridge asks through the
// one pipe that there is, so no session is opened and no second server started. What
// it reports is learned from a failure, too. To verify is to learn what the server
// has said of itself.
func Bridge(b bridge, verify bool, answer *observe.Answer) Func {
	return func(ctx context.Context) error {
		report, err := b.report(ctx)
		if err != nil {
			return err
		}
		answer.Bridge = report
		switch {
		case report.Problem != "":
			return failuref("%s", observe.Printable(report.Problem, maxQuoted))
		case !verify:
			return nil
		case report.Server == nil:
			return failuref("GET %s: the server has not said yet what it is", b.page)
		}
		server := *report.Server
		server.URL = b.endpoint
		answer.Server = &server
		return nil
	}
}

// report fetches the page, which is one with the status 503 as well.
func (b bridge) report(ctx context.Context) (*observe.BridgeReport, error) {
	page, err := fetch(ctx, b.page+serverDeadline(allowance(ctx)), nil, true)
	var r *refusal
	if errors.As(err, &r) && r.status == http.StatusServiceUnavailable {
		page, err = r.body, nil
	}
	if err != nil {
		return nil, err
	}
	var report observe.BridgeReport
	if err := json.Unmarshal(page, &report); err != nil {
		return nil, failuref("GET %s: it is no report of a bridge: %s", b.page, jsonTrouble(err, page))
	}
	if r != nil && report.Problem == "" {
		report.Problem = "it is not well, and its bridge says not why"
	}
	return &report, nil
}

// serverDeadline has the bridge wait for its server for nine tenths of the time that
// there is, so that a server which does not answer is told from a bridge that does
// not.
func serverDeadline(allowed time.Duration) string {
	if allowed <= 0 {
		return ""
	}
	return "?timeout=" + strconv.FormatInt((allowed*9/10).Milliseconds(), 10)
}

// bridgeOf gives the bridge before an instance.
func bridgeOf(q observe.Question) (bridge, error) {
	m := q.Probe.MCP
	address, err := addressOf(q.Instance, "", m.Port)
	if err != nil {
		return bridge{}, err
	}
	return bridge{
		page:     urlOf(spec.SchemeHTTP, address, observe.BridgePage),
		endpoint: urlOf(spec.SchemeHTTP, address, m.Path),
	}, nil
}
