package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/tools"
	"github.com/toolfold/toolfold/tools/config"
)

const workspaceFlag = "workspace"

// settingFlags are the flags of the named settings, made of their
// declaration, and the flag that says where the workspace is.
func settingFlags(names ...string) []cli.Flag {
	flags := []cli.Flag{&cli.StringFlag{
		Name: workspaceFlag, Usage: "directory that files and local settings belong to", Value: ".",
		EnvVars: []string{"TOOLFOLD_WORKSPACE"},
	}}
	for _, p := range config.Settings.Params() {
		for _, name := range names {
			if p.Name == name {
				flags = append(flags, settingFlag(p))
			}
		}
	}
	return flags
}

func settingFlag(p tools.Param) cli.Flag {
	name, env := dashed(p.Name), []string{"TOOLFOLD_" + strings.ToUpper(strings.ReplaceAll(dashed(p.Name), "-", "_"))}
	usage := strings.TrimSuffix(p.Doc, ".")
	if len(p.Enum) > 0 {
		usage += " (" + strings.Join(p.Enum, ", ") + ")"
	}
	if p.Kind == tools.KindBoolean {
		yes, _ := p.Default.(bool)
		return &cli.BoolFlag{Name: name, Usage: usage, EnvVars: env, Value: yes}
	}
	return &cli.StringFlag{Name: name, Usage: usage, EnvVars: env}
}

// dashed spells toolMode as tool-mode.
func dashed(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// options are the settings that apply to one command.
type options struct {
	cli    *cli.Context
	files  config.Files
	layers *config.Layers
}

// loadOptions reads the settings files and checks the flags against the
// declaration.
func loadOptions(c *cli.Context) (*options, error) {
	workspace := c.String(workspaceFlag)
	if info, err := os.Stat(workspace); err != nil || !info.IsDir() {
		return nil, usageError("workspace %q is not a directory", workspace)
	}
	o := &options{cli: c, files: config.DefaultFiles(workspace)}
	layers, err := o.files.Load()
	if err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}
	o.layers = layers
	for _, u := range layers.Unknown {
		fmt.Fprintln(os.Stderr, "toolfold:", u.Text())
	}
	return o, o.checkFlags()
}

func (o *options) checkFlags() error {
	given := map[string]any{}
	for _, p := range config.Settings.Params() {
		if value, ok := o.flag(p.Name); ok {
			given[p.Name] = value
		}
	}
	for _, problem := range tools.CheckFields(config.Settings.Params(), given) {
		name := strings.TrimPrefix(problem.Path, "/")
		return usageError("--%s: %s%s", dashed(name), problem.Text(), allowed(problem))
	}
	return nil
}

func allowed(p tools.Problem) string {
	if len(p.Allowed) == 0 {
		return ""
	}
	return "; use " + strings.Join(p.Allowed, ", ")
}

// flag is the value of a setting on the command line or in the environment,
// where empty counts as not set.
func (o *options) flag(name string) (value any, ok bool) {
	if !o.cli.IsSet(dashed(name)) {
		return nil, false
	}
	value = o.cli.Value(dashed(name))
	return value, value != ""
}

// value is what applies: flag, environment, local file, global file, default.
func (o *options) value(name string) any {
	if value, ok := o.flag(name); ok {
		return value
	}
	value, _, _ := o.layers.Lookup(name)
	return value
}

// text is a setting that is a text; empty when it is not set.
func (o *options) text(name string) string {
	text, _ := o.value(name).(string)
	return text
}

// yes is a setting that is a yes or no.
func (o *options) yes(name string) bool {
	yes, _ := o.value(name).(bool)
	return yes
}

// printJSON prints v for programs: one line in a pipe, indented on a terminal.
func printJSON(c *cli.Context, v any) error {
	enc := json.NewEncoder(c.App.Writer)
	enc.SetEscapeHTML(false)
	if isTerminal(os.Stdout) {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(v)
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
