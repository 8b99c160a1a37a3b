//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"
)

// Row is one line of the table.
type Row struct {
	Figure string
	Unit   string
	Ours   Samples
	Floor  Samples // empty where there is none
	Peers  map[string]Samples
	Limit  Limit
}

// Limit is a target: a multiple of the floor, or a value in the row's unit. The
// zero Limit is a row for information.
type Limit struct {
	TimesFloor, Value float64
}

func (l Limit) String() string {
	switch {
	case l.TimesFloor > 0:
		return fmt.Sprintf("<= %g x floor", l.TimesFloor)
	case l.Value > 0:
		return fmt.Sprintf("<= %g", l.Value)
	}
	return "-"
}

// Ratio is the median of ours in floors, NaN without a floor.
func (r *Row) Ratio() float64 { return r.Ours.Median() / r.Floor.Median() }

// Met says whether the median is within the target: yes, no, or - where there
// is no target.
func (r *Row) Met() string {
	var within bool
	switch {
	case r.Limit.TimesFloor > 0:
		within = r.Ratio() <= r.Limit.TimesFloor
	case r.Limit.Value > 0:
		within = r.Ours.Median() <= r.Limit.Value
	default:
		return "-"
	}
	if within {
		return "yes"
	}
	return "no"
}

// writeTable prints the rows, with a column for each peer that was measured.
func writeTable(w io.Writer, rows []Row) {
	peers := peerNames(rows)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%-24s\tUNIT\tOURS\tP95\tFLOOR\tRATIO\tTARGET\tMET\t", "FIGURE")
	for _, p := range peers {
		fmt.Fprintf(t, "%s\t", p)
	}
	fmt.Fprintln(t)
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(t, "%-24s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t", r.Figure, r.Unit, number(r.Ours.Median()),
			number(r.Ours.P95()), number(r.Floor.Median()), number(r.Ratio()), r.Limit, r.Met())
		for _, p := range peers {
			fmt.Fprintf(t, "%s\t", number(r.Peers[p].Median()))
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

func peerNames(rows []Row) []string {
	names := map[string]bool{}
	for _, r := range rows {
		for p := range r.Peers {
			names[p] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// number prints three digits or more, and a dash for what there is not.
func number(f float64) string {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return "-"
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	case f >= 0.1:
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprintf("%.4f", f)
}

// jsonRow is a Row with what is computed from it; what there is not is left out.
type jsonRow struct {
	Figure string             `json:"figure"`
	Unit   string             `json:"unit"`
	Median *float64           `json:"median,omitempty"`
	P95    *float64           `json:"p95,omitempty"`
	Floor  *float64           `json:"floor,omitempty"`
	Ratio  *float64           `json:"ratio,omitempty"`
	Target string             `json:"target"`
	Met    string             `json:"met"`
	Peers  map[string]float64 `json:"peers,omitempty"`
	Ours   Samples            `json:"samples"`
	Bare   Samples            `json:"floorSamples,omitempty"`
}

func writeJSON(w io.Writer, rows []Row) error {
	out := make([]jsonRow, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = jsonRow{
			r.Figure, r.Unit, finite(r.Ours.Median()), finite(r.Ours.P95()), finite(r.Floor.Median()),
			finite(r.Ratio()), r.Limit.String(), r.Met(),
			map[string]float64{},
			r.Ours, r.Floor,
		}
		for name, s := range r.Peers {
			if len(s) > 0 {
				out[i].Peers[name] = s.Median()
			}
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func finite(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}
