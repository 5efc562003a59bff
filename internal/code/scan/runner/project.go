package runner

import (
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/toolfold/toolfold/internal/system/outside"
	"github.com/toolfold/toolfold/internal/system/safefile"
)

// Project is a folder with files to check.
type Project struct {
	Dir    string                 // absolute, without links
	Root   *os.Root               // of Dir
	Apart  string                 // why no code of the project may run; empty = it may
	GoEnv  []string               // environment in which the go command runs no code of the project
	IsData func(name string) bool // reports whether a file is test data, so that a configuration beside it does not count; nil = no file is
}

// Plan lists the tools that run over the files of a project, and those that do not run.
type Plan struct {
	Runs           []Run
	Refusals       []Refusal
	SkippedFolders map[string][]string // folders beyond maxFolders, by tool name
	Missing        []string            // tools to install, as NAME: COMMAND
}

// Run is a tool with the folders in which it runs.
type Run struct {
	Runner
	InUse  bool // the project uses it
	places []place
	home   map[string]string // for each file that the tool checks, the folder in which it runs
}

// place is a folder in which a tool runs, with its files. Files below a nested folder with a
// configuration of the tool belong to that folder.
type place struct {
	folder string   // below the project, with slashes; "." is the project
	argv   []string // the program and its first arguments
	files  []string // below the project
	config string   // the file that matched Config, relative to folder
}

// Refusal is the reason why a tool that is used or installed does not run.
type Refusal struct{ Name, Reason string }

// maxMissing bounds the missing tools of a plan.
const maxMissing = 3

// maxFolders bounds the folders in which a tool runs.
const maxFolders = 20

// maxConfig bounds a configuration file that is searched for a text, in bytes.
const maxConfig = 1 << 20

// candidate is a runner in a folder, with what the project has of the tool.
type candidate struct {
	Runner
	place
	inside bool   // the project has a program
	leads  string // the folder of the project whose link to the program leads out of the project
	uses   bool   // the project uses it
}

// Plan chooses the tools for files: those that the project uses, and for jobs that no tool does,
// those that need no configuration.
func (p Project) Plan(files []string) Plan {
	plan := Plan{SkippedFolders: map[string][]string{}}
	f := finder{Project: p, names: map[string][]string{}}
	var all []candidate
	for _, r := range All {
		all = append(all, f.candidates(r, files)...)
	}
	jobs, served := map[string]bool{}, map[[2]string]bool{} // jobs that a tool does, at all and per file
	serve := func(c candidate) {
		jobs[c.Job] = true
		for _, name := range c.files {
			served[[2]string{c.Job, name}] = true
		}
	}
	unserved := func(c candidate) []string {
		return slices.DeleteFunc(slices.Clone(c.files), func(name string) bool { return served[[2]string{c.Job, name}] })
	}
	for _, c := range all {
		if !c.uses {
			continue
		}
		if reason := p.refuses(c); reason != "" {
			plan.refuse(c.Name, reason)
		} else if c.argv != nil {
			plan.run(c)
		} else {
			continue
		}
		serve(c)
	}
	for _, c := range all {
		switch {
		case c.uses || c.argv == nil:
		case c.Bare && p.refuses(c) == "":
			if c.files = unserved(c); len(c.files) > 0 {
				plan.run(c)
				serve(c)
			}
		case c.Needs && !jobs[c.Job]:
			plan.refuse(c.Name, "there is no "+c.Config[0])
			serve(c)
		}
	}
	named := map[string]bool{}
	for _, c := range all {
		needed := c.uses && len(unserved(c)) > 0 || c.Bare && !jobs[c.Job]
		if c.argv == nil && needed && !named[c.Name] && len(plan.Missing) < maxMissing && p.helps(c.Runner) {
			plan.Missing = append(plan.Missing, c.Name+": "+c.Install)
			named[c.Name] = true
			serve(c)
		}
	}
	return plan
}

// run adds a folder to a tool's run, up to maxFolders.
func (p *Plan) run(c candidate) {
	i := slices.IndexFunc(p.Runs, func(r Run) bool { return r.Name == c.Name })
	if i < 0 {
		i = len(p.Runs)
		p.Runs = append(p.Runs, Run{Runner: c.Runner, home: map[string]string{}})
	}
	r := &p.Runs[i]
	r.InUse = r.InUse || c.uses
	if len(r.places) == maxFolders {
		p.SkippedFolders[c.Name] = append(p.SkippedFolders[c.Name], c.folder)
		return
	}
	r.places = append(r.places, c.place)
	for _, name := range c.files {
		r.home[name] = c.folder
	}
}

// refuse records why a tool does not run, without duplicates.
func (p *Plan) refuse(name, reason string) {
	if refusal := (Refusal{name, reason}); !slices.Contains(p.Refusals, refusal) {
		p.Refusals = append(p.Refusals, refusal)
	}
}

// Reads reports whether the tool checks the file with this name.
func (r Run) Reads(name string) bool { return r.home[name] != "" }

// Heavy reports whether a finding keeps the tool's severity. If the project does not use the tool,
// only security findings and findings of Sure rules do: other findings mostly name code that works
// as intended.
func (r Run) Heavy(report Report) bool {
	sure := slices.ContainsFunc(r.Sure, func(beginning string) bool { return strings.HasPrefix(report.Rule, beginning) })
	return r.InUse || sure || report.Security
}

// helps reports whether installing a tool would make it run. npm installs into the project, which
// does not help in an untrusted one.
func (p Project) helps(r Runner) bool {
	return p.Apart == "" || r.Apart != nil && !strings.HasPrefix(r.Install, "npm ")
}

