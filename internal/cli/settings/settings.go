// Package settings reads the settings of commands from flags, the environment and files. It derives
// lists, rights, trust in the workspace, and tokens from them.
package settings

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/system/registry"
	"github.com/toolfold/toolfold/internal/system/target"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/script"
)

// WorkspaceFlag is the name of the flag for the workspace folder.
const WorkspaceFlag = "workspace"

// UpstreamsFlag names a client's file, whose servers are also served.
var UpstreamsFlag = &cli.StringFlag{
	Category: commonHeading, Name: "upstreams", Usage: "serve also the servers in this file of a client, with mcpServers or the like",
	EnvVars: []string{"TOOLFOLD_UPSTREAMS"}, TakesFile: true,
}

// Folder returns the folder of the user's settings; empty if the system has no such folder.
func Folder() string {
	if global := config.DefaultFiles("").Global; global != "" {
		return filepath.Dir(global)
	}
	return ""
}

// UpstreamName matches the valid names of upstreams. Names of tools begin with them.
var UpstreamName = regex.Lazy(`^[a-z][a-z0-9_-]{0,31}$`)

// Flags returns the flags of the named settings, from their declarations, and the workspace flag.
func Flags(names ...string) []cli.Flag {
	flags := []cli.Flag{&cli.StringFlag{
		Category: workHeading, Name: WorkspaceFlag, Usage: "folder of files and local settings", Value: ".",
		EnvVars: []string{"TOOLFOLD_WORKSPACE"},
	}}
	for _, p := range config.Params(config.Settings) {
		if !slices.Contains(names, p.Name) {
			continue
		}
		usage := strings.TrimSuffix(p.Doc, ".")
		if len(p.Enum) > maxShownValues {
			usage += " (" + strings.Join(p.Enum[:maxShownValues], ", ") + " …)"
		} else if len(p.Enum) > 0 {
			usage += " (" + strings.Join(p.Enum, ", ") + ")"
		}
		usage += " [$" + EnvName(p.Name) + "]"
		switch value := p.Default.(type) {
		case bool:
			flags = append(flags, &cli.BoolFlag{Category: Heading(p.Name), Name: FlagName(p.Name), Usage: usage, Value: value})
		case int:
			flags = append(flags, &cli.IntFlag{Category: Heading(p.Name), Name: FlagName(p.Name), Usage: usage, Value: value})
		case string:
			flags = append(flags, &cli.StringFlag{Category: Heading(p.Name), Name: FlagName(p.Name), Usage: usage, DefaultText: value})
		default:
			if addsUp[p.Name] {
				flags = append(flags, &cli.StringSliceFlag{Category: Heading(p.Name), Name: FlagName(p.Name), Usage: usage + "; may be repeated"})
				continue
			}
			flags = append(flags, &cli.StringFlag{Category: Heading(p.Name), Name: FlagName(p.Name), Usage: usage, DefaultText: Computed[p.Name]})
		}
	}
	return flags
}

// The headings of settings on help pages.
const (
	commonHeading    = "Common settings"
	shownHeading     = "Lists and answers"
	httpHeading      = "HTTP"
	upstreamsHeading = "Upstreams"
	workHeading      = "Workspace and tasks"
	recordsHeading   = "Records"
)

// Headings are the headings of settings on help pages, in their order.
var Headings = []string{commonHeading, shownHeading, upstreamsHeading, httpHeading, workHeading, recordsHeading}

// Heading returns the heading of the flag of a setting on help pages.
func Heading(setting string) string {
	switch {
	case slices.Contains(PermissionSettings, setting), slices.Contains([]string{"for", "tier", "listing", "http", "store"}, setting):
		return commonHeading
	case slices.Contains(SurfaceSettings, setting), slices.Contains([]string{"resources", "strictNames"}, setting):
		return shownHeading
	case strings.HasPrefix(setting, "upstream"), setting == "instructionTokens", setting == "registry", setting == "sets":
		return upstreamsHeading
	case strings.HasPrefix(setting, "http"), strings.HasPrefix(setting, "max") && setting != "maxInterruptions",
		setting == "allowedHosts", setting == "drainMs", setting == "callsPerMinute", setting == "loginKeys":
		return httpHeading
	case strings.HasPrefix(setting, "trace"), strings.HasPrefix(setting, "metric"), setting == "taskRetentionDays":
		return recordsHeading
	}
	return workHeading
}

