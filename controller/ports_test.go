package controller

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proc-controller/proc-controller/spec"
)

// Ports that an instance had are what the next one is to have, also after a
// restart of the controller.
func TestPortsAreRemembered(t *testing.T) {
	in := instance(files, "a", 1)
	in.Ports = spec.NewPortMap(spec.NamedPort{Name: "http", Port: 8123})
	beside := instance(files, "b", 2)
	beside.Ports = spec.NewPortMap(spec.NamedPort{Name: "http", Port: 8124})
	h := History{}.With(
		Started{Key: files, Instance: recordOf(in, true)},
		Started{Key: files, Instance: recordOf(beside, true)},
	)
	for _, tt := range []struct {
		events []Event
		want   spec.PortMap
	}{
		{nil, beside.Ports},
		{[]Event{Gone{Key: files, ID: in.ID}}, in.Ports},
		{[]Event{Gone{Key: files, ID: in.ID}, Gone{Key: files, ID: beside.ID}}, beside.Ports},
		{[]Event{Rebooted{files}}, beside.Ports},
	} {
		next := h.With(tt.events...)
		line, err := json.Marshal(newRecord(next.Records()[0], "boot"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, Restore("boot", slices.Values([][]byte{line})).Of(files).Ports); diff != "" {
			t.Errorf("after %v: %s", tt.events, diff)
		}
	}
}
