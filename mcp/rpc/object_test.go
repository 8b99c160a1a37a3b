package rpc

import (
	"encoding/json"
	"reflect"
	"testing"
)

const nested = `{ "a" : {"b":[1, 2,"x,]}"], "c\"":"\\"} , "_meta":{"progressToken":7,"other":{}}, "t":true }`

func TestGet(t *testing.T) {
	tests := []struct {
		path []string
		want string
	}{
		{[]string{"a", "b"}, `[1, 2,"x,]}"]`},
		{[]string{"a", `c"`}, `"\\"`},
		{[]string{"_meta", "progressToken"}, `7`},
		{[]string{"t"}, `true`},
		{[]string{"t", "x"}, ``},
		{[]string{"a", "b", "0"}, ``},
		{[]string{"none"}, ``},
	}
	for _, tt := range tests {
		if got := Get(json.RawMessage(nested), tt.path...); string(got) != tt.want {
			t.Errorf("Get %v = %s, want %s", tt.path, got, tt.want)
		}
	}
}

func TestSet(t *testing.T) {
	tests := []struct {
		object, value string
		path          []string
		want          string
	}{
		{`{"a":1,"b":2}`, `3`, []string{"a"}, `{"b":2,"a":3}`},
		{`{"a":1,"a":2}`, `3`, []string{"a"}, `{"a":3}`},
		{`{"m":{"t":1,"o":2}}`, `"x"`, []string{"m", "t"}, `{"m":{"o":2,"t":"x"}}`},
		{`{"m":{"t":1,"o":2}}`, ``, []string{"m", "t"}, `{"m":{"o":2}}`},
		{`{"m":1}`, ``, []string{"n", "t"}, `{"m":1}`},
		{``, `1`, []string{"m", "t"}, `{"m":{"t":1}}`},
		{`{}`, `1`, []string{`q"`}, `{"q\"":1}`},
	}
	for _, tt := range tests {
		var value json.RawMessage
		if tt.value != "" {
			value = json.RawMessage(tt.value)
		}
		if got := Set(json.RawMessage(tt.object), value, tt.path...); string(got) != tt.want {
			t.Errorf("Set(%s, %v) = %s, want %s", tt.object, tt.path, got, tt.want)
		}
	}
}

func TestText(t *testing.T) {
	for _, s := range []string{"", "a", `"`, `\`, "é", "\x00\n", "<&>", "\u2028"} {
		q := AppendText(nil, s)
		if got, ok := Text(q); !ok || got != s {
			t.Errorf("%q became %s and then %q", s, q, got)
		}
	}
	for _, s := range []string{``, `1`, `null`, `{}`} {
		if _, ok := Text(json.RawMessage(s)); ok {
			t.Errorf("%s passes for a string", s)
		}
	}
}

func TestError(t *testing.T) {
	e := &Error{Code: CodeUnsupportedVersion, Message: `no "x"`, Data: json.RawMessage(`{"requested":"x"}`)}
	want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"no \"x\"","data":{"requested":"x"}}}`
	if got := string(e.Response(nil).Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := ParseError(e.Object()); !reflect.DeepEqual(got, e) {
		t.Errorf("read again: %+v", got)
	}
}

// TestErrorIn: whatever else the body has, the error is in it or it is not.
func TestErrorIn(t *testing.T) {
	const said = `"error":{"code":-32000,"message":"no such session"}`
	for body, there := range map[string]bool{
		`{"jsonrpc":"2.0",` + said + `}`:              true, // with no id at all
		`{"jsonrpc":"2.0","id":null,` + said + `}`:    true,
		`{"jsonrpc":"2.0","id":"own",` + said + "}\n": true,
		`{"id":1,` + said + `}`:                       false,
		`{"jsonrpc":"1.0","id":1,` + said + `}`:       false,
		`{"jsonrpc":"2.0","id":1,"error":"no"}`:       false,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:        false,
		`{"jsonrpc":"2.0","id":1,` + said:             false,
		`[{"jsonrpc":"2.0","id":1,` + said + `}]`:     false,
		``: false,
	} {
		if e := ErrorIn([]byte(body)); (e != nil) != there || there && e.Message != "no such session" {
			t.Errorf("%s: %+v", body, e)
		}
	}
}

// FuzzObject compares the walk over an object with what encoding/json makes of it.
func FuzzObject(f *testing.F) {
	f.Add([]byte(nested))
	f.Add([]byte(`{"a":-1.5e+7,"b":null,"c":[[],{}],"":"\u2028"}`))
	f.Add([]byte(`{"a`))
	f.Fuzz(func(t *testing.T, b []byte) {
		walked := map[string]any{}
		for name, value := range Members(b) {
			var v any
			s, _ := Text(name)
			if json.Unmarshal(value, &v) == nil {
				walked[s] = v
			}
		}
		for range Items(b) {
			continue
		}
		var want map[string]any
		if json.Unmarshal(b, &want) != nil || want == nil {
			return // it is enough that the walk ended
		}
		if !reflect.DeepEqual(walked, want) {
			t.Fatalf("%q: walked %v, want %v", b, walked, want)
		}
		var set map[string]any
		if err := json.Unmarshal(Set(b, json.RawMessage(`{"x":1}`), "key"), &set); err != nil || len(set) < len(want) || set["key"] == nil {
			t.Fatalf("%q: set %v (%v)", b, set, err)
		}
	})
}
