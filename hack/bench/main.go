//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	var b bench
	run := flag.String("run", ".", "regular expression of the figures to measure")
	format := flag.String("o", "table", "output: table or json")
	list := flag.Bool("list", false, "list the figures and exit")
	flag.IntVar(&b.samples, "n", 30, "samples for each latency")
	flag.IntVar(&b.cycles, "cycles", 5, "repetitions of what starts or stops many")
	flag.DurationVar(&b.idle, "idle", time.Minute, "how long to watch an idle controller")
	flag.StringVar(&b.controller, "bin", "", "controller to measure; empty builds this checkout's")
	flag.BoolVar(&b.withPeers, "peers", true, "measure other supervisors that are installed")
	flag.Parse()

	pattern, err := regexp.Compile(*run)
	if err != nil || flag.NArg() > 0 || *format != "table" && *format != "json" {
		flag.Usage()
		os.Exit(2)
	}
	if *list {
		for _, f := range figures {
			fmt.Println(f.name)
		}
		return
	}
	if err := b.main(pattern, *format); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// main measures what the pattern names and prints it. What was measured before
// an error or an interrupt is printed too.
func (b *bench) main(pattern *regexp.Regexp, format string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b.ctx = ctx
	if err := b.build(); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	rows, err := b.measure(pattern)
	if format == "json" {
		writeJSON(os.Stdout, rows)
	} else {
		writeTable(os.Stdout, rows)
	}
	return err
}
