package loopback

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		at, host string
		want     bool
	}{
		{"127.0.0.1:8080", "127.0.0.1:8080", true},
		{"127.0.0.1:8080", "localhost:8080", true},
		{"127.0.0.1:8080", "LocalHost:8080", true},
		{"127.0.0.1:8080", "127.0.0.1:8081", false},
		{"127.0.0.1:8080", "127.0.0.1", false},
		{"127.0.0.1:8080", "localhost", false},
		{"127.0.0.1:8080", "localhost.:8080", false},
		{"127.0.0.1:8080", "localhost.evil.example:8080", false},
		{"127.0.0.1:8080", "127.0.0.2:8080", false},
		{"127.0.0.1:8080", "[::1]:8080", false},
		{"127.0.0.1:8080", "evil.example:8080", false},
		{"127.0.0.1:8080", "", false},
		{"127.0.0.9:8080", "127.0.0.9:8080", true},
		{"[::1]:8080", "[::1]:8080", true},
		{"[::1]:8080", "::1:8080", false},
		{"[::1]:8080", "localhost:8080", true},
		{"[::ffff:127.0.0.1]:8080", "127.0.0.1:8080", true},
		{"127.0.0.1:80", "127.0.0.1:80", true},
		{"127.0.0.1:80", "127.0.0.1", true},
		{"127.0.0.1:80", "localhost", true},
		{"[::1]:80", "[::1]", true},
	} {
		names := NamesOf(netip.MustParseAddrPort(tt.at))
		if got := names.Include(tt.host); got != tt.want {
			t.Errorf("%s is called %q: %v, want %v", tt.at, tt.host, got, tt.want)
		}
		r := &http.Request{Header: http.Header{"Origin": {"http://" + tt.host}}}
		if origin, foreign := names.ForeignPage(r); foreign == tt.want || foreign && origin != "http://"+tt.host {
			t.Errorf("%s is asked by a page of %q: %v, %q", tt.at, tt.host, foreign, origin)
		}
	}
}

func TestForeignPages(t *testing.T) {
	names := NamesOf(netip.MustParseAddrPort("127.0.0.1:8080"))
	const own = "http://127.0.0.1:8080"
	for _, tt := range []struct {
		origins []string
		foreign string // the origin that is; empty for none
	}{
		{nil, ""},
		{[]string{own}, ""},
		{[]string{"HTTP://LOCALHOST:8080"}, ""},
		{[]string{"null"}, "null"},
		{[]string{"https://127.0.0.1:8080"}, "https://127.0.0.1:8080"},
		{[]string{"127.0.0.1:8080"}, "127.0.0.1:8080"},
		{[]string{"http:/"}, "http:/"},
		{[]string{own + "/"}, own + "/"},
		{[]string{own, "http://evil.example"}, "http://evil.example"},
	} {
		origin, foreign := names.ForeignPage(&http.Request{Header: http.Header{"Origin": tt.origins}})
		if origin != tt.foreign || foreign != (tt.foreign != "") {
			t.Errorf("%q: %q, %v", tt.origins, origin, foreign)
		}
	}
	if _, foreign := names.ForeignPage(&http.Request{Header: http.Header{"Origin": {""}}}); !foreign {
		t.Error("an origin that is empty passes")
	}
}
