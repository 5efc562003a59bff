package env

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// LogLevelFlag sets the lowest level of log lines on standard error. The default is warn.
var LogLevelFlag = &cli.StringFlag{
	Name: "log-level", Usage: "lowest level of log lines on standard error: debug, info, warn or error", DefaultText: "warn",
	EnvVars: []string{"TOOLFOLD_LOG_LEVEL"},
	Action: func(c *cli.Context, name string) error {
		var level slog.Level
		if level.UnmarshalText([]byte(name)) != nil {
			return UsageError("--log-level must be debug, info, warn or error, got %q", name)
		}
		Of(c).Level.Set(level)
		return nil
	},
}

// VerboseFlag logs from level info, or lower if --log-level says so. It also shows the progress of long
// calls if standard error is not a terminal.
var VerboseFlag = &cli.BoolFlag{
	Name: "verbose", Usage: "log from info on, and report progress also if standard error is not a terminal",
	Action: func(c *cli.Context, verbose bool) error {
		if level := &Of(c).Level; verbose {
			level.Set(min(level.Level(), slog.LevelInfo))
		}
		return nil
	},
}

// A call is long after longCall, and reports progress at most once per progressEvery.
const (
	longCall      = 2 * time.Second
	progressEvery = time.Second
)

// ReportingProgress returns a context in which long calls report progress on standard error, if that is
// a terminal or with --verbose.
func ReportingProgress(ctx context.Context, c *cli.Context) context.Context {
	if !c.Bool(VerboseFlag.Name) && !Of(c).ErrOnTerminal() {
		return ctx
	}
	next := time.Now().Add(longCall)
	return callctx.With(ctx, func(p toolfold.Progress) {
		now := time.Now()
		if now.Before(next) {
			return
		}
		next = now.Add(progressEvery)
		switch {
		case p.Total > 0:
			fmt.Fprintf(c.App.ErrWriter, "toolfold: %g of %g %s\n", p.Done, p.Total, p.Message)
		case p.Message != "":
			fmt.Fprintf(c.App.ErrWriter, "toolfold: %s\n", p.Message)
		default:
			fmt.Fprintf(c.App.ErrWriter, "toolfold: %g\n", p.Done)
		}
	})
}
