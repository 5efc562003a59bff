package runner

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/toolfold/toolfold/internal/outside"
	"github.com/toolfold/toolfold/internal/safefile"
)

// Project is a folder with files to look at.
type Project struct {
	Dir   string   // absolute, without links
	Root  *os.Root // of Dir
	Apart string   // why nothing of the project may run; empty = it may
	GoEnv []string // the environment in which the go command runs nothing of the project
}

// Plan lists the tools that run over the files of a project, and those that do not.
type Plan struct {
	Runs    []Run
	Refused []Refusal
	Missing []string // tools to install, as NAME: COMMAND
}

// Run is a tool with the files that it looks at.
type Run struct {
	Runner
	argv  []string // the program
	files []string
	found string // the file of Config
}

// Refusal says why tools do not run that the project uses, or that are installed.
type Refusal struct{ Name, Reason string }

// maxMissing bounds the tools that a plan names as missing.
const maxMissing = 3

// maxConfig bounds the file of a configuration in which a text is looked for, in bytes.
const maxConfig = 1 << 20

// candidate is a runner with what the project has of it.
type candidate struct {
	Run
	inside bool   // the project has a program
	leads  string // the folder of the project whose link to the program leads out of it
	uses   bool   // the project uses it
}

// Plan chooses the tools for files: those that the project uses, and others that need no configuration
// for jobs that no chosen tool does.
func (p Project) Plan(files []string) Plan {
	var plan Plan
	var all []candidate
	served := map[string]bool{} // jobs
	for _, r := range All {
		if c := p.candidate(r, files); len(c.files) > 0 {
			all = append(all, c)
		}
	}
	for _, c := range all {
		switch reason := p.refuses(c); {
		case !c.uses:
		case reason != "":
			plan.Refused = append(plan.Refused, Refusal{c.Name, reason})
			served[c.Job] = true
		case c.argv != nil:
			plan.Runs = append(plan.Runs, c.Run)
			served[c.Job] = true
		}
	}
	for _, c := range all {
		switch {
		case c.uses || c.argv == nil || served[c.Job]:
		case c.Bare && p.refuses(c) == "":
			plan.Runs = append(plan.Runs, c.Run)
			served[c.Job] = true
		case c.Needs:
			plan.Refused = append(plan.Refused, Refusal{c.Name, "there is no " + c.Config[0]})
			served[c.Job] = true
		}
	}
	for _, c := range all {
		if c.argv == nil && (c.uses || c.Bare) && !served[c.Job] && len(plan.Missing) < maxMissing && p.helps(c.Runner) {
			plan.Missing = append(plan.Missing, c.Name+": "+c.Install)
			served[c.Job] = true
		}
	}
	return plan
}

// helps reports whether a tool would run once it is installed. npm installs into the project.
func (p Project) helps(r Runner) bool {
	return p.Apart == "" || r.Apart != nil && !strings.HasPrefix(r.Install, "npm ")
}

// candidate returns a runner with its files and what there is of it.
func (p Project) candidate(r Runner, files []string) candidate {
	c := candidate{Run: Run{Runner: r, found: p.configuration(r)}}
	for _, name := range files {
		if r.Wants(name) {
			c.files = append(c.files, name)
		}
	}
	if len(c.files) == 0 {
		return c
	}
	inside, leads := p.inside(r.Name)
	c.inside, c.leads = inside != nil, leads
	c.uses = c.found != "" || !r.Needs && (c.inside || leads != "")
	switch {
	case p.Apart != "":
		if found := outside.Program(p.Dir, r.Name); found != "" {
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
		return p.Apart + ", and there is none outside of it"
	case c.argv == nil && c.leads != "":
		return c.leads + " leads out of the workspace to it"
	}
	return ""
}

// configuration returns the file that says that the project uses a tool; empty if there is none.
func (p Project) configuration(r Runner) string {
	for _, pattern := range r.Config {
		name, text, inText := strings.Cut(pattern, ":")
		found, err := fs.Glob(p.Root.FS(), name)
		if err != nil || len(found) == 0 {
			continue
		}
		if _, err := p.Root.Stat(filepath.FromSlash(found[0])); err != nil {
			continue // a link that leads out
		}
		if inText {
			content, err := safefile.Read(p.Root, filepath.FromSlash(name), maxConfig)
			if err != nil || !strings.Contains(string(content), text) {
				continue
			}
		}
		return found[0]
	}
	return ""
}

// programFolders are the folders of a project in which package managers put programs.
var programFolders = []string{"node_modules/.bin", ".venv/bin", "venv/bin", ".venv/Scripts", "venv/Scripts"}

// inside returns how the program of the project is called; nil if it has none. If only a link
// leads to one elsewhere, leads is the first folder of its path.
func (p Project) inside(name string) (argv []string, leads string) {
	for _, folder := range programFolders {
		at := filepath.FromSlash(path.Join(folder, name))
		if _, err := p.Root.Stat(at); err == nil {
			return []string{filepath.Join(p.Dir, at)}, ""
		}
		if _, err := os.Stat(filepath.Join(p.Dir, at)); err == nil && leads == "" {
			leads, _, _ = strings.Cut(folder, "/")
		}
	}
	content, err := safefile.Read(p.Root, "go.mod", maxConfig)
	if err != nil {
		return nil, leads
	}
	if module, err := modfile.ParseLax("go.mod", content, nil); err == nil {
		for _, tool := range module.Tool {
			if path.Base(tool.Path) == name {
				return []string{"go", "tool", name}, ""
			}
		}
	}
	return nil, leads
}
