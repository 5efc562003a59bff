package tools

import "strings"

// A style decides how a parameter looks in a signature.
type style func(name string, p Param) string

// Signature is store(key,value,namespace?): the verb and its parameters by
// name. With all unset only required parameters show, and an action without
// any is its bare verb.
func (e *Entry) Signature(all bool) string {
	optional := e.Optional()
	if !all {
		optional = nil
	}
	params := signature(e.Required(), optional, bare)
	if params == "" {
		return e.verb()
	}
	return e.verb() + "(" + strings.ReplaceAll(params, " ", "") + ")"
}

func signature(required, optional []Param, show style) string {
	var parts []string
	for _, p := range required {
		parts = append(parts, show(p.Name, p))
	}
	for _, p := range optional {
		parts = append(parts, show(p.Name+"?", p))
	}
	return strings.Join(parts, ", ")
}

func bare(name string, _ Param) string { return name }

func typed(name string, p Param) string { return name + ": " + TypeWord(p) }

// TypeWord is the type of a parameter as usage lines spell it: string,
// string[], uuid, a|b|c.
func TypeWord(p Param) string {
	switch {
	case p.Kind == KindArray:
		item := TypeWord(*p.Items)
		if strings.Contains(item, "|") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case len(p.Enum) > 0:
		return strings.Join(p.Enum, "|")
	case p.Format != "":
		return p.Format
	}
	return string(p.Kind)
}
