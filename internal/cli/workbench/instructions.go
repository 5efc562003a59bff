package workbench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/system/target"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/estimate"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// Instructions returns the instructions for the model. They reach every client on every turn. For kinds
// of hosts that search for tools, they list the families. An empty kind is no such kind.
func Instructions(s *surface.Surface, kind target.Kind, families []*toolfold.Family) string {
	if kind == target.Deferring || kind == target.Code {
		how := "Call a tool with action and " + callctx.ArgParams + "."
		if s.Fold == consolidate.None || s.Mode == surface.Legacy {
			how = "A tool is a family and an action: memory_get."
		}
		others := slices.ContainsFunc(families, func(f *toolfold.Family) bool { return f.Server != "" })
		if s.Fold == consolidate.None && s.FoldOthers != consolidate.None && others {
			how += " Tools of other servers take action and " + callctx.ArgParams + "."
		}
		visible := slices.DeleteFunc(slices.Clone(families), func(f *toolfold.Family) bool { return !s.Lists(f) })
		return subjects(visible, maxSubjects) + " " + how
	}
	common := "A wrong call answers with usage and an example. "
	if s.Mode == surface.Legacy || s.Fold != consolidate.None || s.Level != lazy.Full {
		common += "Any call takes include_fields, a list of result fields to keep, and jq, a filter of its result."
	}
	unlisted := map[entry.Form]string{
		entry.FormObject: "Parameters that are not listed go into the object params. ",
		entry.FormText:   "Parameters that are not listed go into params, as JSON text. ",
	}[s.Params]
	if s.Mode == surface.Legacy {
		text := "Tools of an agent's workbench under their legacy names. "
		if s.Level == lazy.Full && s.Tier == toolfold.Extended {
			return text + common
		}
		return text + "Use `tool_find` to find tools by what they do and `tool_describe` to describe them. " + unlisted + common
	}
	if s.Fold == consolidate.None {
		text := "Tools of an agent's workbench. "
		if s.Off() {
			text = "Tools of other servers. "
		}
		return text + "Use `tools_find` to find tools by what they do, `tools_describe` to describe them " +
			"and `tool_call` to run any. " + unlisted + common
	}
	named := "required ones are in its description. "
	if s.Level == lazy.Signature || s.Level == lazy.Full {
		named = "its description names them; a ? marks optional ones. "
	}
	return "Each tool is a family of actions: call it with action and " + map[entry.Form]string{
		entry.FormObject: "params, an object of that action's parameters; ",
		entry.FormText:   "params, that action's parameters as JSON text; ",
		entry.FormFlat:   "that action's parameters; ",
	}[s.Params] + named + "Use `tools` to find and describe actions and `tool_call` to run any of them. " + common
}

// maxSubjects is the largest estimated number of tokens for the families in instructions.
const maxSubjects = 80

// subjects lists the families. If all of them fit, it adds their summaries as far as there is room. Hosts
// show the beginning before a model has searched, so the families keep their order: the most used come first.
func subjects(families []*toolfold.Family, room int) string {
	names, left := make([]string, 0, len(families)), 0
	text := func() string {
		list := "Look here for: " + strings.Join(names, ", ")
		if left > 0 {
			list += fmt.Sprintf(" and %d more", left)
		}
		return list + "."
	}
	for _, f := range families {
		if f.Category == callctx.Discovery {
			continue
		}
		if names = append(names, f.Name); estimate.Tokens([]byte(text())) > room {
			names = names[:len(names)-1]
			left++
		}
	}
	if left > 0 {
		return text()
	}
	for i, name := range names {
		f := families[slices.IndexFunc(families, func(f *toolfold.Family) bool { return f.Name == name })]
		if names[i] = name + " (" + english.LowerFirst(f.Summary) + ")"; estimate.Tokens([]byte(text())) > room {
			names[i] = name
		}
	}
	return text()
}

// quoteNames returns the first sentence of each other server's instructions, quoted under the server's
// name, in at most room estimated tokens. Servers whose sentence does not fit are named.
func quoteNames(families []*toolfold.Family, room int) string {
	var text strings.Builder
	var left []string
	last := ""
	for _, f := range families {
		if f.Instructions == "" || f.Server == last || room == 0 {
			continue
		}
		last = f.Server
		line := fmt.Sprintf("\n%s says: %q", f.Server, firstSentence(f.Instructions))
		if estimate.Tokens([]byte(text.String()+line)) > room-leftRoom {
			left = append(left, f.Server)
			continue
		}
		text.WriteString(line)
	}
	if len(left) > 0 {
		fmt.Fprintf(&text, "\ntools.describe has the instructions of %s.", joinNames(left, leftRoom-20))
	}
	return text.String()
}

// leftRoom is the part of the room, in tokens, for the names of servers whose sentence does not fit.
const leftRoom = 60

// joinNames joins as many names as fit into room tokens, and counts the rest.
func joinNames(names []string, room int) string {
	for n := len(names); n > 0; n-- {
		text := strings.Join(names[:n], ", ")
		if n < len(names) {
			text += fmt.Sprintf(" and %d more servers", len(names)-n)
		}
		if estimate.Tokens([]byte(text)) <= room {
			return text
		}
	}
	return fmt.Sprintf("%d servers", len(names))
}

// firstSentence returns the first sentence of a text as one line.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for i := range text {
		if i > 0 && text[i] == ' ' && strings.IndexByte(".!?:", text[i-1]) >= 0 && i > 20 {
			return text[:i]
		}
	}
	return text
}
