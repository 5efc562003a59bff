package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/unseen"
)

// orders matches texts that instruct a model about something other than the tool itself.
var orders = regex.Lazy("(?i)" + strings.Join([]string{
	`\b(ignore|disregard|forget)\b.{0,40}\b(previous|prior|above|other|all|earlier)\b.{0,40}\b(instruction|prompt|rule|message|tool)s?`,
	`\b(do not|don't|never)\b.{0,20}\b(tell|inform|mention|reveal|show)\b.{0,30}\b(user|human|anyone)\b`,
	`<\s*/?\s*(system|important|instructions?|secret)\s*>`,
	`(\bsystem prompt\b|\bapi[ _-]?keys?\b|\bprivate keys?\b|\.ssh/|\bid_rsa\b|\.env file).{0,60}` +
		`\b(send|pass|include|read|parameter|argument)\b`,
	`\b(before|after|instead of)\b.{0,20}\b(using|calling|running)\b.{0,20}\b(this|any|other)\b.{0,20}\btools?\b.{0,40}` +
		`\b(must|always|first)\b`,
}, "|"))

// steers matches words that instruct a model to use a tool or to avoid it.
var steers = regex.Lazy(`(?i)\b(use|using|call(ed|ing)?|invok(e|ed|ing)|run|running|prefer|avoid|instead of|rather than|in place of|` +
	`must|should|always|never|don't|do not)\b`)

// flags lists suspicious parts of a tool's texts. others holds the names of other servers' tools. A
// text that names one is flagged if it instructs the model to use or avoid it.
func flags(d definition, others map[string]bool) []string {
	var schema any
	_ = json.Unmarshal(d.InputSchema, &schema) // nil without a schema
	if d.Name == "" {                          // the texts of the server itself
		_ = json.Unmarshal(d.raw, &schema) // valid: encoded by texts
	}
	text := strings.Join(append(texts(schema), d.Name, d.Title, d.Description, d.Annotations.Title), "\n")
	found := flagsOf(text)
	named := ""
	foreign := func(text string) (names []string) {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' && r != '.'
		}) {
			word = strings.Trim(word, ".-") // punctuation at the end of a sentence
			// A plain word proves nothing: names of tools have several parts.
			if strings.ContainsAny(word, "_-.") && word != d.Name && others[word] {
				names = append(names, word)
			}
		}
		return names
	}
	for _, text := range append(descriptions(schema), d.Description) {
		if len(foreign(text)) == 0 {
			continue
		}
		for _, sentence := range sentences().Split(text, -1) {
			for _, name := range foreign(sentence) {
				if (named == "" || name < named) && steers().MatchString(strings.ReplaceAll(sentence, name, " ")) {
					named = name
				}
			}
		}
	}
	if named != "" {
		found = append(found, fmt.Sprintf("instructions for another server's tool, %s", named))
	}
	return found
}

// sentences matches the ends of sentences.
var sentences = regex.Lazy(`[.!?;]\s|\n\s*\n`)

// descriptions lists the descriptions in a schema or in the texts of a server, in no order.
func descriptions(schema any) (list []string) {
	switch v := schema.(type) {
	case []any:
		for _, inner := range v {
			list = append(list, descriptions(inner)...)
		}
	case map[string]any:
		for name, inner := range v {
			if text, is := inner.(string); is && (name == "description" || name == "instructions" || name == "title") {
				list = append(list, text)
			}
			list = append(list, descriptions(inner)...)
		}
	}
	return list
}

// flagsOf lists the suspicious parts of any text of a server.
func flagsOf(text string) (found []string) {
	if r, hides := unseen.First(text); hides {
		found = append(found, fmt.Sprintf("invisible characters, such as U+%04X", r))
	} else if i := strings.IndexFunc(text, func(r rune) bool { return unicode.Is(unicode.Co, r) }); i >= 0 {
		found = append(found, fmt.Sprintf("private-use characters, such as U+%04X", []rune(text[i:])[0]))
	}
	if orders().MatchString(text) {
		found = append(found, "instructions to the model")
	}
	return found
}

// texts lists the strings in a value, including names of members, in no order.
func texts(value any) (list []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, inner := range v {
			list = append(list, texts(inner)...)
		}
	case map[string]any:
		for name, inner := range v {
			list = append(append(list, name), texts(inner)...)
		}
	}
	return list
}
