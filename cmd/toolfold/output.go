package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/toolfold/toolfold/internal/screen"
	"github.com/toolfold/toolfold/internal/yamlx"
)

// What commands print to people and programs goes through these. The protocol
// of serve is the exception: its clients read it whole.
var (
	stdout = screen.Writer{Writer: os.Stdout}
	stderr = screen.Writer{Writer: os.Stderr}
)

// Forms in which a result is printed.
const (
	asTable = "table" // for people: fitted to the terminal
	asJSON  = "json"  // one line in a pipe, indented on a terminal
	asYAML  = "yaml"
)

// outputFlag chooses the form; without it, it is byDefault.
func outputFlag(byDefault string) cli.Flag {
	return &cli.StringFlag{
		Name: "output", Aliases: []string{"o"}, DefaultText: byDefault, Value: byDefault,
		Usage: "table, json or yaml",
	}
}

// jsonFlag asks for the stable output.
var jsonFlag = &cli.BoolFlag{Name: "json", Usage: "print JSON, as --output json does"}

// outputOf returns the form in which a command is to print.
func outputOf(c *cli.Context) (string, error) {
	form := c.String("output")
	switch {
	case form != asTable && form != asJSON && form != asYAML:
		return "", usageError("--output must be table, json or yaml, got %q", form)
	case c.Bool(jsonFlag.Name) && c.IsSet("output") && form != asJSON:
		return "", usageError("--json and --output %s exclude each other", form)
	case c.Bool(jsonFlag.Name):
		return asJSON, nil
	}
	return form, nil
}

// printAs prints v in a form. A table of a command has columns of its own: table
// prints it; nil shows the members of v.
func printAs(c *cli.Context, form string, v any, table func(screen.Screen) error) error {
	if form == asJSON {
		return printJSON(c, v)
	}
	var whole bytes.Buffer
	enc := json.NewEncoder(&whole)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	switch {
	case form == asYAML:
		_, err := c.App.Writer.Write(yamlx.FromJSON(whole.Bytes()))
		return err
	case table != nil:
		return table(terminal())
	}
	return terminal().Result(bytes.TrimSpace(whole.Bytes()))
}

// printJSON prints v for programs: one line in a pipe, indented on a terminal.
func printJSON(c *cli.Context, v any) error {
	enc := json.NewEncoder(c.App.Writer)
	enc.SetEscapeHTML(false)
	if onTerminal() {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(v)
}

// terminal returns the screen of standard output. COLUMNS and NO_COLOR have the last
// word; a pipe has no width and no colours.
func terminal() screen.Screen {
	s := screen.Screen{Out: stdout.Writer}
	if onTerminal() {
		s.Width, _, _ = term.GetSize(int(os.Stdout.Fd()))
		s.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		s.Width = columns
	}
	return s
}

// onTerminal reports whether a person reads standard output.
func onTerminal() bool { return term.IsTerminal(int(os.Stdout.Fd())) }

// watched reports whether a person reads standard error.
func watched() bool { return term.IsTerminal(int(os.Stderr.Fd())) }
