package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/cmd/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/config"
)

func statusCommand() *cli.Command {
	var names []string
	for _, p := range config.Params(config.Settings) {
		names = append(names, p.Name)
	}
	return &cli.Command{
		Name:   "status",
		Usage:  "show where data and settings are, what is trusted, and what decided each setting",
		Flags:  append(settingFlags(names...), trustFlag, jsonFlag),
		Action: statusAction,
	}
}

// status holds the output of status --json.
type status struct {
	Version   string          `json:"version"`
	Data      string          `json:"data"` // folder of the default store and the list of trusted folders
	Workspace workspaceStatus `json:"workspace"`
	Notebook  string          `json:"notebook"` // which notes of other workspaces memory holds
	Files     []fileStatus    `json:"files"`    // of settings, the user's first
	Settings  []settingStatus `json:"settings,omitempty"`
}

type workspaceStatus struct {
	Path        string `json:"path"`
	From        string `json:"from"` // flag, environment or default
	Trusted     bool   `json:"trusted"`
	Replaced    string `json:"replaced,omitempty"`    // the trusted folder, where another one stands at its path since
	Definitions string `json:"definitions,omitempty"` // what trust is about, such as "2 agents"
}

type fileStatus struct {
	Scope   string           `json:"scope"`
	Path    string           `json:"path"`
	Exists  bool             `json:"exists"`
	Ignored []config.Ignored `json:"ignored,omitempty"`
	Problem string           `json:"problem,omitempty"` // why no command starts
}

type settingStatus struct {
	Name  string `json:"name"`
	Value any    `json:"value,omitempty"` // absent where nothing is set
	From  string `json:"from"`
}

func statusAction(c *cli.Context) error {
	files, err := settingFiles(c)
	if err != nil {
		return err
	}
	s := status{Version: version()}
	if s.Data, err = storage.DataDir(); err != nil {
		return err
	}
	if s.Workspace.Path, s.Workspace.From, err = workspaceOf(c); err != nil {
		return err
	}
	s.Workspace.Trusted = trusted(c, files.Workspace)()
	s.Workspace.Replaced = replaced(c, files.Workspace)
	s.Workspace.Definitions = definitions(files.Workspace)
	layers, problem := files.Load()
	s.Notebook = "one for the notes of all workspaces; the setting memoryNamespace gives this one its own"
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
		applies := layers.Redacted()
		applies["store"] = storeOf(layers)
		for _, p := range config.Params(config.Settings) {
			s.Settings = append(s.Settings, settingStatus{p.Name, applies[p.Name], layers.From(p.Name)})
		}
	}
	if c.Bool(jsonFlag.Name) {
		err = printJSON(c, s)
	} else {
		err = s.print(c)
	}
	if err == nil && problem != nil {
		return cli.Exit("", exitFailed)
	}
	return err
}

// workspaceOf returns the workspace's path and what decided it.
func workspaceOf(c *cli.Context) (path, from string, err error) {
	dir := cmp.Or(c.String(workspaceFlag), ".")
	switch {
	case c.String(workspaceFlag) == "" || !c.IsSet(workspaceFlag):
		from = config.Default
	case os.Getenv("TOOLFOLD_WORKSPACE") == dir:
		from = config.Environment
	default:
		from = config.Flag
	}
	path, err = filepath.Abs(dir)
	return path, from, err
}

// storeOf returns the URL of the store that applies, without its password.
func storeOf(layers *config.Layers) any {
	if url := layers.Redacted()["store"]; url != nil {
		return url
	}
	url, _ := storage.DefaultURL()
	return url
}

func (s status) print(c *cli.Context) error {
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "toolfold\t%s\n", s.Version)
	fmt.Fprintf(w, "data\t%s\n", s.Data)
	fmt.Fprintf(w, "workspace\t%s\t%s\n", s.Workspace.Path, s.Workspace.From)
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
	for _, f := range s.Files {
		state := "absent"
		if f.Exists {
			state = "in use"
		}
		if f.Problem != "" {
			state = f.Problem
		}
		fmt.Fprintf(w, "%s settings\t%s\t%s\n", f.Scope, f.Path, state)
		for _, entry := range f.Ignored {
			fmt.Fprintf(w, "\tleft out %s\n", entry.Text())
		}
	}
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
	return w.Flush()
}