// finder finds tools in the folders of a project.
type finder struct {
	Project
	names map[string][]string // cache: names of entries, by folder
}

// candidates returns the candidates of a runner, sorted by folder. A tool that uses no
// configuration of the project gets one candidate for all files.
func (f finder) candidates(r Runner, files []string) (list []candidate) {
	homes, byHome := map[string]string{}, map[string][]string{}
	for _, name := range files {
		if r.Wants(name) {
			home := f.home(r, path.Dir(name), homes)
			byHome[home] = append(byHome[home], name)
		}
	}
	for _, home := range slices.Sorted(maps.Keys(byHome)) {
		list = append(list, f.candidate(r, place{folder: home, files: byHome[home]}))
	}
	if f.Apart == "" || r.Apart != nil && r.Apart.Go || len(list) == 0 {
		return list
	}
	all := list[0]
	all.folder = "."
	for _, c := range list[1:] {
		all.files = append(all.files, c.files...)
		all.inside, all.leads, all.uses = all.inside || c.inside, cmp.Or(all.leads, c.leads), all.uses || c.uses
	}
	return []candidate{all}
}

// home returns the folder in which a tool checks the files of a folder: the nearest parent with a
// configuration of the tool, else the project. Known caches the results.
func (f finder) home(r Runner, folder string, known map[string]string) string {
	home, ok := known[folder]
	if ok {
		return home
	}
	switch {
	case folder == ".":
		home = "."
	case (f.IsData == nil || !f.IsData(path.Join(folder, "file"))) && f.configuration(r, folder) != "":
		home = folder
	default:
		home = f.home(r, path.Dir(folder), known)
	}
	known[folder] = home
	return home
}

// candidate returns the candidate of a runner for a place.
func (f finder) candidate(r Runner, at place) candidate {
	c := candidate{Runner: r, place: at}
	c.config = f.configuration(r, at.folder)
	inside, leads := f.inside(r.Name, at.folder)
	c.inside, c.leads = inside != nil, leads
	c.uses = c.config != "" || !r.Needs && (c.inside || leads != "")
	switch {
	case f.Apart != "":
		if found := outside.Program(f.Dir, r.Name); found != "" {
			c.argv = []string{found}
		}
	case c.inside:
		c.argv = inside
	default:
		if found, err := exec.LookPath(r.Name); err == nil {
			c.argv = []string{found}
		}
	}
	return c
}

// refuses returns why a tool must not run, or "" if it may, or if it is not installed.
func (p Project) refuses(c candidate) string {
	switch {
	case p.Apart != "" && c.Apart == nil && (c.argv != nil || c.inside):
		return p.Apart
	case p.Apart != "" && c.argv == nil && c.inside:
		return p.Apart + ", and there is no other outside of it"
	case c.argv == nil && c.leads != "":
		return c.leads + " leads out of the workspace to it"
	}
	return ""
}

// configuration returns the first file of a folder that matches r.Config, or "".
func (f finder) configuration(r Runner, folder string) string {
	for _, pattern := range r.Config {
		pattern, text, inText := strings.Cut(pattern, ":")
		first, below, _ := strings.Cut(pattern, "/")
		for _, name := range f.list(folder) {
			if matches, err := path.Match(first, name); err != nil || !matches {
				continue
			}
			found := path.Join(name, below)
			at := filepath.FromSlash(path.Join(folder, found))
			if _, err := f.Root.Stat(at); err != nil {
				continue // it does not exist, or a link leads out
			}
			if inText {
				content, err := safefile.Read(f.Root, at, maxConfig)
				if err != nil || !strings.Contains(string(content), text) {
					continue
				}
			}
			return found
		}
	}
	return ""
}

// list returns the names of a folder's entries, sorted.
func (f finder) list(folder string) []string {
	names, known := f.names[folder]
	if !known {
		if dir, err := f.Root.Open(filepath.FromSlash(folder)); err == nil {
			names, _ = dir.Readdirnames(-1) // use the names read before an error
			dir.Close()
		}
		slices.Sort(names)
		f.names[folder] = names
	}
	return names
}

// programFolders are the folders of a project into which package managers install programs.
var programFolders = []string{"node_modules/.bin", ".venv/bin", "venv/bin", ".venv/Scripts", "venv/Scripts"}

// inside returns the command for the project's own program that is nearest to a folder, in it or
// above, or nil. If there is only a link to a program elsewhere, leads is the folder that has it.
func (p Project) inside(name, folder string) (argv []string, leads string) {
	for inModule := false; ; folder = path.Dir(folder) {
		for _, programs := range programFolders {
			at := filepath.FromSlash(path.Join(folder, programs, name))
			if _, err := p.Root.Stat(at); err == nil {
				return []string{filepath.Join(p.Dir, at)}, ""
			}
			if _, err := os.Stat(filepath.Join(p.Dir, at)); err == nil && leads == "" {
				first, _, _ := strings.Cut(programs, "/")
				leads = path.Join(folder, first)
			}
		}
		content, err := safefile.Read(p.Root, filepath.FromSlash(path.Join(folder, "go.mod")), maxConfig)
		if err == nil && !inModule && hasTool(content, name) {
			return []string{"go", "tool", name}, ""
		}
		if inModule = inModule || err == nil; folder == "." {
			return nil, leads
		}
	}
}

// hasTool reports whether a go.mod declares a tool.
func hasTool(content []byte, name string) bool {
	module, err := modfile.ParseLax("go.mod", content, nil)
	return err == nil && slices.ContainsFunc(module.Tool, func(tool *modfile.Tool) bool { return path.Base(tool.Path) == name })
}
