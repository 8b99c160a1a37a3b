package main

import (
	"io"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logFormats are the words that --log-format takes.
var logFormats = []string{"text", "json"}

// newLogger makes the log of the controller: lines for a person, or JSON
// through zap. Verbose shows debug lines too.
func newLogger(w io.Writer, format string, verbose bool, look textLook) logr.Logger {
	if format != "json" {
		return logr.New(&textSink{out: w, verbose: verbose, look: look})
	}
	level := zapcore.InfoLevel
	if verbose {
		level = zapcore.DebugLevel
	}
	conf := zap.NewProductionEncoderConfig()
	conf.TimeKey, conf.EncodeTime = "time", zapcore.RFC3339NanoTimeEncoder
	conf.EncodeDuration = zapcore.StringDurationEncoder
	core := zapcore.NewCore(zapcore.NewJSONEncoder(conf), zapcore.AddSync(w), level)
	return zapr.NewLogger(zap.New(core))
}

// lookFor fits the text to where it goes: on a terminal the time of day is
// enough and colours help; a file lives longer than a day.
func lookFor(w io.Writer, getenv func(string) string) textLook {
	t := terminalOf(w, getenv)
	look := fileLook
	if t.is {
		look = terminalLook
	}
	look.colour = t.colour
	return look
}
