package imports

import (
	"path"

	"golang.org/x/mod/modfile"

	"github.com/toolfold/toolfold/internal/code/scan"
)

// module is a Go module of the workspace. The zero value means no module.
type module struct{ path, folder string }

// module returns the module that a folder is in.
func (r *reader) module(folder string) module {
	m, known := r.modules[folder]
	if known {
		return m
	}
	if text := r.text(path.Join(folder, "go.mod")); text != nil {
		if m = (module{modfile.ModulePath(text), folder}); m.path != "" {
			r.allModules = append(r.allModules, m)
		}
	} else if folder != "." {
		m = r.module(path.Dir(folder))
	}
	r.modules[folder] = m
	return m
}

// followGo returns the folder of an imported package, if it belongs to one of the known modules.
// The module with the longest path wins.
func (r *reader) followGo(i scan.Import) (to string, own bool) {
	for _, m := range r.allModules {
		if rest, ok := inside(i.Names[0], m.path); ok {
			to = path.Join(m.folder, rest)
			if r.below(to) && !r.goFolders[to] {
				to = ""
			}
			return to, true
		}
	}
	return "", false
}
