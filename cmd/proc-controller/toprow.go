package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/proc-controller/proc-controller/controller/api"
	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// topRow is what one workload uses, all of its instances together; as "top -o
// json" shows it.
type topRow struct {
	spec.Key
	// CPUPercent is of one processor, between two samples; nil where one is
	// missing: it has just been started.
	CPUPercent  *float64 `json:"cpuPercent"`
	CPUSeconds  float64  `json:"cpuSeconds"`
	MemoryBytes int64    `json:"memoryBytes"`
	// Descriptors is nil where they may not be counted.
	Descriptors *int                `json:"descriptors"`
	Processes   int                 `json:"processes"`
	Instances   int                 `json:"instances"`
	Source      observe.UsageSource `json:"source"`
}

// The orders of rows: the largest first, names by the alphabet.
const (
	orderCPU         = "cpu"
	orderMemory      = "memory"
	orderDescriptors = "descriptors"
	orderProcesses   = "processes"
	orderName        = "name"
)

var topOrders = []string{orderCPU, orderMemory, orderDescriptors, orderProcesses, orderName}

// topRows adds up what is asked for of a sample, with the rates since the one
// before it.
func topRows(want selectors, before, now []api.Usage, order string) []topRow {
	former := make(map[spec.Instance]*api.Usage, len(before))
	for i := range before {
		former[before[i].Instance] = &before[i]
	}
	rows := []topRow{}
	for i := range now {
		u := &now[i]
		k, err := spec.ParseKey(u.Key)
		if err != nil || !want.takes(k) {
			continue
		}
		if n := len(rows); n == 0 || rows[n-1].Key != k { // they come sorted by key
			zero := 0
			rows = append(rows, topRow{Key: k, Source: u.Source, Descriptors: &zero})
		}
		rows[len(rows)-1].add(u, former[u.Instance])
	}
	slices.SortStableFunc(rows, func(a, b topRow) int { return compareTop(a, b, order) })
	return rows
}

// add adds one instance. Two sources together are that of the tree: what holds of
// one holds of the sum.
func (r *topRow) add(u, before *api.Usage) {
	if before != nil && u.At.After(before.At) {
		rate := max(0, u.CPUSeconds-before.CPUSeconds) / u.At.Sub(before.At).Seconds() * 100
		if r.CPUPercent != nil {
			rate += *r.CPUPercent
		}
		r.CPUPercent = &rate
	}
	r.CPUSeconds += u.CPUSeconds
	r.MemoryBytes += u.MemoryBytes
	r.Processes += u.Processes
	r.Instances++
	switch {
	case u.Descriptors == nil || r.Descriptors == nil:
		r.Descriptors = nil
	default:
		*r.Descriptors += *u.Descriptors
	}
	if u.Source != r.Source {
		r.Source = observe.UsageOfTree
	}
}

func compareTop(a, b topRow, order string) int {
	byName := a.Key.Compare(b.Key)
	switch order {
	case orderCPU:
		return cmp.Or(cmp.Compare(orZero(b.CPUPercent), orZero(a.CPUPercent)), byName)
	case orderMemory:
		return cmp.Or(cmp.Compare(b.MemoryBytes, a.MemoryBytes), byName)
	case orderDescriptors:
		return cmp.Or(cmp.Compare(orZero(b.Descriptors), orZero(a.Descriptors)), byName)
	case orderProcesses:
		return cmp.Or(cmp.Compare(b.Processes, a.Processes), byName)
	}
	return byName
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

var topHead = []string{"NAME", "CPU", "MEMORY", "DESCRIPTORS", "PROCESSES", "SOURCE"}

func (r *topRow) cells() []string {
	cpu, descriptors := "", ""
	if r.CPUPercent != nil {
		cpu = percent(*r.CPUPercent)
	}
	if r.Descriptors != nil {
		descriptors = strconv.Itoa(*r.Descriptors)
	}
	return []string{shortName(r.Key), cpu, byteCell(r.MemoryBytes), descriptors, strconv.Itoa(r.Processes), string(r.Source)}
}

func percent(p float64) string { return fmt.Sprintf("%.1f%%", p) }

// byteCell writes bytes as Kubernetes does: 512Ki, 1.5Gi.
func byteCell(n int64) string {
	units := []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	if i == 0 || v >= 10 {
		return fmt.Sprintf("%.0f%s", v, units[i])
	}
	return fmt.Sprintf("%.1f%s", v, units[i])
}
