package door

import (
	"encoding/json"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// hear passes on to the client what the server says beside answers. It came for c, or
// by itself where c is nil.
func (d *door) hear(way link, c *call, m rpc.Message) {
	switch {
	case m.Response():
		d.log.say("the server answers the id %s, which nothing was asked with: dropped", firstLine(string(m.ID)))
		return
	case m.Request():
		given, ok := d.asked.ask(way, m.ID)
		if !ok {
			e := rpc.Errorf(rpc.CodeServer, "too many requests to the client: %d have no answer yet", maxAsked)
			d.outbox.put(&letter{m: e.Response(m.ID), after: begun, only: way})
			return
		}
		m.ID = given
	case m.Method == methodCancelled:
		m = d.cancelled(way, m)
	case m.Method == methodAcknowledged && c != nil:
		if c.acknowledged {
			d.announceTo(c)
			return
		}
		c.acknowledged = true
	}
	d.out.write(m)
}

// cancelled puts in the id that the client knows, where a request of the server is
// cancelled.
func (d *door) cancelled(way link, m rpc.Message) rpc.Message {
	if given, ok := d.asked.given(way, rpc.Get(m.Params, "requestId")); ok {
		m.Params = rpc.Set(m.Params, given, "requestId")
	}
	return m
}

// changes are the notifications that say that something has changed, by what they are
// called in the capabilities of a server and in a subscription.
var changes = []struct{ capability, subscribed, method string }{
	{"tools", "toolsListChanged", "notifications/tools/list_changed"},
	{"prompts", "promptsListChanged", "notifications/prompts/list_changed"},
	{"resources", "resourcesListChanged", "notifications/resources/list_changed"},
}

// announce tells the client that everything may be different, with another server.
func (d *door) announce(capabilities json.RawMessage) {
	for _, c := range changes {
		if string(rpc.Get(capabilities, c.capability, "listChanged")) == "true" {
			d.out.write(rpc.Message{Method: c.method})
		}
	}
}

// announceTo does so for a subscription of the modern era that was renewed.
func (d *door) announceTo(sub *call) {
	meta := append(append([]byte(`{"_meta":{"io.modelcontextprotocol/subscriptionId":`), sub.m.ID...), "}}"...)
	for _, c := range changes {
		if string(rpc.Get(sub.m.Params, "notifications", c.subscribed)) == "true" {
			d.out.write(rpc.Message{Method: c.method, Params: meta})
		}
	}
}
