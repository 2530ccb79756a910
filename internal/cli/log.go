package cli

import (
	"io"
	"log/slog"

	"github.com/countersign-dev/countersign/internal/telemetry"
)

// logFormatAuto is text on a terminal and JSON elsewhere.
const logFormatAuto = "auto"

// logFlags are those of the commands that serve.
type logFlags struct {
	LogFormat string     `help:"Format of the log on standard error: text, json, or auto (text on a terminal, json elsewhere)." enum:"auto,text,json" default:"auto" placeholder:"FORMAT"`
	LogLevel  slog.Level `help:"Least level that is logged: debug, which adds the requests for gates and metrics, info, warn or error." default:"info" placeholder:"LEVEL" predictor:"level"`
}

// logger writes to out what the flags ask for.
func (f logFlags) logger(out io.Writer) (*slog.Logger, error) {
	format := telemetry.Format(f.LogFormat)
	if f.LogFormat == logFormatAuto {
		format = telemetry.JSON
		if isTerminal(out) {
			format = telemetry.Text
		}
	}
	return telemetry.NewLogger(out, format, f.LogLevel)
}
