package env

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
)

// StopGrace is the time that what runs has to end after a signal, unless a command has another.
const StopGrace = 5 * time.Second

// exitWithin bounds the time from the end of that grace to the end of the process, whatever
// the process waits for: a client that does not read, a lock, a database.
const exitWithin = 4 * time.Second

// UntilSignal returns a context that is done at the first SIGINT or SIGTERM.
// The process then ends within grace and exitWithin, and at once at a second signal.
// Commands that have nothing to finish do without: a signal ends them.
func UntilSignal(c *cli.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.Context)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
		case <-ctx.Done():
			signal.Stop(signals)
			return
		}
		signal.Stop(signals) // the next signal does what it does by default
		time.AfterFunc(grace+exitWithin, func() {
			go fmt.Fprintln(c.App.ErrWriter, "toolfold: ended before everything was finished") // standard error may block too
			time.Sleep(100 * time.Millisecond)
			os.Exit(ExitFailed)
		})
		cancel() // after that: to end thousands of calls takes a while
		if len(signals) > 0 {
			os.Exit(ExitFailed) // the second signal came before the stop
		}
	}()
	return ctx, cancel
}
