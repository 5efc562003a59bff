package cli

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
)

const workspaceFlag = "workspace"

// settingFlags returns the flags of the named settings, made of their
// declaration, and the flag that says where the workspace is.
func settingFlags(names ...string) []cli.Flag {
	flags := []cli.Flag{&cli.StringFlag{
		Name: workspaceFlag, Usage: "directory that files and local settings belong to", Value: ".",
		EnvVars: []string{"TOOLFOLD_WORKSPACE"},
	}}
	for _, p := range config.Params(config.Settings) {
		if !slices.Contains(names, p.Name) {
			continue
		}
		usage := strings.TrimSuffix(p.Doc, ".")
		if len(p.Enum) > 0 {
			usage += " (" + strings.Join(p.Enum, ", ") + ")"
		}
		usage += " [$" + envName(p.Name) + "]"
		switch value := p.Default.(type) {
		case bool:
			flags = append(flags, &cli.BoolFlag{Category: heading(p.Name), Name: dashed(p.Name), Usage: usage, Value: value})
		case int:
			flags = append(flags, &cli.IntFlag{Category: heading(p.Name), Name: dashed(p.Name), Usage: usage, Value: value})
		case string:
			flags = append(flags, &cli.StringFlag{Category: heading(p.Name), Name: dashed(p.Name), Usage: usage, DefaultText: value})
		default:
			if addsUp[p.Name] {
				flags = append(flags, &cli.StringSliceFlag{Category: heading(p.Name), Name: dashed(p.Name), Usage: usage + "; may be repeated"})
				continue
			}
			flags = append(flags, &cli.StringFlag{Category: heading(p.Name), Name: dashed(p.Name), Usage: usage, DefaultText: computed[p.Name]})
		}
	}
	return flags
}

// heading returns the heading under which help pages have the flag of a setting; empty for none.
func heading(setting string) string {
	switch {
	case slices.Contains(permissionSettings, setting):
		return "What callers may do"
	case slices.Contains(surfaceSettings, setting), slices.Contains([]string{"for", "resources", "strictNames", "upstreamWaitMs"}, setting):
		return "What clients are shown"
	case strings.HasPrefix(setting, "http"), strings.HasPrefix(setting, "max") && setting != "maxInterruptions", setting == "allowedHosts":
		return "HTTP"
	case strings.HasPrefix(setting, "trace"), strings.HasPrefix(setting, "metric"), setting == "taskRetentionDays":
		return "Records"
	}
	return ""
}

// addsUp are settings whose flag may be given several times, as rules are.
var addsUp = map[string]bool{"allow": true, "deny": true}

// computed says what applies where a setting without a default is not set.
var computed = map[string]string{
	"store":         "toolfold.db in the user's data directory",
	"httpTokenFile": "tokens beside the user's config file, where that exists",
}

// defaultTokenFile returns where tokens are kept that no setting names a file for.
func (o *options) defaultTokenFile() string {
	return filepath.Join(filepath.Dir(o.files.Global), "tokens")
}

