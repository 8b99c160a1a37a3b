// Package metrics tells Prometheus what the controller does and what is true of
// its workloads. It measures and shows; nothing here decides.
//
// What happens is counted as it happens: Metrics are the Instruments of a
// controller. What is true is looked up when somebody asks, from a View and from
// the reader of usage. Series of a workload exist as long as the controller knows
// the workload, so their number is bounded by what there is.
//
// Start reading at metrics.go, which has all that is counted; workloads.go has what
// is looked up.
package metrics
