package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/proc-controller/proc-controller/observe"
	"github.com/proc-controller/proc-controller/spec"
)

// psRow is one process, as "ps -o json" shows it.
type psRow struct {
	observe.Ident
	Key        string          `json:"key"`
	Instance   spec.Instance   `json:"instance"`
	Owner      spec.Owner      `json:"owner"`
	OwnerAlive bool            `json:"ownerAlive"`
	Role       observe.Role    `json:"role"`
	Verdict    observe.Verdict `json:"verdict"`
	Evidence   []string        `json:"evidence"`

	ownerKnown bool // whether the owner's controller lives could be told
}

// newPs is the verb that shows the process table as the controller sees it.
func newPs(std streams) *cobra.Command {
	var output string
	var all bool
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "Show the processes that carry our markers",
		Long: `Show the processes on this machine that carry the markers of a controller, of
any directory, with what is known of each. No controller is needed.

VERDICT is Ours (all evidence agrees), CannotTell (never signalled) or, with
--all, NotOurs (looks alike and is not, or another user's). ALIVE says whether
the controller of the owner runs.`,
		Example: `  proc-controller ps
  proc-controller ps --all
  proc-controller ps -o json | jq '.[] | select(.ownerAlive | not).pid'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf(cmd, "output", output, "json"); err != nil {
				return err
			}
			return ps(cmd.Context(), std, all, output)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "show look-alikes and other users' processes too")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FORMAT` of the output: json (default a table)")
	completeWords(cmd, "output", "json")
	return cmd
}

func ps(ctx context.Context, std streams, all bool, output string) error {
	seen, err := observe.ScanAll(ctx)
	if err != nil {
		return err
	}
	rows := psRows(seen, all, os.Getuid())
	switch {
	case output == "json":
		err = writeJSON(std.out, rows)
	case len(rows) > 0:
		err = psTable(rows).write(std.out)
	default:
		fmt.Fprintln(std.err, "No process carries the markers of a controller.")
	}
	if err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	return nil
}

// psRows leaves out what is not ours, unless all is asked for, and asks once for
// each owner whether its controller lives.
func psRows(seen []observe.Seen, all bool, uid int) []psRow {
	type holder struct {
		uid   int
		owner spec.Owner
	}
	type life struct{ alive, known bool }
	lives := map[holder]life{}
	rows := []psRow{}
	for _, s := range seen {
		if !all && (s.Verdict == observe.NotOurs || int(s.UID) != uid) {
			continue
		}
		h := holder{int(s.UID), s.Owner}
		if _, asked := lives[h]; !asked && s.Owner != "" {
			_, alive, known := observe.OwnerAlive(h.uid, h.owner)
			lives[h] = life{alive, known}
		}
		r := psRow{
			Ident: s.Ident, Instance: s.Instance, Owner: s.Owner, OwnerAlive: lives[h].alive,
			Role: s.Role, Verdict: s.Verdict, Evidence: append([]string{}, s.Evidence...), ownerKnown: lives[h].known,
		}
		if s.Key != (spec.Key{}) {
			r.Key = s.Key.String()
		}
		rows = append(rows, r)
	}
	return rows
}

// evidenceWidth is how much of the evidence a table shows; JSON has all of it.
const evidenceWidth = 72

func psTable(rows []psRow) *table {
	t := &table{}
	t.add("PID", "ROLE", "KEY", "INSTANCE", "OWNER", "ALIVE", "VERDICT", "EVIDENCE")
	for _, r := range rows {
		t.add(strconv.Itoa(r.PID), r.Role.String(), r.Key, string(r.Instance), string(r.Owner), aliveCell(r),
			r.Verdict.String(), shortened(strings.Join(r.Evidence, "; "), evidenceWidth))
	}
	return t
}

func aliveCell(r psRow) string {
	switch {
	case !r.ownerKnown:
		return "?"
	case r.OwnerAlive:
		return "yes"
	}
	return "no"
}

// shortened cuts a text that has more than width characters.
func shortened(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}
