package probe

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestSloppyAnswers: what a strict reader of JSON-RPC would refuse, and no server is
// unhealthy for.
func TestSloppyAnswers(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{
		"null for what is not there": `{"jsonrpc":"2.0","id":1,"result":{},"error":null,"method":null,"params":null}`,
		"no result to speak of":      `{"jsonrpc":"2.0","id":1,"result":null}`,
		"twice":                      `{"jsonrpc":"2.0","id":2,"id":1,"result":{}}`,
	} {
		if result, err := parseAnswer([]byte(message), 1); err != nil || result == nil {
			t.Errorf("%s: %s, %v", name, result, err)
		}
	}
	for name, message := range map[string]string{
		"null for parameters": `{"jsonrpc":"2.0","method":"notifications/x","params":null}`,
		"null for the id":     `{"jsonrpc":"2.0","method":"ping","id":null}`,
		"with a result":       `{"jsonrpc":"2.0","method":"ping","id":1,"result":{}}`,
	} {
		if _, err := parseAnswer([]byte(message), 1); !errors.Is(err, errNotOurs) {
			t.Errorf("the server's own message, %s: %v", name, err)
		}
	}
}

// TestAnswersInStreams: what may stand before an answer in an event stream, and how one ends.
func TestAnswersInStreams(t *testing.T) {
	t.Parallel()
	const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
	broken := io.MultiReader(strings.NewReader("data: "), iotest.ErrReader(io.ErrUnexpectedEOF))
	for name, tc := range map[string]struct {
		in    io.Reader
		limit int
		says  string // of the failure; empty for none
	}{
		"ids, comments, others": {strings.NewReader("id: 1\n\n: x\n\nid: 2\ndata\n\nevent: x\ndata: y\n\ndata: " + answer + "\n\n"), 1000, ""},
		"named":                 {strings.NewReader("event: message\r\ndata: " + answer + "\r\n\r\n"), 1000, ""},
		"CR alone":              {strings.NewReader("data: " + answer + "\r\r"), 1000, ""},
		"a byte order mark":     {strings.NewReader("\ufeffdata: " + answer + "\n\n"), 1000, ""},
		"just within the bound": {strings.NewReader("data: x\n\n"), 9, "no JSON-RPC message"},
		"beyond it":             {strings.NewReader("data: x\n\n"), 8, "does not end"},
		"cut off":               {broken, 1000, "closed before the answer was complete"},
		"an end":                {strings.NewReader("data: " + answer), 1000, "ended without an answer"},
		"too many events":       {strings.NewReader(strings.Repeat("id: 1\n\n", maxEvents) + "data: " + answer + "\n\n"), 1 << 20, "does not end"},
	} {
		result, err := awaitAnswer(newEventReader(tc.in, tc.limit), 1)
		switch {
		case tc.says == "" && string(result) != "{}":
			t.Errorf("%s: %s, %v", name, result, err)
		case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
			t.Errorf("%s: %s, %v: want %q", name, result, err, tc.says)
		}
	}
}
