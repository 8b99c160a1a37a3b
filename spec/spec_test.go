package spec

import "testing"

// fullManifest sets every field there is, but those that only an Agent has.
const fullManifest = `apiVersion: proc-controller.dev/v1alpha1
kind: MCPServer
metadata:
  name: files
  labels: {team: dev}
  annotations: {example.org/note: "as it was"}
spec:
  command: [npx, -y, "@modelcontextprotocol/server-everything", streamableHttp]
  args: [--port, $(PORT)]
  workingDir: ~/src
  env:
    - {name: LOG_LEVEL, value: debug}
    - {name: TOKEN, valueFrom: {file: {path: ~/.secrets/token}}}
  envFrom:
    - file: {path: .env, optional: true}
  inheritEnv: ["LC_*", HOME]
  ports: [{name: http, port: 0}]
  replicas: 2
  suspend: true
  restartPolicy: OnFailure
  backoff: {initial: 0s, max: 1m30s, factor: 1.5, resetAfter: 1h}
  stopSignal: INT
  terminationGracePeriodSeconds: 3
  onControllerExit: Keep
  killMode: Group
  scope: Required
  resources: {limits: {memory: 1Gi, cpu: "1.5", pids: 200}}
  startupProbe: {exec: {command: [test, -e, ready]}, initialDelaySeconds: 1, periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 60}
  readinessProbe: {httpGet: {path: /ready, port: http, host: localhost, scheme: HTTPS, httpHeaders: [{name: Accept, value: text/plain}]}, successThreshold: 2}
  livenessProbe: {tcpSocket: {port: 8080, host: "::1"}}
  mcp: {transport: sse, port: http, path: /events, protocol: Legacy}
  dependsOn: [{kind: MCPServer, name: db, condition: Started, onRestart: Restart}]
  strategy: {type: BlueGreen, progressDeadlineSeconds: 30}
  lifecycle: {preStop: {exec: {command: [flush]}}}
  successExitCodes: [143]
  logs: {maxBytes: 1Mi, keep: 1}
`

// agentManifest has the fields that only an Agent has.
const agentManifest = `apiVersion: proc-controller.dev/v1alpha1
kind: Agent
metadata: {name: a}
spec:
  command: [a]
  ports: [{name: http, port: 0}]
  a2a: {port: http, path: /card.json}
  mcpServers: [{name: files}]
`

var testMarkers = Markers{
	Subprocess: true,
	Owner:      "manifests-0a1b2c3d",
	Instance:   "k7f3q-8812345",
	Hash:       "9c1e0a1b2c3d4e5f",
	OnExit:     ExitKeep,
	Ports:      PortMap{{"", 9000}, {"http", 8123}},
	MCPService: "files",
}

// decodeOne decodes a manifest of one document, which must be valid.
func decodeOne(tb testing.TB, manifest string) *Object {
	tb.Helper()
	docs := Decode("files.yaml", []byte(manifest))
	if len(docs) != 1 || docs[0].Object == nil {
		tb.Fatalf("Decode: %+v", docs)
	}
	return docs[0].Object
}

func sample(tb testing.TB) *Object {
	tb.Helper()
	return decodeOne(tb, fullManifest)
}
