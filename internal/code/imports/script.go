package imports

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tidwall/jsonc"

	"github.com/toolfold/toolfold/internal/code/scan"
)

// mapping resolves import names that are not relative paths. The zero value resolves no name.
type mapping struct {
	base  string // folder in which names are looked up; empty = no such folder
	rules []rule // the most specific first
}

// rule maps a name, in which * stands for any part, to paths in the workspace.
type rule struct {
	pattern string
	targets []string
}

// followScript returns the target of a JavaScript or TypeScript import.
func (r *reader) followScript(from string, i scan.Import) (to string, own bool) {
	name := i.Names[0]
	if at := strings.IndexAny(name, "?"); at > 0 { // a query is for bundlers
		name = name[:at]
	}
	if name == ".." || strings.HasPrefix(name, "../") {
		return name, true
	}
	if below, ok := strings.CutPrefix(name, "./"); ok {
		below = path.Clean(below)
		if to = r.scriptFile(below); to != "" {
			return to, true
		}
		if !r.below(below) {
			return below, true
		}
		if isAsset(below) {
			return "", false
		}
		return r.nearest(below), true
	}
	if path.IsAbs(name) { // a path of the web server
		return "", false
	}
	for folder := range upwards(path.Dir(from)) {
		if to = r.mapped(r.config(folder), name); to != "" {
			return to, true
		}
	}
	if to = r.workspacePackage(name); to != "" {
		return to, true
	}
	// By convention these prefixes are not packages of a registry.
	return "", slices.ContainsFunc([]string{"@/", "~/", "#", "$"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) &&
		!isAsset(name)
}

// sourceEndings are the endings of scripts, in the order in which they are tried.
var sourceEndings = []string{".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs"}

// unreadEndings are the endings of sources that are not read.
var unreadEndings = []string{".vue", ".svelte", ".astro"}

// isAsset reports whether a path has the ending of a file that imports nothing.
func isAsset(name string) bool {
	ending := path.Ext(name)
	return ending != "" && strings.Trim(ending[1:], "abcdefghijklmnopqrstuvwxyz0123456789") == "" && len(ending) <= 6 &&
		!slices.Contains(sourceEndings, ending) && !slices.Contains(unreadEndings, ending)
}

// scriptFile returns the file at a path, with or without its ending, or the folder if it has no
// index file. It returns "" if there is neither.
func (r *reader) scriptFile(name string) string {
	if r.files[name] {
		return name
	}
	stem := name
	if ending := path.Ext(name); slices.Contains([]string{".js", ".jsx", ".mjs", ".cjs"}, ending) { // the compiled form of a source
		stem = strings.TrimSuffix(name, ending)
	}
	for _, start := range []string{stem, name, path.Join(name, "index")} {
		for _, ending := range sourceEndings {
			if r.files[start+ending] {
				return start + ending
			}
		}
	}
	if r.folders[name] {
		return name
	}
	return ""
}

// mapped returns the file or folder to which a mapping leads a name, or "".
func (r *reader) mapped(m mapping, name string) string {
	for _, rule := range m.rules {
		before, after, wild := strings.Cut(rule.pattern, "*")
		if !wild && name != rule.pattern || len(name) < len(before)+len(after) || !strings.HasPrefix(name, before) ||
			!strings.HasSuffix(name, after) {
			continue
		}
		part := name[len(before) : len(name)-len(after)]
		for _, target := range rule.targets {
			if to := r.scriptFile(path.Clean(strings.Replace(target, "*", part, 1))); to != "" {
				return to
			}
		}
	}
	if m.base == "" {
		return ""
	}
	return r.scriptFile(path.Join(m.base, name))
}

// config returns the mapping of a folder: of its tsconfig.json or a similar file, and of the
// imports of its package.json.
func (r *reader) config(folder string) mapping {
	m, known := r.configs[folder]
	if known {
		return m
	}
	for _, file := range []string{"tsconfig.json", "tsconfig.base.json", "tsconfig.app.json", "jsconfig.json"} {
		if m = r.tsconfig(path.Join(folder, file), maxExtends); m.base != "" || len(m.rules) > 0 {
			break
		}
	}
	var description struct{ Imports map[string]json.RawMessage }
	if json.Unmarshal(r.text(path.Join(folder, "package.json")), &description) == nil {
		for _, pattern := range slices.SortedFunc(maps.Keys(description.Imports), longest) {
			var target string
			if json.Unmarshal(description.Imports[pattern], &target) == nil && strings.HasPrefix(target, "./") {
				m.rules = append(m.rules, rule{pattern, []string{path.Join(folder, target)}})
			}
		}
	}
	r.configs[folder] = m
	return m
}

// maxExtends bounds the length of a chain of extends.
const maxExtends = 5

// tsconfig reads the paths of a tsconfig.json, including those of the workspace files it extends.
func (r *reader) tsconfig(name string, depth int) (m mapping) {
	var config struct {
		Extends         json.RawMessage
		CompilerOptions struct {
			BaseURL *string
			Paths   map[string][]string
		}
	}
	text := r.text(name)
	if text == nil || json.Unmarshal(jsonc.ToJSON(text), &config) != nil {
		return mapping{}
	}
	folder := path.Dir(name)
	var extended string
	if json.Unmarshal(config.Extends, &extended) == nil && strings.HasPrefix(extended, ".") && depth > 0 {
		if path.Ext(extended) != ".json" {
			extended += ".json"
		}
		m = r.tsconfig(path.Join(folder, extended), depth-1)
	}
	base := folder
	if config.CompilerOptions.BaseURL != nil {
		base = path.Join(folder, *config.CompilerOptions.BaseURL)
		m.base = base
	} else if m.base != "" {
		base = m.base
	}
	if config.CompilerOptions.Paths == nil {
		return m
	}
	m.rules = nil
	for _, pattern := range slices.SortedFunc(maps.Keys(config.CompilerOptions.Paths), longest) {
		mapped := rule{pattern: pattern}
		for _, target := range config.CompilerOptions.Paths[pattern] {
			mapped.targets = append(mapped.targets, path.Join(base, target))
		}
		m.rules = append(m.rules, mapped)
	}
	return m
}

// indexPackages records the npm packages of folders with sources, by package name.
func (r *reader) indexPackages() {
	r.packages = map[string]string{}
	for _, folder := range slices.Sorted(maps.Keys(r.folders)) {
		var description struct{ Name string }
		if text := r.text(path.Join(folder, "package.json")); text == nil || json.Unmarshal(text, &description) != nil || description.Name == "" {
			continue
		}
		if _, taken := r.packages[description.Name]; !taken {
			r.packages[description.Name] = folder
		}
	}
}

// workspacePackage returns the target of a name in the workspace's packages, or "" for other names.
func (r *reader) workspacePackage(name string) string {
	for at := range upwards(name) {
		folder, known := r.packages[at]
		if !known {
			continue
		}
		rest, _ := inside(name, at)
		for _, start := range []string{path.Join(folder, "src", rest), path.Join(folder, rest)} {
			if to := r.scriptFile(start); to != "" {
				return to
			}
		}
		return folder
	}
	return ""
}
