package metrics

import (
	"runtime"
	"runtime/debug"
)

// own are metrics of this very process, under the names that client libraries of
// Prometheus give them, so that ready-made dashboards find them. What a system does
// not tell is left out.
func own() []family {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	gauge := func(name, help string, v float64) family {
		return single(desc{name: name, help: help, kind: isGauge}, v)
	}
	info := family{desc: desc{name: "go_info", help: "The Go environment; always 1.", kind: isGauge, labels: []string{"version"}}}
	info.add(1, runtime.Version())
	return append(ownProcess(),
		info,
		gauge("go_goroutines", "Goroutines that there are.", float64(runtime.NumGoroutine())),
		gauge("go_sched_gomaxprocs_threads", "Threads that may run Go code at one time.", float64(runtime.GOMAXPROCS(0))),
		gauge("go_memstats_alloc_bytes", "Bytes of the heap that are in use or not swept yet.", float64(m.Alloc)),
		gauge("go_memstats_heap_objects", "Objects in the heap.", float64(m.HeapObjects)),
		gauge("go_memstats_heap_inuse_bytes", "Bytes in spans of the heap that are in use.", float64(m.HeapInuse)),
		gauge("go_memstats_heap_idle_bytes", "Bytes in spans of the heap that are not in use.", float64(m.HeapIdle)),
		gauge("go_memstats_heap_released_bytes", "Bytes of the heap that were given back to the system.", float64(m.HeapReleased)),
		gauge("go_memstats_stack_inuse_bytes", "Bytes of stacks that are in use.", float64(m.StackInuse)),
		gauge("go_memstats_sys_bytes", "Bytes that were taken from the system.", float64(m.Sys)),
		single(desc{name: "go_memstats_alloc_bytes_total", help: "Bytes that were ever allocated in the heap.", kind: isCounter}, float64(m.TotalAlloc)),
		single(desc{name: "go_gc_cycles_total", help: "Collections of garbage.", kind: isCounter}, float64(m.NumGC)),
		single(desc{name: "go_gc_pause_seconds_total", help: "Time for which all stood still for the collections.", kind: isCounter}, gc.PauseTotal.Seconds()),
	)
}
