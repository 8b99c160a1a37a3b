package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// rpcMessage is what a server sends, as JSON-RPC 2.0 has it: an answer, or (with
// a method) a request or a notification of its own.
type rpcMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcError       `json:"error"`
}

// rpcError is the answer of a server that speaks, and refuses.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *rpcError) Error() string {
	return fmt.Sprintf("error %d%s", e.Code, quoted([]byte(e.Message)))
}

// codeNoMethod is the code of a method that the server does not know.
const codeNoMethod = -32601

// errNotOurs says that a message answers nothing: the server asks or tells.
var errNotOurs = errors.New("a message of the server's own")

// parseAnswer gives the result of the request with this id. The error is
// errNotOurs, an *rpcError, or says what is wrong with the message.
func parseAnswer(message []byte, id int64) (json.RawMessage, error) {
	var m rpcMessage
	if err := json.Unmarshal(message, &m); err != nil {
		return nil, failuref("the answer is no JSON-RPC message: %s", jsonTrouble(err, message))
	}
	switch {
	case m.Version != "2.0":
		return nil, failuref("the answer is no JSON-RPC 2.0 message%s", quoted(message))
	case m.Method != "":
		return nil, errNotOurs
	case m.Result == nil && m.Error == nil:
		return nil, failuref("the answer has neither result nor error%s", quoted(message))
	case string(bytes.TrimSpace(m.ID)) != strconv.FormatInt(id, 10):
		return nil, failuref("the answer has the id %s, not %d", named(m.ID), id)
	case m.Error != nil:
		return nil, m.Error
	}
	return m.Result, nil
}

// errorIn gives the JSON-RPC error in the body of a refusal, or nil. Its id plays
// no part: some servers answer with one of their own.
func errorIn(body []byte) *rpcError {
	var m rpcMessage
	if json.Unmarshal(body, &m) != nil || m.Version != "2.0" {
		return nil
	}
	return m.Error
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
func awaitAnswer(events *eventReader, id int64) (json.RawMessage, error) {
	for range maxEvents {
		ev, err := events.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, failuref("the event stream ended without an answer")
		case err != nil:
			return nil, err
		case ev.name != "message":
			continue
		}
		result, err := parseAnswer(ev.data, id)
		if !errors.Is(err, errNotOurs) {
			return result, err
		}
	}
	return nil, errStreamTooLong
}
