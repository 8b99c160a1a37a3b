package logs

import (
	"path/filepath"
	"strings"

	"github.com/proc-controller/proc-controller/spec"
)

// The ends of the names of an output file, and of the one with its times.
const (
	suffix      = ".log"
	timesSuffix = ".times"
)

// Dir is the directory of the output files in a state directory.
func Dir(stateDir string) string { return filepath.Join(stateDir, "logs") }

// Path is where the output of an instance is written, whether or not the file is
// there: KIND.NAME.TOKEN.log, with the random part of the instance, which is
// known before the fork. It needs no state, so the output of an adopted instance
// is found like that of any other.
//
// All files are in one directory: ext4 puts each new directory, and what is
// first made in it, into another part of the disk, which costs from 0.3 to 1.2
// ms, more than all the rest of a start. Neither kind nor name nor token can
// hold a dot.
func Path(stateDir string, key spec.Key, id spec.Instance) string {
	return filepath.Join(Dir(stateDir), SeriesOf(key)+id.Token()+suffix)
}

// SeriesOf is what the names of all output files of one key begin with.
func SeriesOf(key spec.Key) string { return string(key.Kind) + "." + key.Name + "." }

// Series is what the names of all output files of the same key begin with, or
// empty for another file.
func Series(name string) string {
	stem, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return ""
	}
	return stem[:strings.LastIndexByte(stem, '.')+1]
}

// ParseName takes the name of an output file apart, or says that it is none.
func ParseName(name string) (key spec.Key, token string, ok bool) {
	series := Series(name)
	kind, rest, _ := strings.Cut(strings.TrimSuffix(series, "."), ".")
	token = strings.TrimSuffix(strings.TrimPrefix(name, series), suffix)
	key, err := spec.ParseKey(kind + "/" + rest)
	if err != nil || SeriesOf(key) != series || token == "" {
		return spec.Key{}, "", false
	}
	return key, token, true
}

// TimesPath is where the times of an output file are kept.
func TimesPath(path string) string { return strings.TrimSuffix(path, suffix) + timesSuffix }

// OfTimes gives the name of the output file that a file with times belongs to,
// or says that it is none.
func OfTimes(name string) (string, bool) {
	stem, ok := strings.CutSuffix(name, timesSuffix)
	return stem + suffix, ok
}
