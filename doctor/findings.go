package doctor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/words"
)

// Severity is the severity of a finding.
type Severity string

// The severities, worst first.
const (
	Refused Severity = "refused" // hosts or models refuse the tool, some the whole list
	Warning Severity = "warning" // misleads a model or a user, or costs too much
	Note    Severity = "note"    // worth knowing
)

// Finding is a problem of a list, with a fix.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Fix      string   `json:"fix"`
	Where    []string `json:"where,omitempty"` // tools, and parameters as tool.parameter
	All      bool     `json:"all,omitempty"`   // whether Where contains every tool of the list
}

// Places lists the names in Where. If there are more than count, it returns the first ones and the
// number of further ones, or only the number of tools if the finding is about all of them.
func (f Finding) Places(count int) string {
	more := len(f.Where) - count
	switch {
	case more <= 0:
		return strings.Join(f.Where, ", ")
	case f.All:
		return fmt.Sprintf("all %d tools", len(f.Where))
	}
	return fmt.Sprintf("%s and %d more", strings.Join(f.Where[:count], ", "), more)
}

// Limits of models and hosts.
const (
	maxName        = 64     // characters of a name, with a host's prefix
	maxDescription = 2048   // characters of a description or of instructions; Claude Code cuts longer ones
	maxRequest     = 128    // tools; VS Code hides further ones
	largeContext   = 25_000 // tokens at which Claude Code warns
	fewTools       = 10     // with fewer tools, a search costs more than it saves
)

// rule finds one problem of single tools.
type rule struct {
	Finding
	// places lists the parts of a tool with the problem: "" for the tool itself, or parameters.
	places func(Tool, schema) []string
}

var rules = []rule{{
	Finding{
		Rule: "root-combinator", Severity: Refused, Message: "oneOf, anyOf, allOf, not, if or $ref at the root of the schema: Anthropic and " +
			"OpenAI refuse the request, hosts drop the tool",
		Fix: "declare one object with all properties, and name in the description those that belong together",
	},
	func(_ Tool, s schema) []string {
		for _, key := range []string{"oneOf", "anyOf", "allOf", "not", "if", "$ref"} {
			if _, has := s[key]; has {
				return []string{""}
			}
		}
		return nil
	},
}, {
	Finding{
		Rule: "no-schema", Severity: Refused, Message: "no inputSchema of type object, which every model API wants",
		Fix: `a tool without parameters has {"type":"object","properties":{}}`,
	},
	func(_ Tool, s schema) []string { return when(s["type"] != "object") },
}, {
	Finding{
		Rule: "untyped-parameter", Severity: Refused, Message: "parameters without a type: Gemini's OpenAPI form and strict modes refuse the " +
			"request, other hosts take them for text",
		Fix: "give them a type; one that takes any value can be JSON as a string",
	},
	func(_ Tool, s schema) []string {
		return s.find("", func(s schema) bool {
			for _, key := range []string{"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"} {
				if _, has := s[key]; has {
					return false
				}
			}
			return true
		})
	},
}, {
	Finding{
		Rule: "list-without-items", Severity: Refused, Message: "lists without a type for their items: VS Code and Gemini refuse them",
		Fix: `add items, such as {"type":"string"}`,
	},
	func(_ Tool, s schema) []string {
		return s.find("", func(s schema) bool { return s["type"] == "array" && s["items"] == nil && s["prefixItems"] == nil })
	},
}, {
	Finding{
		Rule: "list-of-types", Severity: Warning, Message: `parameters with a list of types, such as ["string","null"]: Gemini's OpenAPI form ` +
			"has one type, hosts drop the other types or refuse the tool",
		Fix: "declare one type; a parameter that may be missing is left out of required",
	},
	func(_ Tool, s schema) []string {
		return s.find("", func(s schema) bool { _, isList := s["type"].([]any); return isList })
	},
}, {
	Finding{
		Rule: "long-name", Severity: Refused, Message: fmt.Sprintf("names over %d characters, which model APIs refuse", maxName),
		Fix: "shorten them: hosts put the name of the server before",
	},
	func(t Tool, _ schema) []string { return when(utf8.RuneCountInString(t.Name) > maxName) },
}, {
	Finding{
		Rule: "name-characters", Severity: Refused, Message: "names with characters other than letters, digits, _ and -, which model APIs " +
			"refuse and hosts rewrite",
		Fix: "use letters, digits and _ only",
	},
	func(t Tool, _ schema) []string { return when(notNames().MatchString(t.Name)) },
}, {
	Finding{
		Rule: "no-hints", Severity: Warning, Message: "neither readOnlyHint nor destructiveHint: hosts take the tool for one that destroys, " +
			"ask for every call, and refuse it without a person",
		Fix: "set readOnlyHint, and destructiveHint if it is false",
	},
	func(t Tool, _ schema) []string {
		return when(t.Annotations == nil || t.Annotations.ReadOnly == nil && t.Annotations.Destructive == nil)
	},
}, {
	Finding{
		Rule: "contradictory-hints", Severity: Warning, Message: "hints that contradict each other or the name: readOnlyHint with " +
			"destructiveHint, or a tool that deletes and claims that it only reads or destroys nothing",
		Fix: "set the hints by the effect of the tool: users let calls pass by them",
	},
	func(t Tool, _ schema) []string {
		if t.Annotations == nil {
			return nil
		}
		reads, destroys := t.Annotations.ReadOnly != nil && *t.Annotations.ReadOnly, t.Annotations.Destructive
		deletes := false
		for w := range words.Split(t.Name) {
			for _, part := range append(w.Parts, w.Text) {
				deletes = deletes || deleting[part]
			}
		}
		return when(reads && destroys != nil && *destroys || deletes && (reads || destroys != nil && !*destroys))
	},
}, {
	Finding{
		Rule: "no-description", Severity: Warning, Message: "no description: a model has the name alone to choose by",
		Fix: "write a sentence about the effect of the tool, and when to use it",
	},
	func(t Tool, _ schema) []string { return when(strings.TrimSpace(t.Description) == "") },
}, {
	Finding{
		Rule: "long-description", Severity: Warning, Message: fmt.Sprintf("descriptions over %d characters, which Claude Code cuts",
			maxDescription),
		Fix: "keep the words that a model chooses by; the rest belongs into results, errors or a tool that is asked for it",
	},
	func(t Tool, _ schema) []string { return when(utf8.RuneCountInString(t.Description) > maxDescription) },
}, {
	Finding{
		Rule: "no-verb", Severity: Warning, Message: "descriptions whose first sentence has no verb for the effect of the tool",
		Fix: `begin with one: "Delete a file"`,
	},
	func(t Tool, _ schema) []string {
		first := strings.TrimSpace(t.Description)
		if end := sentenceEnd().FindStringIndex(first); end != nil {
			first = first[:end[0]]
		}
		return when(latin().MatchString(first) && !hasVerb(first) && !isImperative(first)) // verbs of other scripts are unknown
	},
}}

