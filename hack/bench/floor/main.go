//go:build linux

package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
)

func main() {
	// The parent-death signal of a child is sent when the forking thread ends.
	runtime.LockOSThread()
	var s supervisor
	flag.StringVar(&s.payload, "payload", "", "program to start, with the record file and a name as arguments")
	flag.StringVar(&s.record, "record", "", "file that the payload appends to")
	flag.StringVar(&s.logs, "logs", "", "directory for the output of children")
	flag.BoolVar(&s.restart, "restart", false, "start again what ends")
	watch := flag.String("watch", "", "directory whose new files are requests")
	prefix := flag.String("prefix", "w", "first part of the names that -fill gives")
	fill := flag.Int("fill", 0, "children to start at once")
	flag.Parse()

	if err := s.open(*watch); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	err := s.fill(*prefix, *fill)
	if err == nil {
		err = s.loop()
	}
	s.stopAll()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
