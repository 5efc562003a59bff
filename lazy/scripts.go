package lazy

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/call/jsapi"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/words"
)

// Script is a stored script, for tools.find.
type Script struct {
	Name, Description string
	InputSchema       json.RawMessage // nil = any input
}

// ScriptMatch is a stored script that a query found.
type ScriptMatch struct {
	Name        string `json:"name" doc:"Name of the script."`
	Description string `json:"description,omitempty" doc:"Its purpose."`
	Signature   string `json:"signature" doc:"As scripts call it, with its input."`
	Usage       string `json:"usage" doc:"Call that runs it; input goes beside name."`
}

// ListScripts registers the function that lists the scripts of the workspace for tools.find. It must open no store.
// ListScripts must be called before the surface is served.
func (d *Discovery) ListScripts(scripts func(context.Context) ([]Script, error)) { d.scripts = scripts }

// Limits of the scripts of a response.
const (
	maxScripts    = 3
	scriptSummary = 120 // characters of a description
)

// findScripts returns the scripts whose name and description have at least half of the words of a query, best first,
// if the caller may run and list scripts.
func (s *Service) findScripts(ctx context.Context, view *View, query string) ([]ScriptMatch, error) {
	action := "script.run"
	if view.byID[action] == nil {
		action = "script.read"
	}
	if s.discovery.scripts == nil || view.byID[action] == nil || view.byID["script.list"] == nil {
		return nil, nil
	}
	list, err := s.discovery.scripts(ctx)
	if err != nil {
		return nil, err
	}
	wanted := stems(query)
	shares := map[string]float64{}
	list = slices.DeleteFunc(list, func(one Script) bool {
		has, found := stems(one.Name+" "+one.Description), 0
		for word := range wanted {
			if has[word] {
				found++
			}
		}
		shares[one.Name] = float64(found) / float64(max(len(wanted), 1))
		return found == 0 || shares[one.Name] < 0.5
	})
	slices.SortFunc(list, func(a, b Script) int {
		return cmp.Or(cmp.Compare(shares[b.Name], shares[a.Name]), cmp.Compare(a.Name, b.Name))
	})
	var out []ScriptMatch
	for _, one := range list[:min(len(list), maxScripts)] {
		full, input := "scripts."+one.Name, one.InputSchema
		if input == nil {
			input = json.RawMessage(`{"type":"object","additionalProperties":{}}`)
		}
		out = append(out, ScriptMatch{
			Name: one.Name, Description: shorten.Words(one.Description, scriptSummary),
			Signature: jsapi.Signature(full, jsapi.Spelling([]string{full})(full), input, nil),
			Usage:     s.discovery.StoredAnswer(ctx, action, map[string]string{"name": one.Name}),
		})
	}
	return out, nil
}

// stems returns the stems of the words of a text that are more than grammar.
func stems(text string) map[string]bool {
	set := map[string]bool{}
	for w := range words.Split(strings.NewReplacer("_", " ", "-", " ").Replace(text)) {
		for _, part := range append(w.Parts, w.Text) {
			if !words.IsStop(part) && !words.IsCommon(part) {
				set[words.Stem(part)] = true
			}
		}
	}
	return set
}
