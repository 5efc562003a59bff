package cli

import (
	"bytes"
	"encoding/json"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/screen"
	"github.com/toolfold/toolfold/internal/text/yamlx"
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
		return table(EnvOf(c).Terminal())
	}
	return EnvOf(c).Terminal().Result(bytes.TrimSpace(whole.Bytes()))
}

// printJSON prints v for programs: one line in a pipe, indented on a terminal.
func printJSON(c *cli.Context, v any) error {
	enc := json.NewEncoder(c.App.Writer)
	enc.SetEscapeHTML(false)
	if EnvOf(c).OnTerminal() {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(v)
}
