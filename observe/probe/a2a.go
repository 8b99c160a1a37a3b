package probe

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// Where an agent shows its card: since revision 0.3, and before.
var cardPaths = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// A2A fetches the card of an agent at base ("http://127.0.0.1:8123"): at path, or
// at the well-known places where that is empty. A refusal for want of credentials
// is success. What the card says goes into answer.
func A2A(base, path string, answer *observe.Answer) Func {
	paths := cardPaths
	if path != "" {
		paths = []string{path}
	}
	return func(ctx context.Context) (err error) {
		for _, p := range paths {
			var page []byte
			if page, err = fetch(ctx, base+p, nil, true); err == nil {
				var card spec.CardInfo
				if card, err = parseCard(page); err != nil {
					return failuref("GET %s: %v", base+p, err)
				}
				answer.Card = &card
				return nil
			}
			if isUnauthorized(err) {
				answer.Unauthorized = true
				return nil
			}
			if !isNotFound(err) {
				return err
			}
		}
		return err
	}
}

func isNotFound(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.status == http.StatusNotFound
}

// agentCard is what is looked at of a card, in the shape of A2A 1.0
// (supportedInterfaces) and of 0.3 and before (url).
type agentCard struct {
	Name                string `json:"name"`
	Version             string `json:"version"`
	URL                 string `json:"url"`
	SupportedInterfaces []struct {
		URL string `json:"url"`
	} `json:"supportedInterfaces"`
	Skills []json.RawMessage `json:"skills"`
}

// parseCard checks that a card has a name, a version and the URL of an interface.
func parseCard(page []byte) (spec.CardInfo, error) {
	var c agentCard
	if err := json.Unmarshal(page, &c); err != nil {
		return spec.CardInfo{}, failuref("the card is no JSON that fits: %s", jsonTrouble(err, page))
	}
	url := c.URL
	for _, i := range c.SupportedInterfaces {
		if i.URL != "" {
			url = i.URL
			break
		}
	}
	for _, f := range []struct{ what, value string }{{"name", c.Name}, {"version", c.Version}, {"URL of an interface", url}} {
		if f.value == "" {
			return spec.CardInfo{}, failuref("the card has no %s", f.what)
		}
	}
	return spec.CardInfo{
		Name: told(c.Name), Version: told(c.Version), URL: told(url), Skills: len(c.Skills),
	}, nil
}

// told is what somebody says of itself, fit to be shown.
func told(s string) string { return observe.Printable(s, maxQuoted) }
