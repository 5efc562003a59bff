// Package machine has the commands for this machine, its store and its permissions: status, export,
// import, trust, token and hook.
package machine

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
)

// StatusCommand returns the command status.
func StatusCommand() *cli.Command {
	var names []string
	for _, p := range config.Params(config.Settings) {
		names = append(names, p.Name)
	}
	return &cli.Command{
		Name:  "status",
		Usage: "show the list and its cost, the workspace, the store and the rights",
		Flags: append(settings.Flags(names...), settings.TrustFlag, env.JSONFlag,
			&cli.BoolFlag{Name: "all", Usage: "show the files and every setting too, with its source"}),
		Action: statusAction,
	}
}

// status is the output of status --json.
type status struct {
	Version   string             `json:"version"`
	List      *listStatus        `json:"list,omitempty"` // nil if the settings are invalid
	Store     *storeStatus       `json:"store,omitempty"`
	Rights    string             `json:"rights,omitempty"`
	Data      string             `json:"data"` // folder of the default store and of the list of trusted folders
	Workspace workspaceStatus    `json:"workspace"`
	Notebook  string             `json:"notebook"` // whether memory shares its notes between workspaces
	Files     []fileStatus       `json:"files"`    // settings files, the user's first
	Settings  []settings.Setting `json:"settings,omitempty"`
}

// listStatus describes the tool list of clients, including other servers' tools.
type listStatus struct {
	Mode  surface.Mode `json:"mode"`
	Level lazy.Level   `json:"level"`
	doctor.SurfaceCost
	Upstreams int      `json:"upstreams,omitempty"`    // in the settings
	Off       int      `json:"upstreamsOff,omitempty"` // number of switched-off upstreams
	Sets      []string `json:"sets,omitempty"`         // sets of upstreams, sorted; a client may be limited to one
	Advice    string   `json:"advice,omitempty"`       // if the list is long
}

type storeStatus struct {
	URL     string `json:"url"` // without its password
	State   string `json:"state,omitempty"`
	Problem string `json:"problem,omitempty"` // why calls fail to use it
}

type workspaceStatus struct {
	Path        string `json:"path"`
	From        string `json:"from"` // flag, environment or default
	Trusted     bool   `json:"trusted"`
	Replaced    string `json:"replaced,omitempty"`    // the trusted folder, if another folder has replaced it
	Definitions string `json:"definitions,omitempty"` // definitions that trust enables, such as "2 agents"
}

type fileStatus struct {
	Scope   string                `json:"scope"`
	Path    string                `json:"path"`
	Exists  bool                  `json:"exists"`
	Ignored []config.IgnoredEntry `json:"ignored,omitempty"`
	Problem string                `json:"problem,omitempty"` // why no command starts
}

func statusAction(c *cli.Context) error {
	files, err := settings.FilesOf(c)
	if err != nil {
		return err
	}
	s := status{Version: env.Version()}
	if s.Data, err = storage.DataDir(); err != nil {
		return err
	}
	if s.Workspace.Path, s.Workspace.From, err = settings.WorkspaceOf(c); err != nil {
		return err
	}
	s.Workspace.Trusted = settings.Trusted(c, files.Workspace)()
	s.Workspace.Replaced = settings.Replaced(c, files.Workspace)
	s.Workspace.Definitions = settings.Definitions(files.Workspace)
	layers, problem := files.Load()
	s.Notebook = "one for all workspaces; each has its own notes in it and sees those of others"
	if layers != nil {
		if own, ok := layers.Merged()["memoryNamespace"]; ok {
			s.Notebook = fmt.Sprintf("namespace %v; calls that name another namespace read that", own)
		}
	}
	for _, f := range []fileStatus{
		{Scope: config.Global, Path: files.Global}, {Scope: config.Local, Path: filepath.Join(s.Workspace.Path, config.LocalFile)},
	} {
		_, err := os.Stat(f.Path)
		f.Exists = err == nil
		if problem != nil && f.Scope == config.Global {
			f.Problem = problem.Error()
		}
		if layers != nil {
			for _, entry := range layers.Ignored {
				if entry.Scope == f.Scope {
					f.Ignored = append(f.Ignored, entry)
				}
			}
		}
		s.Files = append(s.Files, f)
	}
	if layers != nil {
		o, err := s.inForce(c)
		if err != nil {
			return err
		}
		s.Settings = o.List()
	}
	if c.Bool(env.JSONFlag.Name) {
		err = env.PrintJSON(c, s)
	} else {
		err = s.print(c)
	}
	if err == nil && (problem != nil || s.Store != nil && s.Store.Problem != "") {
		return cli.Exit("", env.ExitFailed)
	}
	return err
}

// lookWithin is the timeout for reading the state of a store.
const lookWithin = 5 * time.Second

