package reference

import (
	"sync"

	"github.com/proc-controller/proc-controller/spec"
)

// required are the fields that have to be there wherever the one that they are in
// is, by Type.Field.
var required = map[string]bool{
	"Object.APIVersion": true, "Object.Kind": true, "Object.Metadata": true, "Object.Spec": true,
	"Metadata.Name": true, "Spec.Command": true, "EnvVar.Name": true, "EnvVarSource.File": true, "EnvFromSource.File": true,
	"FileSource.Path": true, "ExecAction.Command": true, "HTTPHeader.Name": true, "ServerRef.Name": true,
	"Dependency.Kind": true, "Dependency.Name": true, "MCPAuth.TokenFile": true,
}

// kinds are the fields that only one kind may have.
var kinds = map[string][]spec.Kind{
	"Spec.MCP": {spec.KindMCPServer}, "Spec.A2A": {spec.KindAgent}, "Spec.MCPServers": {spec.KindAgent},
}

// exactlyOne are the types of which one of several fields has to be there.
var exactlyOne = map[string][]string{
	"Probe": {"exec", "httpGet", "tcpSocket", "mcp", "a2a"},
	"Hook":  {"exec", "httpGet"},
}

// Patterns that are used more than once, as regular expressions of ECMA-262.
const (
	dnsLabel = `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`
	labelKey = `[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?`
	path     = `^([^~]|~/|~$)`
	maybeURL = `^(/[^ #]*)?$`
	duration = `^\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`
	quantity = `^([0-9]+\.?[0-9]*|\.[0-9]+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$`
	probePer = 86400
)

// bounds is what a JSON Schema can say of the values of a field beyond their type,
// by Type.Field. It never refuses what spec takes; what it lets through is found by
// spec.
var bounds = sync.OnceValue(func() map[string]rules {
	return map[string]rules{
		"Object.APIVersion":    {"const": spec.APIVersion},
		"Metadata.Name":        {"pattern": `^` + dnsLabel + `$`},
		"Metadata.Labels":      {"propertyNames": labelKeys(`[a-z0-9]`), "additionalProperties": rules{"type": "string", "pattern": `^(` + labelKey + `)?$`}},
		"Metadata.Annotations": {"propertyNames": labelKeys(`[A-Za-z0-9]`)},

		"Spec.Command":                       {"minItems": 1, "prefixItems": []any{rules{"type": "string", "minLength": 1}}},
		"Spec.WorkingDir":                    {"pattern": `^([^~]|~/|~$|$)`},
		"Spec.Env":                           {"maxItems": 1000},
		"Spec.EnvFrom":                       {"maxItems": 100},
		"Spec.InheritEnv":                    {"items": rules{"type": "string", "pattern": `^[^=]+$`}},
		"Spec.Ports":                         {"maxItems": 100},
		"Spec.Replicas":                      {"minimum": 0},
		"Spec.StopSignal":                    {"type": nil, "anyOf": signals()},
		"Spec.TerminationGracePeriodSeconds": {"minimum": 0, "maximum": 31536000},
		"Spec.DependsOn":                     {"maxItems": 100},
		"Spec.MCPServers":                    {"maxItems": 100},
		"Spec.SuccessExitCodes":              {"maxItems": 255, "uniqueItems": true, "items": rules{"type": "integer", "minimum": 1, "maximum": 255}},

		"EnvVar.Name":     {"pattern": `^[^=]+$`},
		"FileSource.Path": {"pattern": path},
		"Port.Name":       {"pattern": `^[a-z0-9-]*$`, "maxLength": 15},
		"Port.Port":       {"minimum": 0, "maximum": 65535},
		"Backoff.Factor":  {"minimum": 1},
		"Limits.Memory":   quantities,
		"Limits.CPU":      quantities,
		"Limits.PIDs":     {"minimum": 1},
		"Logs.MaxBytes":   quantities,
		"Logs.Keep":       {"minimum": 0, "maximum": 100},

		"Probe.InitialDelaySeconds":        {"minimum": 0, "maximum": probePer},
		"Probe.PeriodSeconds":              {"minimum": 1, "maximum": probePer},
		"Probe.TimeoutSeconds":             {"minimum": 1, "maximum": probePer},
		"Probe.SuccessThreshold":           {"minimum": 1, "maximum": 100000},
		"Probe.FailureThreshold":           {"minimum": 1, "maximum": 100000},
		"ExecAction.Command":               {"minItems": 1, "prefixItems": []any{rules{"type": "string", "minLength": 1}}},
		"HTTPGetAction.Path":               {"pattern": maybeURL},
		"HTTPGetAction.HTTPHeaders":        {"maxItems": 100},
		"HTTPHeader.Name":                  {"pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"},
		"HTTPHeader.Value":                 {"pattern": `^[^\x00-\x08\x0a-\x1f\x7f]*$`},
		"MCP.Path":                         {"pattern": maybeURL},
		"MCP.MaxSessions":                  {"minimum": 1, "maximum": 1000},
		"MCPAuth.TokenFile":                {"minLength": 1, "pattern": path},
		"A2A.Path":                         {"pattern": maybeURL},
		"Dependency.Name":                  {"pattern": `^` + dnsLabel + `$`},
		"ServerRef.Name":                   {"pattern": `^` + dnsLabel + `$`},
		"Strategy.ProgressDeadlineSeconds": {"minimum": 1, "maximum": probePer},
	}
})

var quantities = rules{"type": nil, "anyOf": []any{
	rules{"type": "string", "pattern": quantity},
	rules{"type": "number", "exclusiveMinimum": 0},
	rules{"const": ""},
}}

// labelKeys is what the keys of labels may look like, with the first and last
// characters that a prefix may have.
func labelKeys(edge string) rules {
	inner := edge[:len(edge)-1] + `-]`
	part := edge + `(` + inner + `*` + edge + `)?`
	return rules{"pattern": `^(` + part + `(\.` + part + `)*/)?` + labelKey + `$`}
}

// signals are the ways to write one: by name in two forms, or by number. SIGSTOP
// ends nothing.
func signals() []any {
	var names, short []any
	const stop, last = 19, 31
	for n := 1; n <= last; n++ {
		if name := spec.SignalName(n); n != stop {
			names, short = append(names, name), append(short, name[len("SIG"):])
		}
	}
	return []any{
		rules{"enum": names},
		rules{"enum": short},
		rules{"type": "string", "pattern": `^([1-9]|1[0-8]|2[0-9]|3[01])$`},
		rules{"type": "integer", "minimum": 1, "maximum": last, "not": rules{"const": stop}},
	}
}
