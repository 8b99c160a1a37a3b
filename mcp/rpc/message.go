package rpc

import (
	"bytes"
	"encoding/json"
)

// Message is one JSON-RPC 2.0 message. Its parts are bytes of what it was parsed
// from, and nil where they are not there.
type Message struct {
	ID     json.RawMessage // a string or a number; null only in a response
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// Request says whether m asks for an answer.
func (m Message) Request() bool { return m.Method != "" && m.ID != nil }

// Notification says whether m asks for nothing.
func (m Message) Notification() bool { return m.Method != "" && m.ID == nil }

// Response says whether m is an answer.
func (m Message) Response() bool { return m.Method == "" }

// version is the value of the member jsonrpc.
const version = `"2.0"`

// Parse reads one message. What is no JSON is a *Error with CodeParse, what is no
// message of JSON-RPC 2.0 one with CodeInvalidRequest; then the message has those
// parts that could be read, the id among them if it is one. The message refers to b.
func Parse(b []byte) (Message, error) {
	if !json.Valid(b) {
		return Message{}, Errorf(CodeParse, "this is no JSON")
	}
	return parseValid(bytes.TrimSpace(b))
}

// ParseAll reads a message, or a batch of them as the revision 2025-03-26 of MCP has
// it; batch says which. Each member of a batch that is no message has its error at
// the same place in errs. The error is that of b as a whole.
func ParseAll(b []byte) (all []Message, errs []error, batch bool, err error) {
	if !json.Valid(b) {
		return nil, nil, false, Errorf(CodeParse, "this is no JSON")
	}
	b = bytes.TrimSpace(b)
	if b[0] != '[' {
		m, err := parseValid(b)
		return []Message{m}, []error{err}, false, nil
	}
	for item := range Items(b) {
		m, err := parseValid(item)
		all, errs = append(all, m), append(errs, err)
	}
	if len(all) == 0 {
		return nil, nil, true, Errorf(CodeInvalidRequest, "the batch is empty")
	}
	return all, errs, true, nil
}

// parseValid takes the envelope of b apart, which is JSON without blanks around.
func parseValid(b []byte) (Message, error) {
	var m Message
	if b[0] != '{' {
		return m, Errorf(CodeInvalidRequest, "a message has to be an object")
	}
	seen, current, wrong := 0, false, ""
	for name, value := range Members(b) {
		bit := 0
		switch string(name) {
		case `"jsonrpc"`:
			bit, current = 1, string(value) == version
		case `"id"`:
			bit, m.ID = 2, value
		case `"method"`:
			bit = 4
			if s, ok := Text(value); ok && s != "" {
				m.Method = s
			} else {
				wrong = "the method has to be a string that is not empty"
			}
		case `"params"`:
			bit, m.Params = 8, value
		case `"result"`:
			bit, m.Result = 16, value
		case `"error"`:
			bit, m.Error = 32, value
		}
		if seen&bit != 0 {
			wrong = "the member " + string(name) + " is there twice"
		}
		seen |= bit
	}
	if !current {
		wrong = "jsonrpc has to be " + version
	}
	return m.checked(wrong)
}

// checked refuses what is not one of request, notification and response. An id that
// is none is not echoed.
func (m Message) checked(wrong string) (Message, error) {
	null := string(m.ID) == "null"
	switch {
	case m.ID != nil && !null && !validID(m.ID):
		m.ID, wrong = nil, "the id has to be a string or a number"
	case wrong != "":
	case m.Method != "" && null:
		m.ID, wrong = nil, "the id of a request must not be null"
	case m.Method != "" && (m.Result != nil || m.Error != nil):
		wrong = "a message with a method has neither result nor error"
	case m.Method != "" && m.Params != nil && m.Params[0] != '{' && m.Params[0] != '[':
		wrong = "params have to be an object"
	case m.Method == "" && (m.Result == nil) == (m.Error == nil):
		wrong = "a message has either a method, or a result, or an error"
	case m.Method == "" && m.ID == nil, m.Method == "" && null && m.Error == nil:
		wrong = "a response needs an id"
	case m.Error != nil && m.Error[0] != '{':
		wrong = "an error has to be an object"
	}
	if wrong != "" {
		return m, Errorf(CodeInvalidRequest, "%s", wrong)
	}
	return m, nil
}

// Append writes m to b as one line without its end: line breaks between the parts of
// what was read, which JSON takes for blanks, become such.
func (m Message) Append(b []byte) []byte {
	start := len(b)
	b = append(append(b, `{"jsonrpc":`...), version...)
	b = appendPart(b, `,"id":`, m.ID)
	if m.Method != "" {
		b = append(b, `,"method":`...)
		b = AppendText(b, m.Method)
	}
	b = appendPart(b, `,"params":`, m.Params)
	b = appendPart(b, `,"result":`, m.Result)
	b = appendPart(b, `,"error":`, m.Error)
	oneLine(b[start:])
	return append(b, '}')
}

// Bytes gives m as one line without its end.
func (m Message) Bytes() []byte {
	size := 64 + len(m.ID) + len(m.Method) + len(m.Params) + len(m.Result) + len(m.Error)
	return m.Append(make([]byte, 0, size))
}

func appendPart(b []byte, name string, value []byte) []byte {
	if value == nil {
		return b
	}
	return append(append(b, name...), value...)
}

// oneLine replaces line breaks by blanks. Within a string there can be none.
func oneLine(b []byte) {
	for i := range b {
		if b[i] == '\n' || b[i] == '\r' {
			b[i] = ' '
		}
	}
}
