package reference

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// samples are manifests that leave out what can be left out. What decoding puts
// there is the default. An earlier sample counts before a later one.
var samples = []string{
	`{"apiVersion": "` + spec.APIVersion + `", "kind": "MCPServer", "metadata": {"name": "a"}, "spec": {
		"command": ["a"], "ports": [{"name": "http", "port": 1}, {"name": "other"}], "backoff": {}, "resources": {"limits": {}},
		"env": [{"name": "A", "valueFrom": {"file": {"path": "a"}}}],
		"startupProbe": {"exec": {"command": ["a"]}}, "readinessProbe": {"httpGet": {"port": 1, "httpHeaders": []}},
		"livenessProbe": {"tcpSocket": {"port": 1}}, "mcp": {"port": 1}, "dependsOn": [{"kind": "Agent", "name": "a"}],
		"strategy": {}, "lifecycle": {"preStop": {"httpGet": {"port": 1}}}}}`,
	`{"apiVersion": "` + spec.APIVersion + `", "kind": "Agent", "metadata": {"name": "a"}, "spec": {
		"command": ["a"], "strategy": {"type": "BlueGreen"}}}`,
	`{"apiVersion": "` + spec.APIVersion + `", "kind": "MCPServer", "metadata": {"name": "a"}, "spec": {
		"command": ["a"], "readinessProbe": {"mcp": {"port": 1}}, "mcp": {"port": 1, "transport": "stdio"}}}`,
	`{"apiVersion": "` + spec.APIVersion + `", "kind": "MCPServer", "metadata": {"name": "a"}, "spec": {
		"command": ["a"], "readinessProbe": {"mcp": {"port": 1}}, "mcp": {"port": 1, "transport": "stdio", "sharing": "PerSession"}}}`,
}

// defaults gives the default of each field that has one, by Type.Field, in the
// form that JSON has.
func defaults() map[string]any {
	// These are not filled in: an object of an older release would differ.
	found := map[string]any{
		"Logs.MaxBytes": fmt.Sprintf("%dMi", spec.DefaultLogBounds.MaxBytes>>20),
		"Logs.Keep":     asJSON(spec.DefaultLogBounds.Keep),
	}
	for _, s := range samples {
		var written any
		o := spec.Decode("sample", []byte(s))[0].Object
		if json.Unmarshal([]byte(s), &written) != nil || o == nil {
			panic("reference: a sample is not valid") // a test calls this
		}
		addDefaults(found, reflect.ValueOf(o).Elem(), written)
	}
	return found
}

// addDefaults adds what is in a struct and was not written.
func addDefaults(found map[string]any, v reflect.Value, written any) {
	fields, _ := written.(map[string]any)
	for sf, fv := range v.Fields() {
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		value, isWritten := fields[name]
		for fv.Kind() == reflect.Pointer && !fv.IsNil() {
			fv = fv.Elem()
		}
		switch id := v.Type().Name() + "." + sf.Name; {
		case fv.IsZero():
		case fv.Kind() == reflect.Struct:
			addDefaults(found, fv, value)
		case fv.Kind() == reflect.Slice && fv.Type().Elem().Kind() == reflect.Struct:
			elements, _ := value.([]any)
			for i := range elements {
				addDefaults(found, fv.Index(i), elements[i])
			}
		case !isWritten:
			if _, known := found[id]; !known {
				found[id] = asJSON(fv.Interface())
			}
		}
	}
}

// asJSON gives a value as it would come out of JSON.
func asJSON(v any) (decoded any) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &decoded)
	}
	if err != nil {
		panic("reference: " + err.Error()) // the types of a manifest are all of JSON
	}
	return decoded
}
