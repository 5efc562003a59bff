package entry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
)

// mostForms limits the forms that the type of a parameter shows.
const mostForms = 4

// mostShape limits the members of objects in a type in a signature, in bytes. Larger objects show
// only required members, as far as these fit; describe shows everything.
const mostShape = 100

// more stands for omitted forms and members.
const more = "…"

// TypeWord returns the type of a parameter in the spelling of usage lines: string, string[], uuid,
// a|b|c, string|number.
func TypeWord(p toolfold.Param) string { return speller{single: plain}.word(p) }

func plain(forms []toolfold.Param) []string {
	words := make([]string, len(forms))
	for i, form := range forms {
		if words[i] = form.Format; form.Format == "" {
			words[i] = string(form.Kind)
		}
	}
	return words
}

// boundedWord returns the type of a parameter like TypeWord, with the limits of numbers and lists
// and the members of objects: {name: string, age?: ≥0}[≤20]. Limits of texts are omitted: few
// values reach them, and errors name them.
func boundedWord(p toolfold.Param) string { return speller{single: bounds, bounds: true}.word(p) }

func bounds(forms []toolfold.Param) []string {
	words := plain(forms)
	for i, p := range forms {
		switch {
		case p.Kind == toolfold.KindObject && len(p.Members()) > 0:
			words[i] = "{" + signature(p.Required, p.Optional, bounded) + "}"
		case p.Min != nil && p.Max != nil:
			words[i] = number(*p.Min) + ".." + number(*p.Max)
		case p.Min != nil:
			words[i] = "≥" + number(*p.Min)
		case p.Max != nil:
			words[i] = "≤" + number(*p.Max)
		}
	}
	return words
}

// shapeWord returns the type of a parameter like TypeWord, with the members of objects:
// {name,observations:string[]}[]. Omitted members are marked: {name,…}. Alternatives that do not
// fit are shown by the member that distinguishes them: {type:a|b,…}.
func shapeWord(p toolfold.Param) string { return speller{single: shapes}.word(p) }

func shapes(forms []toolfold.Param) []string {
	words := plain(forms)
	var objects []toolfold.Param
	var whole, brief []string // of the objects
	for _, p := range forms {
		if p.Kind == toolfold.KindObject {
			all, required := shapesOf(p)
			objects, whole, brief = append(objects, p), append(whole, all), append(brief, required)
		}
	}
	switch {
	case fit(whole):
	case fit(brief):
		whole = brief
	default:
		word := tellApart(objects)
		for i := range whole {
			whole[i] = word
		}
	}
	for i, p := range forms {
		if p.Kind == toolfold.KindObject {
			words[i], whole = whole[0], whole[1:]
		}
	}
	return words
}

// fit reports whether the shapes of all objects fit into a type.
func fit(shapes []string) bool {
	room := mostShape
	for _, shape := range shapes {
		room -= len(shape) - len("{}")
	}
	return room >= 0 && len(shapes) <= mostForms
}

// shapesOf returns an object with all its members, and with its required members.
func shapesOf(p toolfold.Param) (whole, brief string) {
	show := func(name string, p toolfold.Param) string {
		if word := shapeWord(p); word != string(toolfold.KindString) {
			return name + ":" + word
		}
		return name
	}
	required, optional := signature(p.Required, nil, show), signature(nil, p.Optional, show)
	whole = string(toolfold.KindObject)
	switch {
	case required != "" || optional != "":
		whole = "{" + strings.ReplaceAll(comma(required, optional), ", ", ",") + "}"
	case p.Values != nil:
		if word := shapeWord(*p.Values); word != string(toolfold.KindAny) {
			whole = "{[key]:" + word + "}"
		}
	}
	if required == "" || optional == "" {
		return whole, whole
	}
	return whole, "{" + strings.ReplaceAll(required, ", ", ",") + "," + more + "}"
}

