//go:build linux

package main

import "time"

// figure is something that is measured. Its rows follow in the order of the
// table.
type figure struct {
	name    string
	measure func(*bench) ([]Row, error)
}

// The figures and their targets.
var figures = []figure{
	{"drop/0", func(b *bench) ([]Row, error) { return b.dropRows("drop/0", 0) }},
	{"drop/100", func(b *bench) ([]Row, error) { return b.dropRows("drop/100", 100) }},
	{"drop/1000", func(b *bench) ([]Row, error) { return b.dropRows("drop/1000", 1000) }},
	{"rename/floor", (*bench).renameFloor},
	{"restart/0", func(b *bench) ([]Row, error) { return b.restartRows("restart/0", 0) }},
	{"restart/1000", func(b *bench) ([]Row, error) { return b.restartRows("restart/1000", 1000) }},
	{"cold+stop/1000-files", func(b *bench) ([]Row, error) { return b.cycleRows("1000-files", &ours{}, 1000) }},
	{"cold+stop/1000-in-one", func(b *bench) ([]Row, error) { return b.cycleRows("1000-in-one", &ours{oneFile: true}, 1000) }},
	{"scopes/100", (*bench).scopeRows},
	{"idle/1000", func(b *bench) ([]Row, error) { return b.idleRows("idle/1000", 1000) }},
	{"probes/1000", (*bench).probeRows},
	{"scan/1000", func(b *bench) ([]Row, error) { return b.scanRows("scan/1000", 1000) }},
	{"scan/10000", func(b *bench) ([]Row, error) { return b.scanRows("scan/10000", 10000) }},
	{"change/10000", (*bench).changeRows},
	{"get/1000", (*bench).getRows},
	{"bridge", (*bench).bridgeRows},
}

// What the figures may cost.
var (
	limitDrop    = Limit{TimesFloor: 2}
	limitRestart = Limit{TimesFloor: 2}
	limitCold    = Limit{TimesFloor: 2}
	limitStop    = Limit{TimesFloor: 2}
	limitScan    = Limit{TimesFloor: 1.3}
	limitResync  = Limit{TimesFloor: 0.4}
	limitChange  = Limit{TimesFloor: 3}
	limitScopes  = Limit{Value: 2000} // ms
	limitCPU     = Limit{Value: 0.05} // % of a core
	limitThreads = Limit{Value: 16}
	limitProbes  = Limit{Value: 5}  // % of a core
	limitRSS     = Limit{Value: 25} // MB
	limitGet     = Limit{Value: 30} // ms
	limitFlat    = Limit{Value: 1.2}

	limitBridgeRSS       = Limit{Value: 15}  // MB
	limitBridgeProcesses = Limit{Value: 2}   // itself and the server
	limitBridgePing      = Limit{Value: 0.3} // ms over the pipe itself
)

// flatness compares the drop among 1,000 others with the drop among none, where
// both were measured. The limit leaves room for noise.
func flatness(rows []Row) []Row {
	var none, many float64
	for _, r := range rows {
		switch r.Figure {
		case "drop/0":
			none = r.Ours.Median()
		case "drop/1000":
			many = r.Ours.Median()
		}
	}
	if none == 0 || many == 0 {
		return nil
	}
	return []Row{{Figure: "drop/1000 : drop/0", Unit: "x", Ours: Samples{many / none}, Limit: limitFlat}}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
