package rpc

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// The codes of JSON-RPC 2.0, and those that MCP reserves from its revision
// 2026-07-28 on.
const (
	CodeParse          = -32700 // no JSON
	CodeInvalidRequest = -32600 // no message
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeServer         = -32000 // what went wrong on this side, in the words of the message
	CodeSession        = -32001 // no such session

	CodeHeaderMismatch     = -32020 // a header of HTTP says something else than the body
	CodeMissingCapability  = -32021 // the client did not declare a capability that is needed
	CodeUnsupportedVersion = -32022 // of the protocol; data: {supported, requested}
)

// Error is the error object of a response.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage // nil where there is none
}

// Errorf makes an error without data.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string { return e.Message }

// Object gives e as it stands in a response.
func (e *Error) Object() json.RawMessage {
	b := strconv.AppendInt([]byte(`{"code":`), int64(e.Code), 10)
	b = AppendText(append(b, `,"message":`...), e.Message)
	b = appendPart(b, `,"data":`, e.Data)
	return append(b, '}')
}

// Response gives the answer to the request id that is e. Without an id it has null,
// as JSON-RPC wants it of what could not be read.
func (e *Error) Response(id json.RawMessage) Message {
	if id == nil {
		id = json.RawMessage("null")
	}
	return Message{ID: id, Error: e.Object()}
}

// ParseError reads an error object; what is not there is left empty.
func ParseError(object json.RawMessage) *Error {
	e := &Error{Data: Get(object, "data")}
	e.Code, _ = strconv.Atoi(string(Get(object, "code")))
	e.Message, _ = Text(Get(object, "message"))
	return e
}

// ErrorIn gives the error of JSON-RPC in the body of an answer over HTTP that is a
// refusal, and nil where there is none. Its id plays no part: some servers leave it
// out, or answer with one of their own.
func ErrorIn(body []byte) *Error {
	m, _ := Parse(body)
	if len(m.Error) == 0 || m.Error[0] != '{' || string(Get(body, "jsonrpc")) != version {
		return nil
	}
	return ParseError(m.Error)
}
