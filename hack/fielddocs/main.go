package main

import (
	"fmt"
	"os"
)

func main() {
	dir := "spec"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	out, err := generate(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fielddocs:", err)
		os.Exit(1)
	}
	_, _ = os.Stdout.Write(out) // a closed pipe is the reader's business
}

// generate gives the source of spec/reference/comments.go.
func generate(dir string) ([]byte, error) {
	found, err := collect(dir)
	if err != nil {
		return nil, err
	}
	return write(found)
}
