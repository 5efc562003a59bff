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

// Project is a folder with files to look at.
type Project struct {
	Dir    string                 // absolute, without links
	Root   *os.Root               // of Dir
	Apart  string                 // why nothing of the project may run; empty = it may
	GoEnv  []string               // the environment in which the go command runs nothing of the project
	IsData func(name string) bool // reports whether tests read a file: a configuration beside it is data; nil = there are none
}

// Plan lists the tools that run over the files of a project, and those that do not.
type Plan struct {
	Runs    []Run
	Refused []Refusal
	Left    map[string][]string // folders beyond the most that a tool runs in, by its name
	Missing []string            // tools to install, as NAME: COMMAND
}

// Run is a tool with the folders that it runs in.
type Run struct {
	Runner
	Asked  bool // the project uses it
	places []place
	home   map[string]string // the folder of each file that it looks at
}

// place is a folder in which a tool runs, with the files that no folder below it with a configuration of the tool has.
type place struct {
	folder string   // below the project, with slashes; "." is all of it
	argv   []string // the program
	files  []string // below the project
	found  string   // the file of Config, below the folder
}

// Refusal says why tools do not run that the project uses, or that are installed.
type Refusal struct{ Name, Reason string }

// maxMissing bounds the tools that a plan names as missing.
const maxMissing = 3

// maxFolders bounds the folders that a tool runs in.
const maxFolders = 20

// maxConfig bounds the file of a configuration in which a text is looked for, in bytes.
const maxConfig = 1 << 20

// candidate is a runner with what the project has of it in a folder.
type candidate struct {
	Runner
	place
	inside bool   // the project has a program
	leads  string // the folder of the project whose link to the program leads out of it
	uses   bool   // the project uses it
}

// Plan chooses the tools for files: those that the project uses, and others that need no configuration
// for the files for which no chosen tool does their job.
func (p Project) Plan(files []string) Plan {
	plan := Plan{Left: map[string][]string{}}
	f := finder{Project: p, names: map[string][]string{}}
	var all []candidate
	for _, r := range All {
		all = append(all, f.candidates(r, files)...)
	}
	jobs, served := map[string]bool{}, map[[2]string]bool{} // jobs, and those of files
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
		wanted := c.uses && len(unserved(c)) > 0 || c.Bare && !jobs[c.Job]
		if c.argv == nil && wanted && !named[c.Name] && len(plan.Missing) < maxMissing && p.helps(c.Runner) {
			plan.Missing = append(plan.Missing, c.Name+": "+c.Install)
			named[c.Name] = true
			serve(c)
		}
	}
	return plan
}

// run has a tool run in a folder, if it does not run in the most already.
func (p *Plan) run(c candidate) {
	i := slices.IndexFunc(p.Runs, func(r Run) bool { return r.Name == c.Name })
	if i < 0 {
		i = len(p.Runs)
		p.Runs = append(p.Runs, Run{Runner: c.Runner, home: map[string]string{}})
	}
	r := &p.Runs[i]
	r.Asked = r.Asked || c.uses
	if len(r.places) == maxFolders {
		p.Left[c.Name] = append(p.Left[c.Name], c.folder)
		return
	}
	r.places = append(r.places, c.place)
	for _, name := range c.files {
		r.home[name] = c.folder
	}
}

// refuse says once why a tool does not run.
func (p *Plan) refuse(name, reason string) {
	if refusal := (Refusal{name, reason}); !slices.Contains(p.Refused, refusal) {
		p.Refused = append(p.Refused, refusal)
	}
}

// Reads reports whether the tool runs over a file, by its name.
func (r Run) Reads(name string) bool { return r.home[name] != "" }

// Heavy reports whether a finding keeps the severity that the tool gives it. If the project does not use the tool, only
// findings that the tool marks as security, and those of Sure rules, keep it: others mostly name code that works as
// its author means it.
func (r Run) Heavy(report Report) bool {
	sure := slices.ContainsFunc(r.Sure, func(beginning string) bool { return strings.HasPrefix(report.Rule, beginning) })
	return r.Asked || sure || report.Security
}

// helps reports whether a tool would run once it is installed. npm installs into the project.
func (p Project) helps(r Runner) bool {
	return p.Apart == "" || r.Apart != nil && !strings.HasPrefix(r.Install, "npm ")
}

// finder looks for tools in the folders of a project.
type finder struct {
	Project
	names map[string][]string // what folders have, as far as it was looked at
}

// candidates returns what there is of a runner in the folders that it would run in, in the order of their names.
// What runs with no configuration of the project runs once, over all files.
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

// home returns the folder in which a tool runs over the files of a folder: the nearest one with a configuration of
// the tool, else the project. Known holds the answers for folders.
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

// candidate returns a runner with what there is of it in a place.
func (f finder) candidate(r Runner, at place) candidate {
	c := candidate{Runner: r, place: at}
	c.found = f.configuration(r, at.folder)
	inside, leads := f.inside(r.Name, at.folder)
	c.inside, c.leads = inside != nil, leads
	c.uses = c.found != "" || !r.Needs && (c.inside || leads != "")
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

// refuses returns why a tool must not run; empty if it may, or if it is not there.
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

// configuration returns the file of a folder that says that the project uses a tool there; empty if there is none.
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
				continue // there is none below, or a link leads out
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

// list returns the names of what a folder has, in order.
func (f finder) list(folder string) []string {
	names, known := f.names[folder]
	if !known {
		if dir, err := f.Root.Open(filepath.FromSlash(folder)); err == nil {
			names, _ = dir.Readdirnames(-1) // those that were read count
			dir.Close()
		}
		slices.Sort(names)
		f.names[folder] = names
	}
	return names
}

// programFolders are the folders of a project in which package managers put programs.
var programFolders = []string{"node_modules/.bin", ".venv/bin", "venv/bin", ".venv/Scripts", "venv/Scripts"}

// inside returns how the program of the project is called that is the nearest one to a folder, in it or above; nil if there
// is none. If only a link leads to one elsewhere, leads is the folder of the project that has it.
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

// hasTool reports whether a go.mod file names a tool.
func hasTool(content []byte, name string) bool {
	module, err := modfile.ParseLax("go.mod", content, nil)
	return err == nil && slices.ContainsFunc(module.Tool, func(tool *modfile.Tool) bool { return path.Base(tool.Path) == name })
}
