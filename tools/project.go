package tools

import (
	"encoding/json"
	"slices"
	"strings"
)

// FieldPaths lists the dotted paths of all declared result fields, outer ones
// before what is in them. They are what include_fields accepts.
func FieldPaths(returns []Param) []string {
	var paths []string
	for _, p := range returns {
		paths = append(paths, p.Name)
		for _, inner := range FieldPaths(Inside(p)) {
			paths = append(paths, p.Name+"."+inner)
		}
	}
	return paths
}

// Inside lists the declared members of an object or of a list of objects.
func Inside(p Param) []Param {
	if p.Kind == KindArray {
		return Inside(*p.Items)
	}
	return slices.Concat(p.Required, p.Optional)
}

// Declares tells whether a dotted path leads to a declared field, or into an
// object whose members are not declared.
func Declares(returns []Param, path string) bool {
	return declares(returns, strings.Split(path, "."))
}

func declares(params []Param, path []string) bool {
	p, ok := find(params, path[0])
	if !ok {
		return false
	}
	if len(path) == 1 {
		return true
	}
	if isOpen(p) {
		return true
	}
	return declares(Inside(p), path[1:])
}

func isOpen(p Param) bool {
	if p.Kind == KindArray {
		return isOpen(*p.Items)
	}
	return p.Kind == KindAny || p.Kind == KindObject && len(Inside(p)) == 0
}

// tree is what to keep of an object: nil keeps all of it.
type tree map[string]tree

// Project keeps only the named fields of a result: dotted paths, through
// objects and lists. No fields keep everything. The result is JSON that we
// wrote ourselves; it is read once and copied, never encoded again.
func Project(result json.RawMessage, fields []string) json.RawMessage {
	if len(fields) == 0 {
		return result
	}
	root := tree{}
	for _, field := range fields {
		root.add(strings.Split(field, "."))
	}
	p := projector{in: result, out: make([]byte, 0, len(result))}
	p.keep(root)
	return p.out
}

func (t tree) add(path []string) {
	branch, seen := t[path[0]]
	switch {
	case len(path) == 1:
		t[path[0]] = nil
	case seen && branch == nil: // all of it is kept already
	default:
		if !seen {
			branch = tree{}
			t[path[0]] = branch
		}
		branch.add(path[1:])
	}
}
