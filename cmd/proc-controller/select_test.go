package main

import (
	"testing"

	"github.com/proc-controller/proc-controller/spec"
)

// What is not found is not what is suggested, also where it has come meanwhile.
func TestSuggestions(t *testing.T) {
	server := func(name string) spec.Key { return spec.Key{Kind: spec.KindMCPServer, Name: name} }
	agent := func(name string) spec.Key { return spec.Key{Kind: spec.KindAgent, Name: name} }
	for _, tt := range []struct {
		all  []spec.Key
		want string
	}{
		{nil, "no MCPServer named files"},
		{[]spec.Key{server("file")}, "no MCPServer named files (did you mean file?)"},
		{[]spec.Key{server("file"), agent("files")}, "no MCPServer named files (did you mean agent/files?)"},
		{[]spec.Key{server("files")}, "no MCPServer named files"},
		{[]spec.Key{server("files"), server("notes")}, "no MCPServer named files"},
	} {
		if got := noSuch(server("files"), tt.all).Error(); got != tt.want {
			t.Errorf("of %v: %q, want %q", tt.all, got, tt.want)
		}
	}
}
