package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/proc-controller/proc-controller/controller/api"
)

// topView is the live view. One goroutine owns it.
type topView struct {
	out    io.Writer
	look   terminal
	want   selectors
	order  string
	before []api.Usage
	now    []api.Usage
	at     time.Time
	failed error // why the last sample could not be had
}

// topSample is one answer of the controller.
type topSample struct {
	usage []api.Usage
	err   error
}

// watchTop shows samples until q or a signal, and leaves the terminal as it was.
func watchTop(ctx context.Context, std streams, look terminal, client *api.Client, want selectors, f *topFlags, first []api.Usage) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	keys, restore := readKeys(std.in)
	defer restore()
	v := &topView{out: std.out, look: look, want: want, order: f.sort, now: first, at: time.Now()}
	_, _ = io.WriteString(std.out, altScreen+hideCursor)
	defer func() { _, _ = io.WriteString(std.out, showCursor+mainScreen) }()
	resized := make(chan os.Signal, 1)
	notifyResize(resized)
	defer signal.Stop(resized)
	samples := sampleTop(ctx, client)
	for {
		v.draw()
		select {
		case s := <-samples:
			v.take(s)
		case key, open := <-keys:
			if !open {
				keys = nil // no more keys come; a signal still ends it
			} else if !v.press(key) {
				return nil
			}
		case <-resized:
		case <-ctx.Done():
			return nil
		}
	}
}

// The sequences of xterm for a screen of one's own, and for the cursor.
const (
	altScreen  = "\x1b[?1049h"
	mainScreen = "\x1b[?1049l"
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	toTop      = "\x1b[H"
)

// sampleTop asks again and again. The channel holds nothing: a view that is late
// gets the sample that it waits for.
func sampleTop(ctx context.Context, client *api.Client) <-chan topSample {
	samples := make(chan topSample)
	go func() {
		for pause := topSoon; ; pause = topInterval {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			usage, err := client.Usage(ctx)
			select {
			case samples <- topSample{usage, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return samples
}

// readKeys has a terminal give each key as it is pressed. What is no terminal has
// no keys.
func readKeys(in io.Reader) (keys <-chan byte, restore func()) {
	t := terminalOf(in, os.Getenv)
	if !t.is {
		return nil, func() {}
	}
	fd := int(t.file.Fd())
	was, err := term.MakeRaw(fd)
	if err != nil {
		return nil, func() {}
	}
	pressed := make(chan byte)
	go func() { // ends with the program: a read of a terminal cannot be called off
		defer close(pressed)
		var buf [1]byte
		for {
			if n, err := t.file.Read(buf[:]); n == 0 || err != nil {
				return
			}
			pressed <- buf[0]
		}
	}()
	return pressed, func() { _ = term.Restore(fd, was) }
}

// press does what a key says, and is false for one that ends the view.
func (v *topView) press(key byte) bool {
	const ctrlC, ctrlD = 3, 4
	switch key {
	case 'q', 'Q', ctrlC, ctrlD:
		return false
	case 'c':
		v.order = orderCPU
	case 'm':
		v.order = orderMemory
	case 'd':
		v.order = orderDescriptors
	case 'p':
		v.order = orderProcesses
	case 'n':
		v.order = orderName
	}
	return true
}

// take goes on to the next sample. One that could not be had leaves the last one
// standing.
func (v *topView) take(s topSample) {
	if v.failed = s.err; s.err != nil {
		return
	}
	v.before, v.now, v.at = v.now, s.usage, time.Now()
}

// draw writes the whole screen in one piece. In raw mode a line feed alone does
// not return.
func (v *topView) draw() {
	columns, rows := v.look.size()
	var b strings.Builder
	b.WriteString(wrapOff + toTop)
	for i, line := range v.screen(columns, rows) {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line + clearLine)
	}
	b.WriteString(clearRest + wrapOn)
	_, _ = io.WriteString(v.out, b.String()) // a terminal that is gone ends it by a signal
}

// screen lays the view out: a line about the whole, and as many rows as fit.
func (v *topView) screen(columns, rows int) []string {
	if columns <= 0 || rows <= 0 {
		columns, rows = 80, 24
	}
	all := topRows(v.want, v.before, v.now, v.order)
	lines := []string{v.title(all, columns), ""}
	var b strings.Builder
	t := &table{}
	head := topHead
	if columns < narrowTop {
		head = head[:3] // NAME, CPU, MEMORY
	}
	t.add(head...)
	for i := range all {
		cells := all[i].cells()[:len(head)]
		if columns < narrowTop {
			cells[0] = all[i].Name
		}
		// What stands to the right of it is worth more than the end of a long name.
		cells[0] = shortened(cells[0], max(columns-topBeside, 4))
		t.add(cells...)
	}
	_ = t.writeFor(&b, terminal{}, 0) // into memory, which cannot fail
	for i, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		line = strings.TrimRight(shortened(line, columns), " ")
		if i == 0 {
			line = v.look.paint(bold, line)
		}
		lines = append(lines, line)
	}
	return lines[:min(len(lines), rows)]
}

// In less than narrowTop columns the kind is left out, and all but the first three
// columns. topBeside are the columns
// for CPU and memory.
const (
	narrowTop = 50
	topBeside = len("  100.0%  1023Mi")
)

// title is about all workloads, or about why there is nothing new.
func (v *topView) title(rows []topRow, columns int) string {
	if v.failed != nil {
		return v.look.paint(red, shortened("The controller does not answer; what was last: "+v.failed.Error(), columns))
	}
	var cpu float64
	var memory int64
	for i := range rows {
		cpu += orZero(rows[i].CPUPercent)
		memory += rows[i].MemoryBytes
	}
	text := fmt.Sprintf("%s  %d %s  CPU %s  memory %s  by %s  q quits", v.at.Format(time.TimeOnly),
		len(rows), plural(len(rows), "workload", "workloads"), percent(cpu), byteCell(memory), v.order)
	return shortened(text, columns)
}