var (
	notNames    = regex.Lazy(`[^a-zA-Z0-9_-]`)
	latin       = regex.Lazy(`[a-zA-Z]`)
	sentenceEnd = regex.Lazy(`[.!?](\s|$)|\n`)
	deleting    = words.Set("delete remove drop destroy purge erase wipe truncate uninstall")
	// discovering matches tools that find or describe other tools, calling those that run other
	// tools.
	discovering = regex.Lazy(
		`(?i)^(tools|.*(find|search|describe|list|discover|load|get)[_-]?` +
			`tools?(_schema|_definition)?|tools?[_-](find|search|describe|list|load))$`)
	calling = regex.Lazy(`(?i)^(.*(call|invoke|execute|run|use)[_-]?tools?|tools?[_-](call|invoke|execute|run))$`)
)

// when returns the tool itself as a place if found is true.
func when(found bool) []string {
	if found {
		return []string{""}
	}
	return nil
}

// find applies all rules to a list.
func find(l List) []Finding {
	var found []Finding
	for _, r := range rules {
		f := r.Finding
		f.All = len(l.Tools) > 0
		for _, t := range l.Tools {
			var s schema
			_ = json.Unmarshal(t.InputSchema, &s) // without an object there are no members
			places := r.places(t, s)
			f.All = f.All && slices.Equal(places, when(true))
			for _, place := range places {
				f.Where = append(f.Where, strings.TrimSuffix(t.Name+"."+place, "."))
			}
		}
		if f.Where != nil {
			found = append(found, f)
		}
	}
	if utf8.RuneCountInString(l.Instructions) > maxDescription {
		found = append(found, Finding{
			Rule: "long-instructions", Severity: Warning, Message: fmt.Sprintf("instructions over %d characters, which Claude Code cuts",
				maxDescription),
			Fix: "keep the rules that hold for all tools",
		})
	}
	if len(l.Tools) > maxRequest {
		found = append(found, Finding{
			Rule: "too-many-tools", Severity: Warning, Message: fmt.Sprintf("%d tools; VS Code sends at most %d in a request and hides the rest "+
				"behind groups", len(l.Tools), maxRequest),
			Fix: "switch off tools that are not needed, or list fewer, wider tools",
		})
	}
	return slices.Concat(found, findPrefixed(l), findLazy(l))
}