// maxShownValues is how many values of a setting a help page lists. The error for an unknown value
// lists all.
const maxShownValues = 8

// addsUp lists settings whose flag may be repeated, such as rules.
var addsUp = map[string]bool{"allow": true, "deny": true}

// Computed describes the values of settings without a default while they are not set.
var Computed = map[string]string{
	"store":         "toolfold.db in the user's data directory",
	"httpTokenFile": "tokens beside the user's config file, if that file exists",
}

// defaultTokenFile returns the token file that is used if no setting names one.
func (o *Options) defaultTokenFile() string {
	return filepath.Join(filepath.Dir(o.Files.Global), "tokens")
}

// applies returns the values in effect of settings without a fixed default: the listing follows from
// the tool mode, the store from the user's folders.
func applies(o config.Options) map[string]any {
	values := map[string]any{"listing": string(surface.Mode(o.ToolMode).DefaultLevel())}
	if url, err := storage.DefaultURL(); err == nil {
		values["store"] = url
	}
	return values
}

// FlagName converts toolMode to tool-mode.
func FlagName(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// EnvName converts toolMode to TOOLFOLD_TOOL_MODE.
func EnvName(setting string) string {
	return "TOOLFOLD_" + strings.ToUpper(strings.ReplaceAll(FlagName(setting), "-", "_"))
}

// Options are the effective settings of a command.
type Options struct {
	config.Options
	Env     *env.Env
	Files   config.Files
	Layers  *config.Layers
	Trusted func() bool // reports whether the user trusts the workspace now

	ManyClients bool // calls come from several clients, as over HTTP
	Joins       bool // records of upstreams that servers over HTTP share are used, as by a worker

	workspaceFrom string // source of the workspace, see [WorkspaceOf]

	sets   map[string]permission.Set // sets that can be served, by name; nil before Choose
	served *permission.Set           // the set to serve; nil = all upstreams
}

// Load reads flags, environment and settings files. It reports ignored entries of the files on standard
// error.
func Load(c *cli.Context) (*Options, error) {
	files, err := FilesOf(c)
	if err != nil {
		return nil, err
	}
	layers, err := files.Load()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", files.Global, err)
	}
	o, err := InForce(c, files, layers)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(o.defaultTokenFile()); o.HTTPTokenFile == "" && err == nil {
		o.HTTPTokenFile = o.defaultTokenFile()
	}
	if c.IsSet("read-only") && !c.Bool("read-only") && o.ReadOnly {
		fmt.Fprintf(c.App.ErrWriter, "toolfold: --read-only=false lifts nothing: readOnly is set by %s\n", o.Layers.From("readOnly"))
	}
	var local []string
	for _, entry := range o.Layers.Ignored {
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

// InForce returns the settings that result from the layers.
func InForce(c *cli.Context, files config.Files, layers *config.Layers) (*Options, error) {
	o := &Options{Env: env.Of(c), Files: files, Layers: layers, Trusted: files.Trusted}
	var err error
	if o.Options, err = layers.Options(); err != nil {
		return nil, err
	}
	if _, o.workspaceFrom, err = WorkspaceOf(c); err != nil {
		return nil, err
	}
	o.narrowAllow()
	return o, nil
}

// HasWorkspace reports whether the user chose the workspace: by a flag or variable, by giving it a
// name, or by trusting it. Otherwise it is only the folder in which the program runs.
func (o *Options) HasWorkspace() bool {
	return o.workspaceFrom != config.Default || o.WorkspaceName != "" || o.Trusted()
}

// WithoutFlags returns a context for commands whose flags share names with settings but mean something
// else. It keeps only the workspace flag and the flags of the settings in except, which must be
// strings.
func WithoutFlags(c *cli.Context, except ...string) *cli.Context {
	flags := flag.NewFlagSet(c.Command.Name, flag.ContinueOnError)
	flags.String(WorkspaceFlag, c.String(WorkspaceFlag), "")
	for _, setting := range except {
		flags.String(FlagName(setting), "", "")
		if c.IsSet(FlagName(setting)) {
			_ = flags.Set(FlagName(setting), c.String(FlagName(setting))) // any text is valid
		}
	}
	bare := cli.NewContext(c.App, flags, nil)
	bare.Context, bare.Command = c.Context, c.Command
	return bare
}

// FilesOf reads the flags and the environment. Empty values count as not set.
func FilesOf(c *cli.Context) (config.Files, error) {
	workspace := cmp.Or(c.String(WorkspaceFlag), ".")
	if info, err := os.Stat(workspace); err != nil || !info.IsDir() {
		return config.Files{}, env.UsageError("workspace %q is not a directory", workspace)
	}
	files := config.DefaultFiles(workspace)
	files.Computed = applies
	files.Flags, files.Env, files.Check, files.Trusted = map[string]any{}, map[string]any{}, checkStart, Trusted(c, workspace)
	for _, p := range config.Params(config.Settings) {
		if p.Name == UpstreamsFlag.Name {
			continue // its flag and variable name a file instead
		}
		flag, variable := FlagName(p.Name), EnvName(p.Name)
		several := false // a flag of another command with this name, such as --set of token add, is not the setting
		if c.IsSet(flag) {
			_, several = c.Value(flag).(cli.StringSlice)
		}
		for _, source := range []struct {
			values     map[string]any
			name, text string
			isSet      bool
		}{
			{files.Flags, "--" + flag, flagText(c, p.Name), c.IsSet(flag) && several == addsUp[p.Name]},
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
		return strings.Join(c.StringSlice(FlagName(setting)), ",")
	}
	return fmt.Sprint(c.Value(FlagName(setting)))
}

// NoteHistory returns the limits of earlier versions of notes.
func (o *Options) NoteHistory() memory.History {
	return memory.History{Versions: o.MemoryVersions, Age: time.Duration(o.MemoryVersionDays) * 24 * time.Hour}
}

// StoreOptions are the options of every store. Ambient credentials are allowed, because only the user
// names a store.
func (o *Options) StoreOptions() []storage.Option {
	return []storage.Option{storage.AmbientCredentials(true), storage.Log(o.Env.Log())}
}

// narrowAllow denies actions that one of several sources does not allow, so that only actions allowed
// by all of them remain.
func (o *Options) narrowAllow() {
	_, lists := o.Layers.Lists("allow")
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

// surface returns the mode and the level of the options.
func (o *Options) surface() (surface.Mode, lazy.Level) {
	mode := surface.Mode(o.ToolMode)
	if o.Listing == "" {
		return mode, mode.DefaultLevel()
	}
	return mode, lazy.Level(o.Listing)
}

// Kind returns the kind of host that the options are for; empty if they name no host.
func (o *Options) Kind() target.Kind {
	if t := target.Find(o.For); t != nil {
		return t.Kind
	}
	return ""
}

// NoWorkbench is the value of the setting tier that serves only other servers, discovery and scripts.
const NoWorkbench = "none"

// GatewayOnly reports whether the workbench is off.
func (o *Options) GatewayOnly() bool { return o.Tier == NoWorkbench }

// Families returns the declarations of this program's families that are served.
func (o *Options) Families() []*toolfold.Family {
	return slices.DeleteFunc(app.Families(), func(f *toolfold.Family) bool {
		return o.GatewayOnly() && !app.OfGateway(f)
	})
}

// Off returns the declarations of this program's families that are not served.
func (o *Options) Off() []*toolfold.Family {
	if !o.GatewayOnly() {
		return nil
	}
	return slices.DeleteFunc(app.Families(), app.OfGateway)
}

// SurfaceOptions returns the options for tools/list.
func (o *Options) SurfaceOptions() surface.Options {
	mode, level := o.surface()
	offer := surface.Options{
		Mode: mode, Level: level, Params: entry.Form(o.Params), Fold: consolidate.Fold(o.Fold), Structured: o.Structured,
		Off: o.Off(), WhyOff: "the workbench is off: --tier=" + NoWorkbench,
	}
	if o.Layers != nil && o.Layers.ForHost("fold") { // a host's best fold was measured with our own tools only
		offer.FoldOthers = consolidate.ByFamily
	}
	if o.Kind() == target.Code && !o.listsAll() { // its code calls tools already
		offer.Unlisted = []string{script.Family.Name}
	}
	for _, tier := range []toolfold.Tier{toolfold.Core, toolfold.Standard, toolfold.Extended} {
		if tier.String() == o.Tier {
			offer.Tier = tier
		}
	}
	return offer
}

// listsAll reports whether the user has set the tier that lists all tools.
func (o *Options) listsAll() bool {
	return o.Tier == toolfold.Extended.String() && o.Layers != nil && o.Layers.From("tier") != config.Default
}

// SurfaceSettings are the settings for tools/list and for answers. The setting for provides values for
// those that are not set.
var SurfaceSettings = []string{"toolMode", "listing", "params", "tier", "fold", "alwaysLoad", "structured", "resultLimit"}

// PermissionSettings are the settings that limit the actions that callers may see and call.
var PermissionSettings = []string{"readOnly", "allow", "deny", "set"}

// RunSettings are the settings of all commands that run calls.
var RunSettings = append([]string{"memoryNamespace", "memoryScope", "memoryVersions", "memoryVersionDays", "notesFolder", "traceArguments",
	"traceCalls", "traceDays", "traceMegabytes", "auditDays", "taskRetentionDays", "maxInterruptions", "scriptsConfirm",
	"metricDays", "metricPoints"},
	PermissionSettings...)

// Rules returns the permission rules of the options.
func Rules(o config.Options) permission.Rules {
	return permission.Rules{ReadOnly: o.ReadOnly, Allow: o.Allow, Deny: o.Deny}
}

// Rules returns the permission rules of the options, with the served set.
func (o *Options) Rules() permission.Rules {
	rules := Rules(o.Options)
	rules.Set = o.served
	return rules
}

// Rights returns the rights of callers. If several sources have allow rules, each of them must allow an
// action. With others, the tools of other servers are served too, which are not known beforehand.
func (o *Options) Rights(others bool) *toolfold.Rights {
	rights := o.Rules().Rights()
	if _, lists := o.Layers.Lists("allow"); others && len(o.Allow) > 0 && len(lists) > 1 {
		for _, allow := range lists {
			rights = rights.And(permission.Rules{Allow: allow}.Rights())
		}
	}
	return rights
}

// checkStart rejects options with which no server could start. If other servers are served, it does not
// check that patterns match, because their tools are not known.
func checkStart(o config.Options) error {
	if err := CheckWorkbench(o); err != nil {
		return err
	}
	families := app.Families()
	if len(o.Upstreams) > 0 {
		return CheckPlaces(o, nil)
	}
	if err := Rules(o).Check(families); err != nil {
		return err
	}
	return CheckPlaces(o, families)
}

// CheckWorkbench rejects legacy mode without a workbench, and the workspace name of notes for all workspaces.
func CheckWorkbench(o config.Options) error {
	if o.WorkspaceName == memory.User {
		return fmt.Errorf("workspaceName: %q is the workspace of notes that belong to all workspaces: choose another name", memory.User)
	}
	if o.Tier == NoWorkbench && surface.Mode(o.ToolMode) == surface.Legacy {
		return fmt.Errorf("--tier=%s switches the workbench off, and --tool-mode=%s lists it by its old names: leave one of the two out",
			NoWorkbench, surface.Legacy)
	}
	return nil
}

// CheckPlaces rejects an invalid store, invalid upstreams and an invalid address. The tokens for the
// address are checked against families, or not at all if families is nil.
func CheckPlaces(o config.Options, families []*toolfold.Family) error {
	if err := storage.CheckURL(o.Store); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if o.Registry != "" {
		if err := registry.CheckURL(o.Registry); err != nil {
			return fmt.Errorf("registry: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Upstreams)) {
		u := o.Upstreams[name]
		switch {
		case !UpstreamName().MatchString(name) || name == hosts.Server:
			return fmt.Errorf("upstreams: %q is no name for one: at most 32 small letters, digits, - and _, a letter first", name)
		case (u.Command == "") == (u.URL == ""):
			return fmt.Errorf("upstreams.%s: it takes either a command or a url", name)
		}
		if err := checkLogin(u); err != nil {
			return fmt.Errorf("upstreams.%s: %w", name, err)
		}
	}
	if err := checkSets(o); err != nil {
		return err
	}
	if o.HTTP == "" {
		return nil
	}
	login := o.HTTPLogin
	if login.Issuer != "" && login.URL == "" {
		return errors.New("httpLogin: an issuer needs url too, the address of this server for clients")
	}
	if (o.HTTPTLS.Cert == "") != (o.HTTPTLS.Key == "") {
		return errors.New("httpTls: cert and key belong together")
	}
	place := serve.HTTP{Addr: o.HTTP, TokenFile: o.HTTPTokenFile, Sets: setsOf(o.Sets, nil)}
	if err := place.Check(families, login.Issuer != ""); err != nil {
		return fmt.Errorf("http: %w", err)
	}
	return nil
}

// checkLogin rejects an upstream at which callers cannot log in as themselves.
func checkLogin(u config.Upstream) error {
	switch {
	case u.Login != "caller" && (u.ClientID != "" || u.ClientSecret != ""):
		return errors.New("clientId and clientSecret go with login caller; upstream login takes --client-id")
	case u.Login != "caller":
		return nil
	case u.ClientSecret != "" && (u.ClientID == "" || !hosts.IsReference(u.ClientSecret)):
		return errors.New("clientSecret goes with clientId, and is a reference such as ${NAME} or ${keyring:NAME}")
	}
	if u.URL == "" {
		return errors.New("login: callers log in at a server with a url only")
	}
	for name := range u.Headers {
		if strings.EqualFold(name, "Authorization") {
			return errors.New("login: the header Authorization would stand for every caller: remove one of the two")
		}
	}
	return nil
}

// Setting is a setting with its source.
type Setting struct {
	Name  string `json:"name"`
	Value any    `json:"value,omitempty"` // absent if not set
	From  string `json:"from"`            // see [config.Layers.From]
}

// List returns every setting in the order of their declaration, without secrets.
func (o *Options) List() (list []Setting) {
	values, shown := o.Layers.Redacted(), o.SurfaceOptions()
	values["store"] = StoreOf(o.Layers)
	for name, value := range map[string]any{"toolMode": shown.Mode, "listing": shown.Level} {
		if values[name] == nil {
			values[name] = value
		}
	}
	for _, p := range config.Params(config.Settings) {
		list = append(list, Setting{Name: p.Name, Value: values[p.Name], From: o.Layers.From(p.Name)})
	}
	return list
}

// WorkspaceOf returns the workspace's path and its source.
func WorkspaceOf(c *cli.Context) (path, from string, err error) {
	dir := cmp.Or(c.String(WorkspaceFlag), ".")
	switch {
	case c.String(WorkspaceFlag) == "" || !c.IsSet(WorkspaceFlag):
		from = config.Default
	case os.Getenv("TOOLFOLD_WORKSPACE") == dir:
		from = config.Environment
	default:
		from = config.Flag
	}
	path, err = filepath.Abs(dir)
	return path, from, err
}

// StoreOf returns the URL of the effective store, without its password.
func StoreOf(layers *config.Layers) any {
	if url := layers.Redacted()["store"]; url != nil {
		return url
	}
	url, _ := storage.DefaultURL()
	return url
}
