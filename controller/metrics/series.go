package metrics

import (
	"slices"
	"strconv"
	"sync"
)

// kind is the type of a metric, as the text format names it.
type kind string

const (
	isCounter   kind = "counter"
	isGauge     kind = "gauge"
	isHistogram kind = "histogram"
)

// desc is what is said of a metric beside its values. The labels are in the order of
// their names.
type desc struct {
	name, help string
	kind       kind
	labels     []string
}

// maxLabels is how many labels a metric of ours has at most.
const maxLabels = 3

// values are those of the labels of one series, in their order.
type values [maxLabels]string

func valuesOf(all []string) (v values) {
	copy(v[:], all)
	return v
}

// counters are the series of a metric that only goes up. They may be used by many
// goroutines.
type counters struct {
	desc
	mu sync.Mutex
	of map[values]float64
}

// inc counts one for these values of the labels.
func (c *counters) inc(labels ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[valuesOf(labels)]++
}

// forget ends all series whose first labels have these values.
func (c *counters) forget(first ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for v := range c.of {
		if slices.Equal(v[:len(first)], first) {
			delete(c.of, v)
		}
	}
}

func (c *counters) collect() family {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := family{desc: c.desc}
	for v, n := range c.of {
		f.add(n, v[:len(c.labels)]...)
	}
	f.sort()
	return f
}

// histogram counts durations by how long they were. It may be used by many
// goroutines; observing makes no garbage.
type histogram struct {
	bounds []float64 // in seconds, ascending; the last bucket has none

	mu     sync.Mutex
	counts []uint64 // one more than bounds
	sum    float64
}

func newHistogram(bounds []float64) *histogram {
	return &histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (h *histogram) observe(v float64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[i]++
	h.sum += v
}

// addTo gives the series of the histogram, for these values of the labels: how many
// were at most so long, their sum and their count.
func (h *histogram) addTo(f *family, labels ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var n uint64
	for i, count := range h.counts {
		n += count
		bound := "+Inf"
		if i < len(h.bounds) {
			bound = strconv.FormatFloat(h.bounds[i], 'g', -1, 64)
		}
		f.samples = append(f.samples, sample{"_bucket", valuesOf(labels), bound, float64(n)})
	}
	f.samples = append(f.samples, sample{"_sum", valuesOf(labels), "", h.sum}, sample{"_count", valuesOf(labels), "", float64(n)})
}

// histograms are one for each value of the labels, all of them there from the start.
type histograms struct {
	desc
	bounds []float64
	// of are the histograms; values those of the labels of each.
	of     []*histogram
	values [][]string
}

// with makes the one for these values of the labels.
func (h *histograms) with(labels ...string) *histogram {
	made := newHistogram(h.bounds)
	h.of, h.values = append(h.of, made), append(h.values, labels)
	return made
}

func (h *histograms) collect() family {
	f := family{desc: h.desc}
	for i, one := range h.of {
		one.addTo(&f, h.values[i]...)
	}
	return f
}

// family is a metric with its values at one moment.
type family struct {
	desc
	samples []sample
}

// sample is one value.
type sample struct {
	suffix string // of the name, in a histogram
	values values
	le     string // the bound of a bucket
	value  float64
}

// single is a metric that has one value and no labels.
func single(d desc, v float64) family { return family{d, []sample{{value: v}}} }

func (f *family) add(v float64, labels ...string) {
	f.samples = append(f.samples, sample{values: valuesOf(labels), value: v})
}

// sort puts the series in the order of the values of their labels.
func (f *family) sort() {
	slices.SortFunc(f.samples, func(a, b sample) int { return slices.Compare(a.values[:], b.values[:]) })
}