// inForce adds the effects of the settings: the list and its cost, the rights and the store. It
// does not start servers.
func (s *status) inForce(c *cli.Context) (*settings.Options, error) {
	o, g, err := servers.OpenGateway(c, "")
	if err != nil {
		return nil, err
	}
	defer g.Close()
	offer, families := o.SurfaceOptions(), o.Families()
	permitted := o.Rules().Rights().Filter(families)
	served, err := servers.SurfaceCost(o, g)
	if err != nil {
		return nil, err
	}
	s.List = &listStatus{
		Mode: offer.Mode, Level: offer.Level, SurfaceCost: served, Upstreams: len(o.Upstreams), Sets: slices.Sorted(maps.Keys(o.Sets)),
		Advice: settings.ListAdvice(served.Tokens, offer.Level),
	}
	for _, u := range o.Upstreams {
		if u.Disabled {
			s.List.Off++
		}
	}
	count := func(families []*toolfold.Family) (n int) {
		for _, f := range families {
			n += len(f.Actions)
		}
		return n
	}
	s.Rights = fmt.Sprintf("all %d actions", count(families))
	if n := count(permitted); n < count(families) {
		s.Rights = fmt.Sprintf("%d of %d actions; toolfold tools --explain gives the reasons", n, count(families))
	}
	s.Store = &storeStatus{URL: fmt.Sprint(settings.StoreOf(o.Layers))}
	ctx, cancel := context.WithTimeout(c.Context, lookWithin)
	defer cancel()
	if s.Store.State, err = storage.Look(ctx, o.Store, o.StoreOptions()...); err != nil {
		lines := strings.Split(err.Error(), "\n") // one for each tried address
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		s.Store.State, s.Store.Problem = "", strings.Join(slices.Compact(lines), " ")
	}
	return o, nil
}

func (s status) print(c *cli.Context) error {
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	all := c.Bool("all")
	fmt.Fprintf(w, "toolfold\t%s", s.Version)
	if s.List != nil {
		fmt.Fprintf(w, "\t%s\nlist\t%s, %s listing", s.List.SurfaceCost, s.List.Mode, s.List.Level)
		if s.List.Upstreams > 0 {
			fmt.Fprintf(w, "\ttoolfold doctor --upstreams has a row for each server")
			if s.List.Off > 0 {
				fmt.Fprintf(w, "; %d switched off", s.List.Off)
			}
		}
		if len(s.List.Sets) > 0 && s.List.Set == "" {
			fmt.Fprintf(w, "\nsets\t%s\ttoolfold status --set=NAME has the figures of one", strings.Join(s.List.Sets, ", "))
		}
		if s.List.Advice != "" {
			fmt.Fprintf(w, "\n\t%s", s.List.Advice)
		}
	}
	fmt.Fprintf(w, "\nworkspace\t%s\t%s\n", s.Workspace.Path, s.Workspace.From)
	switch {
	case s.Workspace.Replaced != "":
		fmt.Fprintf(w, "trusted\tyes\t%s, but another folder stands at %s since: look at it, then toolfold trust or untrust it\n",
			s.Workspace.Definitions, s.Workspace.Replaced)
	case s.Workspace.Trusted:
		fmt.Fprintf(w, "trusted\tyes\t%s\n", s.Workspace.Definitions)
	case s.Workspace.Definitions != "":
		fmt.Fprintf(w, "trusted\tno\t%s left out; to use: toolfold trust %s\n", s.Workspace.Definitions, s.Workspace.Path)
	default:
		fmt.Fprintf(w, "trusted\tno\n")
	}
	fmt.Fprintf(w, "notebook\t%s\n", s.Notebook)
	if s.Store != nil {
		fmt.Fprintf(w, "store\t%s\t%s\n", s.Store.URL, cmp.Or(s.Store.State, "cannot be used: "+s.Store.Problem))
		fmt.Fprintf(w, "rights\t%s\n", s.Rights)
	}
	if all {
		fmt.Fprintf(w, "data\t%s\n", s.Data)
	}
	for _, f := range s.Files {
		state := cmp.Or(f.Problem, "in use")
		if !f.Exists && f.Problem == "" {
			state = "absent"
		}
		if all || f.Problem != "" || f.Ignored != nil {
			fmt.Fprintf(w, "%s settings\t%s\t%s\n", f.Scope, f.Path, state)
		}
		for _, entry := range f.Ignored {
			fmt.Fprintf(w, "\tleft out %s\n", entry.Text())
		}
	}
	if all {
		s.printSettings(w)
	}
	if err := w.Flush(); err != nil || all {
		return err
	}
	_, err := fmt.Fprintln(c.App.ErrWriter, "toolfold status --all shows the files and every setting, with its source")
	return err
}

// printSettings prints a line for each setting.
func (s status) printSettings(w io.Writer) {
	for _, setting := range s.Settings {
		value := setting.Value
		if value == nil {
			value = "-"
		}
		if object, ok := value.(map[string]any); ok {
			value = fmt.Sprintf("%d configured", len(object))
		}
		fmt.Fprintf(w, "%s\t%v\t%s\n", setting.Name, value, setting.From)
	}
}