// tellApart shows alternative objects by the first required member whose values distinguish them.
func tellApart(objects []toolfold.Param) string {
	if len(objects) < 2 {
		return string(toolfold.KindObject)
	}
	for _, first := range objects[0].Required {
		all := toolfold.Param{Kind: first.Kind}
		for _, object := range objects {
			i := slices.IndexFunc(object.Required, func(m toolfold.Param) bool { return m.Name == first.Name })
			if i < 0 || len(object.Required[i].Enum) == 0 {
				all.Enum = nil
				break
			}
			all.Enum = append(all.Enum, object.Required[i].Enum...)
		}
		if len(all.Enum) > 0 {
			return "{" + first.Name + ":" + atMost(values(all, false), mostShape) + "," + more + "}"
		}
	}
	return string(toolfold.KindObject)
}

// atMost joins the first alternatives that fit into room bytes. more stands for the other ones.
func atMost(words []string, room int) string {
	for i, word := range words {
		if room -= len(word) + len("|"); room < 0 {
			words = append(slices.Clip(words[:i]), more)
			break
		}
	}
	return strings.Join(words, "|")
}

// speller writes types.
type speller struct {
	single func(forms []toolfold.Param) []string // returns the type of each form that is not a list and has no values
	bounds bool                                  // whether to show the limits of lists
}

func (s speller) word(p toolfold.Param) string { return strings.Join(s.words(p), "|") }

// words returns the alternatives of a type without duplicates.
func (s speller) words(p toolfold.Param) []string {
	forms := p.Forms
	if len(forms) == 0 {
		forms = []toolfold.Param{p}
	}
	single := s.single(forms)
	var groups [][]string // by form
	for i, form := range forms {
		group := []string{}
		switch {
		case p.Kind == toolfold.KindAny && len(p.Forms) == 0 && p.Nullable: // only null
			continue
		case i > 0 && form.Kind == toolfold.KindAny:
			group = append(group, more)
		case form.Kind == toolfold.KindArray:
			group = append(group, s.list(form, len(forms) > 1))
		case len(form.Enum) > 0:
			group = values(form, len(forms) > 1)
		default:
			group = append(group, single[i])
		}
		if !slices.ContainsFunc(groups, func(known []string) bool { return slices.Equal(known, group) }) {
			groups = append(groups, group)
		}
	}
	if len(groups) > mostForms {
		groups = append(groups[:mostForms-1], []string{more})
	}
	if p.Nullable {
		groups = append(groups, []string{"null"})
	}
	return slices.Concat(groups...)
}

// list returns the type of a list. Next to other forms, a list of any values is just array.
func (s speller) list(p toolfold.Param, beside bool) string {
	words := s.words(*p.Items)
	item := strings.Join(words, "|")
	switch {
	case len(words) > 1:
		item = "(" + item + ")"
	case beside && item == string(toolfold.KindAny):
		return string(toolfold.KindArray)
	}
	if s.bounds && p.MaxItems > 0 {
		return fmt.Sprintf("%s[≤%d]", item, p.MaxItems)
	}
	return item + "[]"
}

// kindWords are the types in usage lines.
var kindWords = []string{
	string(toolfold.KindString), string(toolfold.KindInteger), string(toolfold.KindNumber), string(toolfold.KindBoolean),
	string(toolfold.KindObject), string(toolfold.KindArray), string(toolfold.KindAny),
}

// values returns the values of a form. Texts are quoted next to other forms, if all of them look
// like numbers or types, and if there is only one.
func values(p toolfold.Param, beside bool) []string {
	word := func(value string) bool { return !json.Valid([]byte(value)) && !slices.Contains(kindWords, value) }
	if p.Kind != toolfold.KindString || len(p.Enum) > 1 && !beside && slices.ContainsFunc(p.Enum, word) {
		return p.Enum
	}
	quoted := make([]string, len(p.Enum))
	for i, value := range p.Enum {
		quoted[i] = "'" + value + "'"
	}
	return quoted
}
