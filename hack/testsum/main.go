package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	noSkip := flag.Bool("no-skip", false, "take a skipped test for a failure")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ok, err := Summarize(os.Stdin, os.Stdout, *noSkip)
	if err != nil {
		fmt.Fprintf(os.Stderr, "testsum: %v\n", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}