// findPrefixed finds names that are too long with a host's prefix.
func findPrefixed(l List) []Finding {
	f := Finding{
		Rule: "long-prefixed-name", Severity: Refused, Fix: "shorten the name of the server in the client's settings, or the names of the tools",
	}
	longest := ""
	for _, h := range hosts.Hosts {
		for _, t := range l.Tools {
			if h.Rewrite == nil || l.Host != "" && l.Host != h.Name || len(t.Name) > maxName {
				continue
			}
			name := h.Rewrite.Name(l.Server, t.Name)
			if len(name) > maxName && !slices.Contains(f.Where, t.Name) {
				f.Where = append(f.Where, t.Name)
			}
			if len(name) > len(longest) {
				longest, f.Message = name, fmt.Sprintf("names over %d characters with the prefix that hosts add: %s makes %s", maxName, h.Title, name)
			}
		}
	}
	if f.Where == nil {
		return nil
	}
	return []Finding{f}
}

// findLazy finds lazy lists that hide too few tools to be useful, and lazy lists in hosts that
// defer tools themselves.
func findLazy(l List) []Finding {
	others, lazy := 0, false
	for _, t := range l.Tools {
		if discovering().MatchString(t.Name) || calling().MatchString(t.Name) {
			lazy = true
			continue
		}
		others++
	}
	if !lazy {
		return nil
	}
	var found []Finding
	if l.Unlisted == 0 && others > 0 && others < fewTools {
		found = append(found, Finding{
			Rule: "lazy-without-gain", Severity: Note, Message: fmt.Sprintf("tools to find or call other tools beside %d: below about %d the extra "+
				"calls cost more than the list saves, unless there are more that are not listed", others, fewTools),
			Fix: "list the tools in full if these are all",
		})
	}
	if h := l.host(); h != nil && h.Rewrite != nil && h.Rewrite.Defers() {
		found = append(found, Finding{
			Rule: "lazy-where-deferred", Severity: Note, Message: h.Title +
				" defers tools itself: its search reads names, descriptions and parameters, and a lazy list hides tools that it should find",
			Fix: "list in full in this client",
		})
	}
	return found
}

// findTogether finds problems of all lists of a host together. claude is their cost for a Claude
// model, in tokens.
func findTogether(lists []List, claude int) []Finding {
	var found []Finding
	owners := map[string][]string{}
	var names []string
	for _, l := range lists {
		for _, t := range l.Tools {
			// Hosts normalize names for prefixes and permissions, and models confuse names that
			// only differ in case or special characters.
			folded := strings.ToLower(notNames().ReplaceAllString(strings.ReplaceAll(t.Name, "-", "_"), "_"))
			if len(owners[folded]) == 0 {
				names = append(names, folded)
			}
			owners[folded] = append(owners[folded], l.Server+"."+t.Name)
		}
	}
	collision := Finding{
		Rule: "colliding-names", Severity: Warning, Message: "names that are the same, or differ in case or signs only: hosts without " +
			"prefixes drop one, models mix them up",
		Fix: "rename one of each, or switch off one of the servers",
	}
	for _, name := range names {
		if len(owners[name]) > 1 {
			collision.Where = append(collision.Where, strings.Join(owners[name], " = "))
		}
	}
	if collision.Where != nil {
		found = append(found, collision)
	}
	deferred := slices.IndexFunc(lists, func(l List) bool {
		h := l.host()
		return len(l.Tools) > 0 && h != nil && h.Rewrite != nil && h.Rewrite.Defers()
	})
	if deferred >= 0 {
		h, each := lists[deferred].host(), "each"
		if h.Rewrite.ByServer() {
			each = "each server"
		}
		found = append(found, Finding{
			Rule: "host-defers", Severity: Note, Message: h.Title + " defers tools unless configured otherwise: a model sees a line for " + each +
				", and the rest when it searches",
			Fix: "count the column deferred; its search finds good names and descriptions",
		})
	}
	if claude > largeContext && deferred < 0 {
		f := Finding{
			Rule: "large-context", Severity: Warning,
			Message: fmt.Sprintf("about %d tokens of tools for a Claude model; Claude Code warns beyond %d", claude, largeContext),
			Fix:     "switch off servers and tools that are not needed, or list them lazily",
		}
		if !slices.ContainsFunc(lists, func(l List) bool { return l.host() != nil }) { // only some hosts send all tools
			f.Severity = Note
			f.Message = fmt.Sprintf("about %d tokens of tools for a Claude model, in hosts that send all; other hosts defer them", claude)
			f.Fix = "in hosts that send all, " + f.Fix
		}
		found = append(found, f)
	}
	return found
}

