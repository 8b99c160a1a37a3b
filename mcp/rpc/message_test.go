package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

func TestParse(t *testing.T) {
	const request, notification, response = 1, 2, 3
	tests := []struct {
		in   string
		kind int
		code int // of the error
		id   string
	}{
		{in: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, kind: request, id: `1`},
		{in: " {\n\"method\" : \"ping\" ,\r\n \"id\" : \"a\\\"}\" , \"jsonrpc\":\"2.0\"} \n", kind: request, id: `"a\"}"`},
		{in: `{"jsonrpc":"2.0","method":"x","params":{"a":[1,{"b":"}"}]}}`, kind: notification},
		{in: `{"jsonrpc":"2.0","id":1.0,"result":{}}`, kind: response, id: `1.0`},
		{in: `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":""}}`, kind: response, id: `null`},
		{in: `{"jsonrpc":"2.0","id":-1e3,"result":null}`, kind: response, id: `-1e3`},
		{in: ``, code: CodeParse},
		{in: `nonsense`, code: CodeParse},
		{in: `{"jsonrpc":"2.0","id":1,"method":"ping"`, code: CodeParse},
		{in: `{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, code: CodeParse},
		{in: `"text"`, code: CodeInvalidRequest},
		{in: `[]`, code: CodeInvalidRequest},
		{in: `{}`, code: CodeInvalidRequest},
		{in: `{"id":1,"method":"ping"}`, code: CodeInvalidRequest, id: `1`},
		{in: `{"jsonrpc":"1.0","id":1,"method":"ping"}`, code: CodeInvalidRequest, id: `1`},
		{in: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, code: CodeInvalidRequest},
		{in: `{"jsonrpc":"2.0","id":{},"method":"ping"}`, code: CodeInvalidRequest},
		{in: `{"jsonrpc":"2.0","id":true,"method":"ping"}`, code: CodeInvalidRequest},
		{in: `{"jsonrpc":"2.0","id":1,"method":7}`, code: CodeInvalidRequest, id: `1`},
		{in: `{"jsonrpc":"2.0","id":1,"method":""}`, code: CodeInvalidRequest, id: `1`},
		{in: `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, code: CodeInvalidRequest, id: `2`},
		{in: `{"jsonrpc":"2.0","id":1,"method":"ping","params":7}`, code: CodeInvalidRequest, id: `1`},
		{in: `{"jsonrpc":"2.0","id":1,"method":"ping","result":7}`, code: CodeInvalidRequest, id: `1`},
		{in: `{"jsonrpc":"2.0","id":1,"result":7,"error":{}}`, code: CodeInvalidRequest, id: `1`},
		{in: `{"jsonrpc":"2.0","id":1,"error":7}`, code: CodeInvalidRequest, id: `1`},
		{in: `{"jsonrpc":"2.0","id":1}`, code: CodeInvalidRequest, id: `1`},
		{in: `{"jsonrpc":"2.0","result":1}`, code: CodeInvalidRequest},
		{in: `{"jsonrpc":"2.0","id":null,"result":1}`, code: CodeInvalidRequest, id: `null`},
	}
	for _, tt := range tests {
		m, err := Parse([]byte(tt.in))
		if code := codeOf(err); code != tt.code {
			t.Errorf("Parse(%s): code %d (%v), want %d", tt.in, code, err, tt.code)
		}
		if string(m.ID) != tt.id {
			t.Errorf("Parse(%s): id %s, want %s", tt.in, m.ID, tt.id)
		}
		if err == nil && (m.Request() != (tt.kind == request) || m.Notification() != (tt.kind == notification) || m.Response() != (tt.kind == response)) {
			t.Errorf("Parse(%s): not of kind %d", tt.in, tt.kind)
		}
	}
}

func codeOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func TestParseAll(t *testing.T) {
	all, errs, batch, err := ParseAll([]byte(` [{"jsonrpc":"2.0","id":1,"method":"a"}, 7 ,{"jsonrpc":"2.0","method":"b"}]`))
	if err != nil || !batch || len(all) != 3 || all[0].Method != "a" || all[2].Method != "b" {
		t.Errorf("batch: %v %v %v", all, batch, err)
	}
	if errs[0] != nil || codeOf(errs[1]) != CodeInvalidRequest || errs[2] != nil {
		t.Errorf("errors: %v", errs)
	}
	if _, _, _, err := ParseAll([]byte(`[ ]`)); codeOf(err) != CodeInvalidRequest {
		t.Errorf("empty batch: %v", err)
	}
	if all, errs, batch, err := ParseAll([]byte(`{"jsonrpc":"2.0","method":"b"}`)); err != nil || batch || len(all) != 1 || errs[0] != nil {
		t.Errorf("single: %v %v %v %v", all, errs, batch, err)
	}
}

func TestAppendIsOneLine(t *testing.T) {
	m, err := Parse([]byte("{\"jsonrpc\":\"2.0\",\r\n\"id\":7,\"method\":\"a<\\u00e9\",\"params\":{\n\"x\":\"\\n\"\n}}"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"jsonrpc":"2.0","id":7,"method":"a\u003cé","params":{ "x":"\n" }}`
	if got := string(m.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestKeyOf(t *testing.T) {
	ids := []string{`1`, `"1"`, `1.0`, `"a"`, `"a\\b"`, `"a\"b"`, `"\ud800"`, `"\ud801"`, `"<"`}
	seen := map[Key]string{}
	for _, id := range ids {
		k := KeyOf(json.RawMessage(id))
		if other, ok := seen[k]; ok {
			t.Errorf("%s and %s have one key", id, other)
		}
		seen[k] = id
	}
	for _, same := range [][2]string{{`"a"`, `"\u0061"`}, {`"<"`, `"\u003c"`}, {`"é"`, `"\u00e9"`}} {
		if KeyOf(json.RawMessage(same[0])) != KeyOf(json.RawMessage(same[1])) {
			t.Errorf("%s and %s have two keys", same[0], same[1])
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":"a"}}}`,
		`{"jsonrpc":"2.0","id":"\u0061","result":{"a":[1,2,{"b":"\\\""}]}}`, `[{},{"id":1}]`, `{"a":"\\"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		original := bytes.Clone(b)
		m, err := Parse(b)
		if err != nil {
			_, _, _, _ = ParseAll(b)
			return
		}
		line := m.Bytes()
		if !bytes.Equal(b, original) {
			t.Fatalf("the input was changed from %q to %q", original, b)
		}
		if bytes.ContainsAny(line, "\r\n") || !json.Valid(line) {
			t.Fatalf("%q becomes %q: not one line of JSON", b, line)
		}
		again, err := Parse(line)
		if err != nil || again.Method != m.Method || KeyOf(again.ID) != KeyOf(m.ID) || len(again.Params) != len(m.Params) {
			t.Fatalf("%q becomes %q: %v", b, line, err)
		}
	})
}