// applies returns what applies where settings without a default are not set.
func applies(o config.Options) map[string]any {
	values := map[string]any{"listing": string(surface.Mode(o.ToolMode).DefaultLevel())}
	if url, err := storage.DefaultURL(); err == nil {
		values["store"] = url
	}
	return values
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

// envName spells toolMode as TOOLFOLD_TOOL_MODE.
func envName(setting string) string {
	return "TOOLFOLD_" + strings.ToUpper(strings.ReplaceAll(dashed(setting), "-", "_"))
}

// options are the settings that apply to one command.
type options struct {
	config.Options
	env     *env.Env
	files   config.Files
	layers  *config.Layers
	trusted func() bool // whether the user trusts the workspace, now

	upstreams []gateway.Upstream // whose tools are offered too, by commands that run calls
}

// loadOptions reads flags, environment and settings files, and says on standard
// error what the files have that does not apply.
func loadOptions(c *cli.Context) (*options, error) {
	files, err := settingFiles(c)
	if err != nil {
		return nil, err
	}
	o := &options{env: env.Of(c), files: files, trusted: files.Trusted}
	if o.layers, err = files.Load(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", files.Global, err)
	}
	if o.Options, err = o.layers.Options(); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(o.defaultTokenFile()); o.HTTPTokenFile == "" && err == nil {
		o.HTTPTokenFile = o.defaultTokenFile()
	}
	o.narrowAllow()
	if c.IsSet("read-only") && !c.Bool("read-only") && o.ReadOnly {
		fmt.Fprintf(c.App.ErrWriter, "toolfold: --read-only=false lifts nothing: readOnly is set by %s\n", o.layers.From("readOnly"))
	}
	var local []string
	for _, entry := range o.layers.Ignored {
		if entry.Scope == config.Local {
			local = append(local, entry.Text())
		} else {
			fmt.Fprintf(c.App.ErrWriter, "toolfold: %s: left out %s\n", files.Global, entry.Text())
		}
	}
	if local != nil {
		path := filepath.Join(files.Workspace, config.LocalFile)
		fmt.Fprintf(c.App.ErrWriter, "toolfold: %s: left out %s\n", path, strings.Join(local, ", "))
	}
	return o, nil
}

// settingFiles reads the flags and the environment. Empty values count as not
// set.
func settingFiles(c *cli.Context) (config.Files, error) {
	workspace := cmp.Or(c.String(workspaceFlag), ".")
	if info, err := os.Stat(workspace); err != nil || !info.IsDir() {
		return config.Files{}, env.UsageError("workspace %q is not a directory", workspace)
	}
	files := config.DefaultFiles(workspace)
	files.Computed = applies
	files.Flags, files.Env, files.Check, files.Trusted = map[string]any{}, map[string]any{}, checkStart, trusted(c, workspace)
	for _, p := range config.Params(config.Settings) {
		if p.Name == upstreamsFlag.Name {
			continue // a flag and a variable of that name have a file
		}
		flag, variable := dashed(p.Name), envName(p.Name)
		for _, source := range []struct {
			values     map[string]any
			name, text string
			isSet      bool
		}{
			{files.Flags, "--" + flag, flagText(c, p.Name), c.IsSet(flag)},
			{files.Env, variable, os.Getenv(variable), true},
		} {
			if !source.isSet || source.text == "" {
				continue
			}
			value, err := config.Parse(p, source.name, source.text)
			if err != nil {
				return config.Files{}, env.UsageError("%v", err)
			}
			source.values[p.Name] = value
		}
	}
	return files, nil
}

// flagText returns the value of a setting's flag as one text.
func flagText(c *cli.Context, setting string) string {
	if addsUp[setting] {
		return strings.Join(c.StringSlice(dashed(setting)), ",")
	}
	return fmt.Sprint(c.Value(dashed(setting)))
}

// storeOptions are those of every store: only the user names one.
func (o *options) storeOptions() []storage.Option {
	return []storage.Option{storage.AmbientCredentials(true), storage.Log(o.env.Log())}
}

// narrowAllow denies what one of several sources does not allow, so that only
// what all of them allow is left.
func (o *options) narrowAllow() {
	_, lists := o.layers.Lists("allow")
	if len(lists) < 2 {
		return
	}
	denied := slices.Clone(o.Deny)
	for _, f := range app.Families() {
		for _, a := range f.Actions {
			for _, allow := range lists {
				if setting, _ := (permission.Rules{Allow: allow}).Reason(a); setting != "" && !slices.Contains(denied, a.FullName()) {
					denied = append(denied, a.FullName())
				}
			}
		}
	}
	o.Deny = denied
}

// surface returns the mode and the level that the options ask for.
func (o *options) surface() (surface.Mode, lazy.Level) {
	mode := surface.Mode(o.ToolMode)
	if o.Listing == "" {
		return mode, mode.DefaultLevel()
	}
	return mode, lazy.Level(o.Listing)
}

// kind returns the kind of the host that the options are for; empty for none.
func (o *options) kind() hosts.Kind {
	if t := hosts.FindTarget(o.For); t != nil {
		return t.Kind
	}
	return ""
}

// surfaceOptions returns what tools/list offers under the options.
func (o *options) surfaceOptions() surface.Options {
	mode, level := o.surface()
	offer := surface.Options{
		Mode: mode, Level: level, Params: entry.Form(o.Params), Fold: consolidate.Fold(o.Fold), Structured: o.Structured,
	}
	if o.Tier == "none" {
		offer.Tier = lazy.NoTier
	}
	for _, tier := range []toolfold.Tier{toolfold.Core, toolfold.Standard, toolfold.Extended} {
		if tier.String() == o.Tier {
			offer.Tier = tier
		}
	}
	return offer
}

// surfaceSettings are the settings that say what tools/list shows and how calls are
// answered; the setting for decides those of them that are not set.
var surfaceSettings = []string{"toolMode", "listing", "params", "tier", "fold", "alwaysLoad", "structured", "resultLimit"}

// permissionSettings are the settings that say what callers may see and call.
var permissionSettings = []string{"readOnly", "allow", "deny"}

// runSettings are those of every command that runs calls.
var runSettings = append([]string{"memoryNamespace", "traceArguments", "traceCalls", "traceDays", "traceMegabytes", "taskRetentionDays",
	"maxInterruptions", "metricDays", "metricPoints"}, permissionSettings...)

// rules returns what the options permit.
func rules(o config.Options) permission.Rules {
	return permission.Rules{ReadOnly: o.ReadOnly, Allow: o.Allow, Deny: o.Deny}
}

// checkStart refuses options with which no server could start. Which patterns of rights
// match is not known where tools of other servers are served too.
func checkStart(o config.Options) error {
	families := app.Families()
	if len(o.Upstreams) > 0 {
		return checkPlaces(o, nil)
	}
	if err := rules(o).Check(families); err != nil {
		return err
	}
	return checkPlaces(o, families)
}

// checkPlaces refuses a store, upstreams and an address that cannot be; the rights of the
// tokens for the address are those over families, nil for ones that are not known.
func checkPlaces(o config.Options, families []*toolfold.Family) error {
	if err := storage.CheckURL(o.Store); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Upstreams)) {
		u := o.Upstreams[name]
		switch {
		case !upstreamName().MatchString(name) || name == hosts.Server:
			return fmt.Errorf("upstreams: %q is no name for one: at most 32 small letters, digits, - and _, a letter first", name)
		case (u.Command == "") == (u.URL == ""):
			return fmt.Errorf("upstreams.%s: it takes either a command or a url", name)
		}
	}
	if o.HTTP == "" {
		return nil
	}
	if err := (serve.HTTP{Addr: o.HTTP, TokenFile: o.HTTPTokenFile}).Check(families); err != nil {
		return fmt.Errorf("http: %w", err)
	}
	return nil
}
