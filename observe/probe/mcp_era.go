package probe

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/proc-controller/proc-controller/mcp/rpc"
	"github.com/proc-controller/proc-controller/spec"
)

// program is whose era is remembered: what is run, and where it is spoken to.
// The hash of a spec covers the first only.
type program struct {
	hash       spec.Hash
	port, path string
}

// eraMemory knows the era of programs, so that their next instance is greeted in
// it at once. It is a hint: one that is wrong costs a request.
type eraMemory struct {
	mu  sync.Mutex
	era map[program]spec.Era
}

// maxEras bounds the memory. Beyond it everything is found out anew.
const maxEras = 4096

func (m *eraMemory) note(p program, e spec.Era) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.era == nil || len(m.era) >= maxEras {
		m.era = map[program]spec.Era{}
	}
	m.era[p] = e
}

func (m *eraMemory) of(p program) spec.Era {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.era[p]
}

// order gives the eras in which to greet.
func (s *server) order() []spec.Era {
	switch {
	case s.protocol == spec.ProtocolLegacy:
		return []spec.Era{spec.EraLegacy}
	case s.protocol == spec.ProtocolModern:
		return []spec.Era{spec.EraModern}
	case s.eras.of(s.program) == spec.EraLegacy:
		return []spec.Era{spec.EraLegacy, spec.EraModern}
	}
	return []spec.Era{spec.EraModern, spec.EraLegacy}
}

// begin greets in one era, and in the other if the answer leaves that open. The
// error is that of the last greeting.
func (s *server) begin(ctx context.Context) (d *dialogue, err error) {
	eras := s.order()
	for i, era := range eras {
		last := i == len(eras)-1
		if d, err = s.greetIn(ctx, era, !last); err == nil {
			s.eras.note(s.program, era)
			return d, nil
		}
		if last || ctx.Err() != nil || !isOtherEra(err) {
			break
		}
	}
	return nil, err
}

// greetIn greets in one era. Bounded says that the other is to be tried too.
func (s *server) greetIn(ctx context.Context, era spec.Era, bounded bool) (*dialogue, error) {
	if era == spec.EraLegacy {
		return beginLegacy(ctx, s.url)
	}
	if bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, discoverWithin)
		defer cancel()
	}
	return beginModern(ctx, s.url)
}

// isOtherEra says that a server which did not take a greeting may take that of
// the other era. Nothing says what one of an older era does with a request that
// it cannot understand, so only what is clear is a no: that nobody listens, that
// it wants credentials, that it is not available, or that it answers as only a
// modern one does.
func isOtherEra(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	var r *refusal
	var refusedBy *rpc.Error
	if errors.As(err, &r) {
		switch r.status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return false
		}
		refusedBy = rpc.ErrorIn(r.body)
	}
	if refusedBy == nil && !errors.As(err, &refusedBy) {
		return true
	}
	switch refusedBy.Code {
	case rpc.CodeHeaderMismatch, rpc.CodeMissingCapability:
		return false
	case rpc.CodeUnsupportedVersion:
		var data struct {
			Supported []string `json:"supported"`
		}
		_ = json.Unmarshal(refusedBy.Data, &data)
		return len(data.Supported) == 0 || slices.ContainsFunc(data.Supported, func(v string) bool { return v < modernVersion })
	}
	return true
}
