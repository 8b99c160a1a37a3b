package bridge

import (
	"encoding/json"
	"slices"
	"strings"
)

// The revisions of MCP that the bridge knows. Those of the legacy era begin with a
// handshake; the modern one has none.
const (
	modernVersion = "2026-07-28"
	latestLegacy  = "2025-11-25"
	batchVersion  = "2025-03-26" // the only one with batches
	// primeVersion is the first one in which a stream begins with an event that has an
	// id and empty data.
	primeVersion = "2025-11-25"
)

var legacyVersions = []string{latestLegacy, "2025-06-18", batchVersion, "2024-11-05"}

func isLegacy(version string) bool { return slices.Contains(legacyVersions, version) }

// allVersions is the list of them as it stands in an answer, newest first.
var allVersions = json.RawMessage(`["` + strings.Join(append([]string{modernVersion}, legacyVersions...), `","`) + `"]`)

// Members of _meta that the modern era has for each request, result and notification.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// Methods that the bridge does not just pass on.
const (
	methodInitialize  = "initialize"
	methodDiscover    = "server/discover"
	methodPing        = "ping"
	methodSetLevel    = "logging/setLevel"
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
	methodListen      = "subscriptions/listen"
	methodTools       = "tools/list"
	noteInitialized   = "notifications/initialized"
	noteCancelled     = "notifications/cancelled"
	noteLog           = "notifications/message"
	noteUpdated       = "notifications/resources/updated"
	noteTools         = "notifications/tools/list_changed"
	notePrompts       = "notifications/prompts/list_changed"
	noteResources     = "notifications/resources/list_changed"
	noteAcknowledged  = "notifications/subscriptions/acknowledged"
)

const (
	emptyObject = "{}"
	// As whom the bridge greets a server.
	clientName    = "proc-controller"
	clientVersion = "1"
)

// levels are those of log messages, the most verbose first (RFC 5424).
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// verbosity orders levels: the smaller the more is said; -1 for what is none.
func verbosity(level string) int { return slices.Index(levels, level) }
