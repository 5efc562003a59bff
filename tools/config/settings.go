package config

import (
	"strings"

	"github.com/toolfold/toolfold/engine"
	"github.com/toolfold/toolfold/tools"
)

// Settings declares everything that can be set, with the vocabulary of the
// tools: type, allowed values, default and text are written here and nowhere
// else. None is required. An object without declared members is an open map.
var Settings = append(tools.Fields{
	tools.String{
		Name: "toolMode", Doc: "Which names tools/list shows: one tool per family, or the old ones.",
		Enum: []string{"consolidated", "legacy"},
	}.With(tools.Default("consolidated")),
	tools.String{
		Name: "listing", Doc: "How much of each tool tools/list shows: lazy unless set, full in legacy mode.",
		Enum: []string{"search", "lazy", "signature", "full"},
	},
	tools.Bool{Name: "strictNames", Doc: "Refuse calls by names that are not listed."}.With(tools.Default(false)),
	tools.String{Name: "store", Doc: "URL of the store: sqlite:///path, postgres://… or memory:.", MinLen: 1},
	tools.String{Name: "http", Doc: "Address to serve streamable HTTP on, such as 127.0.0.1:8080.", MinLen: 1},
	tools.String{Name: "httpTokenFile", Doc: "File with the bearer token that HTTP callers must send.", MinLen: 1},
	tools.Bool{Name: "worker", Doc: "Run queued tasks while serving."}.With(tools.Default(true)),
}, engine.ProviderSettings...)

// UserOnly are the settings that only the user of this machine makes, in the
// user's own file or from the shell: they decide what runs here or who may use
// it. Neither a workspace nor a client can.
var UserOnly = []string{"httpTokenFile", "providers"}

// root is the declaration of a whole settings file.
func root(settings tools.Fields) tools.Param {
	return tools.Param{Kind: tools.KindObject, Optional: settings.Params()}
}

// defaults are the values of the settings that no file has.
func defaults(object tools.Param) map[string]any {
	values := map[string]any{}
	for _, p := range members(object) {
		if p.Default != nil {
			values[p.Name] = p.Default
		}
		if inner := defaults(p); len(inner) > 0 {
			values[p.Name] = inner
		}
	}
	return values
}

func members(object tools.Param) []tools.Param {
	if object.Kind != tools.KindObject {
		return nil
	}
	return append(append([]tools.Param(nil), object.Required...), object.Optional...)
}

// paths lists the settings by dotted path; an open map counts as one.
func paths(object tools.Param, prefix string) []string {
	var list []string
	for _, p := range members(object) {
		if inner := paths(p, prefix+p.Name+"."); len(inner) > 0 {
			list = append(list, inner...)
			continue
		}
		list = append(list, prefix+p.Name)
	}
	return list
}

// index is one line that names every setting and its type.
func index(object tools.Param) string {
	var list []string
	for _, path := range paths(object, "") {
		p, _ := declared(object, split(path))
		list = append(list, path+" ("+tools.TypeWord(p)+")")
	}
	return strings.Join(list, ", ")
}