// schema is a decoded JSON Schema.
type schema map[string]any

// find lists the paths of parameters whose schemas match.
func (s schema) find(path string, match func(schema) bool) []string {
	var found []string
	into := func(path string, value any) {
		// true and false are also schemas, without a type.
		inner, ok := value.(map[string]any)
		if !ok && value != true {
			return
		}
		if match(inner) {
			found = append(found, path)
		}
		found = append(found, schema(inner).find(path+".", match)...)
	}
	for _, key := range []string{"properties", "$defs", "definitions"} {
		members, _ := s[key].(map[string]any)
		for name := range members {
			into(path+name, members[name])
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		branches, _ := s[key].([]any)
		for _, branch := range branches {
			if inner, ok := branch.(map[string]any); ok {
				found = append(found, schema(inner).find(path, match)...)
			}
		}
	}
	if items, ok := s["items"].(map[string]any); ok {
		into(strings.TrimSuffix(path, ".")+"[]", items)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// hasVerb reports whether a text has a verb that is usual in tool descriptions.
func hasVerb(text string) bool {
	for w := range words.Split(text) {
		for _, part := range append(w.Parts, w.Text) {
			if verbs()[words.Stem(part)] {
				return true
			}
		}
	}
	return false
}

// isImperative reports whether a text begins with an unknown verb: one with a prefix, such as
// reconnect, or one before a determiner, as in Vacuum the database.
func isImperative(text string) bool {
	list := slices.Collect(words.Split(text))
	if len(list) < 2 {
		return false
	}
	first := list[0].Text
	for _, prefix := range []string{"re", "un", "de", "dis"} {
		if rest, ok := strings.CutPrefix(first, prefix); ok && verbs()[words.Stem(rest)] {
			return true
		}
	}
	return !determiners[first] && !prepositions[first] && determiners[list[1].Text]
}

var prepositions = words.Set("" +
	"about above across after against among around as at before behind below beside between beyond by during for from if in " +
	"inside into of on onto out over per since through to toward under until upon when where while with within without and but or")

var determiners = words.Set("a an the this that these those all any each every one two some several multiple your its their")

// verbs are the stems of verbs that are usual in tool descriptions.
var verbs = sync.OnceValue(func() map[string]bool {
	stems := map[string]bool{}
	for word := range words.Set(`
		abort accept access acquire activate add advance allow analyze analyse annotate answer append apply approve archive
		ask assign attach audit authenticate authorize await backup begin bind block book branch browse build bulk calculate call cancel
		capture change chat check checkout choose classify clean clear click clone close collect combine commit compare compile
		complete compress compute configure confirm connect consult contain continue control convert copy correct count crawl create
		cut deactivate debug decide declare decline decode decrypt dedupe deduplicate define delete
		demonstrate deploy describe destroy detach detect
		determine diagnose diff disable discard disconnect discover dismiss display download drag draw draft drop dump duplicate echo
		edit embed emit emulate enable encode encrypt end enqueue ensure enter erase escalate estimate evaluate examine execute expand
		explain explore export expose extend extract fail fetch fill filter find fix focus follow force fork format forward gather
		generate get give go grant group guard handle hide highlight hold hover identify import index inform ingest initialize inject
		insert inspect install interact interrupt invite invoke join keep kill label launch learn let lint list load locate lock log
		look lookup make manage map mark match measure merge migrate minimize mock modify monitor mount move mute navigate normalize
		notify obtain offer open optimize orchestrate order organize output overwrite package parse pass paste patch pause perform
		permit pick pin ping plan play poll populate post predict prepare press preview print prioritize process produce profile
		promote propose protect provide provision prune publish pull purge push put query queue quit raise rank react read rebase
		rebuild recall receive recommend record recover reduce refactor refer refine refresh register reject release reload remember
		remind remove rename render reopen reorder repair replace reply report reprioritize request reset resize resolve respond
		restart restore resume retrieve retry return reverse revert review revoke rewrite rollback rotate route run sample save say
		scaffold scan schedule score scrape scroll search select send serve set setup share ship show shut sign simulate skip snooze
		solve sort spawn split star start stop store stream submit subscribe suggest summarize supply suspend switch sync synchronize
		tag take tap tell terminate test toggle touch trace track train transcribe transfer transform translate triage trigger trim
		truncate turn type undo uninstall unlock unmute unpin unregister unresolve unstar unsubscribe update upgrade upload upsert use validate
		verify view visit wait walk warn watch wipe work wrap write zip zoom`) {
		stems[words.Stem(word)] = true
	}
	return stems
})
