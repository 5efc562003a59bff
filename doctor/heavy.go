package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/tokens"
)

// A list is reported from heavyList tokens on, a single tool from heavyTool on. minText is enough
// tokens of a description to choose a tool by.
const (
	heavyList = 2000
	heavyTool = 1200
	minText   = 100
	heaviest  = 3 // number of tools in the finding
)

// findHeavy finds the most expensive tools of a list, which parts make them so, and possible
// savings.
func findHeavy(l List, s Server) ([]Finding, error) {
	byName := map[string]Tool{}
	for _, t := range l.Tools {
		byName[t.Name] = t
	}
	dearest := s.ByCost()
	dearest = dearest[:min(heaviest, len(dearest))]
	sum := 0
	for _, cost := range dearest {
		sum += cost.Tokens
	}
	share := int(math.Round(100 * float64(sum) / float64(max(s.Tokens, 1))))
	outweigh := len(s.List) > 2*heaviest && share >= 40 && s.Tokens >= heavyList
	if !outweigh && (len(dearest) == 0 || dearest[0].Tokens < heavyTool) {
		return nil, nil
	}
	saved := weight{}
	f := Finding{Rule: "heavy-tools", Severity: Note}
	for _, cost := range dearest {
		if !outweigh && cost.Tokens < heavyTool {
			break
		}
		w, err := weigh(byName[cost.Name], cost)
		if err != nil {
			return nil, err
		}
		saved.description += max(0, w.description-minText)
		saved.texts += w.texts
		saved.enums += w.enums
		f.Where = append(f.Where, fmt.Sprintf("%s (%d: description %d, texts of parameters %d, enum %d)",
			cost.Name, cost.Tokens, w.description, w.texts, w.enums))
	}
	of := 0
	for _, cost := range dearest[:len(f.Where)] {
		of += cost.Tokens
	}
	share = int(math.Round(100 * float64(of) / float64(s.Tokens)))
	if f.Message = fmt.Sprintf("these %d of %d tools are %d %% of the list", len(f.Where), len(s.List), share); len(f.Where) == 1 {
		f.Message = fmt.Sprintf("this tool is %d %% of the list", share)
	}
	var fixes []string
	for _, fix := range []struct {
		text   string
		tokens int
	}{
		{fmt.Sprintf("descriptions of %d tokens save", minText), saved.description},
		{"leaving out texts that repeat names of parameters saves up to", saved.texts},
		{"leaving enums to errors saves up to", saved.enums},
	} {
		if fix.tokens > 0 {
			fixes = append(fixes, fmt.Sprintf("%s %d", fix.text, fix.tokens))
		}
	}
	f.Fix = cmp.Or(strings.Join(fixes, "; "), "declare fewer parameters, or flatter ones: their schemas are what weighs")
	return []Finding{f}, nil
}

// weight holds the tokens of the parts of a tool that can be shortened.
type weight struct {
	description int
	texts       int // descriptions of parameters
	enums       int
}

func weigh(t Tool, cost ToolCost) (weight, error) {
	w := weight{description: cost.Parts.Description}
	for _, part := range []struct {
		keyword string
		into    *int
	}{{"description", &w.texts}, {"enum", &w.enums}} {
		var all any
		if json.Unmarshal(t.InputSchema, &all) != nil {
			return w, nil // without a schema these are zero
		}
		before, err := tokensOf(all)
		if err != nil {
			return w, err
		}
		after, err := tokensOf(without(all, part.keyword))
		if err != nil {
			return w, err
		}
		*part.into = before - after
	}
	return w, nil
}

func tokensOf(value any) (int, error) {
	raw, err := ordered.JSON(value)
	if err != nil {
		return 0, err
	}
	return tokens.Count(string(raw))
}

// without returns a schema without a keyword. It keeps properties of that name.
func without(value any, keyword string) any {
	switch v := value.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = without(item, keyword)
		}
		return list
	case map[string]any:
		schema := map[string]any{}
		for key, member := range v {
			inner, isObject := member.(map[string]any)
			switch {
			case key == keyword:
			case isObject && (key == "properties" || key == "$defs" || key == "definitions"):
				named := map[string]any{}
				for name, property := range inner {
					named[name] = without(property, keyword)
				}
				schema[key] = named
			default:
				schema[key] = without(member, keyword)
			}
		}
		return schema
	}
	return value
}
