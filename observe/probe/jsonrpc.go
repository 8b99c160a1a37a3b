package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// newMessage makes a request, or without an id a notification.
func newMessage(method string, params map[string]any, id int64) (rpc.Message, error) {
	m := rpc.Message{Method: method}
	if id != 0 {
		m.ID = rpc.NumberID(id)
	}
	if len(params) == 0 {
		return m, nil
	}
	var err error
	m.Params, err = json.Marshal(params)
	return m, err
}

// errNotOurs says that a message answers nothing: the server asks or tells.
var errNotOurs = errors.New("a message of the server's own")

// parseAnswer gives the result of the request with this id. The error is
// errNotOurs, wraps an *rpc.Error, or says what is wrong with the message.
//
// It judges less than rpc.Parse does: a server is not unhealthy because it writes
// members that do not belong there, or writes null for those that it leaves out.
func parseAnswer(message []byte, id int64) (json.RawMessage, error) {
	m, err := rpc.Parse(message)
	if string(m.Error) == "null" {
		m.Error = nil
	}
	switch wrong := noMessage(message, err); {
	case wrong != "":
		return nil, failuref("the answer is no JSON-RPC message: %s", wrong)
	case string(rpc.Get(message, "jsonrpc")) != `"2.0"`:
		return nil, failuref("the answer is no JSON-RPC 2.0 message%s", quoted(message))
	case m.Method != "":
		return nil, errNotOurs
	case m.Result == nil && m.Error == nil:
		return nil, failuref("the answer has neither result nor error%s", quoted(message))
	case !hasID(m, id):
		return nil, failuref("the answer has the id %s, not %d", named(m.ID), id)
	case m.Error != nil && m.Error[0] != '{':
		return nil, failuref("the answer is no JSON-RPC message: %v%s", err, quoted(message))
	case m.Error != nil:
		return nil, refusedWith(rpc.ParseError(m.Error))
	}
	return m.Result, nil
}

// noMessage says why what rpc.Parse has not taken is no message of any version;
// "" where it may be one.
func noMessage(text []byte, err error) string {
	var is *rpc.Error
	switch {
	case errors.As(err, &is) && is.Code == rpc.CodeParse:
		var value json.RawMessage
		return jsonTrouble(json.Unmarshal(text, &value), text)
	case err != nil && bytes.TrimSpace(text)[0] != '{':
		return err.Error() + quoted(text)
	}
	return ""
}

func hasID(m rpc.Message, id int64) bool {
	n, ok := rpc.Number(m.ID)
	return ok && n == id
}

// refusedWith is the answer of a server that speaks, and refuses.
func refusedWith(e *rpc.Error) error {
	return &failure{fmt.Sprintf("error %d%s", e.Code, quoted([]byte(e.Message))), e}
}

func named(id json.RawMessage) string {
	if len(id) == 0 {
		return "(none)"
	}
	return told(string(id))
}

// jsonTrouble says what is wrong with a text that should be JSON, and quotes it.
func jsonTrouble(err error, text []byte) string {
	var syntax *json.SyntaxError
	if len(bytes.TrimSpace(text)) == 0 {
		return "it is empty"
	}
	if errors.As(err, &syntax) && int(syntax.Offset) >= len(text) {
		return "it is cut off" + quoted(text)
	}
	return told(err.Error()) + quoted(text)
}

// maxEvents bounds how many events may come before an answer.
const maxEvents = 4096

// awaitAnswer reads an event stream until it has the answer to the request with
// this id.
func awaitAnswer(events *rpc.EventReader, id int64) (json.RawMessage, error) {
	for range maxEvents {
		e, err := events.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil, failuref("the event stream ended without an answer")
		case err != nil:
			return nil, err
		case !e.IsMessage():
			continue
		}
		result, err := parseAnswer(e.Data, id)
		if !errors.Is(err, errNotOurs) {
			return result, err
		}
	}
	return nil, errStreamTooLong
}
