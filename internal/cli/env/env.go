// Package env has the parts that all commands share: output streams, flags and output forms, usage
// errors, the log, and the end at a signal.
package env

import (
	"log/slog"
	"os"
	"strconv"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/toolfold/toolfold/internal/cli/screen"
)

// Env is shared by the commands of one run of the program. They print through Out and Err. The protocol
// of serve is the exception: its clients need unescaped output.
type Env struct {
	Out, Err screen.Writer

	Level   slog.LevelVar // lowest level that is logged; set by flags before the first line
	Garbage int           // garbage percentage of a server; zero leaves it unchanged
}

// New returns the environment of the process.
func New() *Env {
	e := &Env{Out: screen.Writer{Writer: os.Stdout}, Err: screen.Writer{Writer: os.Stderr}}
	e.Level.Set(slog.LevelWarn)
	return e
}

// envMember is the member of an app's metadata that holds its environment.
const envMember = "env"

// Of returns the environment of a command.
func Of(c *cli.Context) *Env { return c.App.Metadata[envMember].(*Env) }

// Log returns a log on standard error: standard output belongs to the protocol.
func (e *Env) Log() *slog.Logger {
	return slog.New(slog.NewTextHandler(e.Err, &slog.HandlerOptions{Level: &e.Level}))
}

// Terminal returns the screen of standard output. COLUMNS and NO_COLOR override its properties. A pipe
// has no width and no colours.
func (e *Env) Terminal() screen.Screen {
	s := screen.Screen{Out: e.Out.Writer}
	if file, is := terminal(e.Out); is {
		s.Width, _, _ = term.GetSize(int(file.Fd()))
		s.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		s.Width = columns
	}
	return s
}

// OnTerminal reports whether standard output is a terminal.
func (e *Env) OnTerminal() bool {
	_, is := terminal(e.Out)
	return is
}

// ErrOnTerminal reports whether standard error is a terminal.
func (e *Env) ErrOnTerminal() bool {
	_, is := terminal(e.Err)
	return is
}

// terminal returns the file of a stream, and whether it is a terminal.
func terminal(w screen.Writer) (*os.File, bool) {
	file, is := w.Writer.(*os.File)
	return file, is && term.IsTerminal(int(file.Fd()))
}
