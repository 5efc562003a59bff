package env

import (
	"bytes"
	"encoding/json"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/screen"
	"github.com/toolfold/toolfold/internal/text/yamlx"
)

// Output forms of a result.
const (
	AsTable = "table" // for people: fitted to the terminal
	AsJSON  = "json"  // one line in a pipe, indented on a terminal
	AsYAML  = "yaml"
)

// OutputFlag returns the flag that selects the form.
func OutputFlag(byDefault string) cli.Flag {
	return &cli.StringFlag{
		Name: "output", Aliases: []string{"o"}, DefaultText: byDefault, Value: byDefault,
		Usage: "table, json or yaml",
	}
}

// JSONFlag selects JSON, whose form is stable.
var JSONFlag = &cli.BoolFlag{Name: "json", Usage: "print JSON, as --output json does"}

// OutputOf returns the output form of a command.
func OutputOf(c *cli.Context) (string, error) {
	form := c.String("output")
	switch {
	case form != AsTable && form != AsJSON && form != AsYAML:
		return "", UsageError("--output must be table, json or yaml, got %q", form)
	case c.Bool(JSONFlag.Name) && c.IsSet("output") && form != AsJSON:
		return "", UsageError("--json and --output %s exclude each other", form)
	case c.Bool(JSONFlag.Name):
		return AsJSON, nil
	}
	return form, nil
}

// PrintAs prints v in a form. table prints the command's own table; if it is nil, the members of v are
// shown.
func PrintAs(c *cli.Context, form string, v any, table func(screen.Screen) error) error {
	if form == AsJSON {
		return PrintJSON(c, v)
	}
	var whole bytes.Buffer
	enc := json.NewEncoder(&whole)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	switch {
	case form == AsYAML:
		_, err := c.App.Writer.Write(yamlx.FromJSON(whole.Bytes()))
		return err
	case table != nil:
		return table(Of(c).Terminal())
	}
	return Of(c).Terminal().Result(bytes.TrimSpace(whole.Bytes()))
}

// PrintJSON prints v for programs: one line in a pipe, indented on a terminal.
func PrintJSON(c *cli.Context, v any) error {
	enc := json.NewEncoder(c.App.Writer)
	enc.SetEscapeHTML(false)
	if Of(c).OnTerminal() {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(v)
}
