package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/toolfold/toolfold/internal/regex"
	"github.com/toolfold/toolfold/internal/unseen"
)

// orders matches texts that speak to a model about other things than the tool itself.
var orders = regex.Lazy("(?i)" + strings.Join([]string{
	`\b(ignore|disregard|forget)\b.{0,40}\b(previous|prior|above|other|all|earlier)\b.{0,40}\b(instruction|prompt|rule|message|tool)s?`,
	`\b(do not|don't|never)\b.{0,20}\b(tell|inform|mention|reveal|show)\b.{0,30}\b(user|human|anyone)\b`,
	`<\s*/?\s*(system|important|instructions?|secret)\s*>`,
	`(\bsystem prompt\b|\bapi[ _-]?keys?\b|\bprivate keys?\b|\.ssh/|\bid_rsa\b|\.env file).{0,60}` +
		`\b(send|pass|include|read|parameter|argument)\b`,
	`\b(before|after|instead of)\b.{0,20}\b(using|calling|running)\b.{0,20}\b(this|any|other)\b.{0,20}\btools?\b.{0,40}` +
		`\b(must|always|first)\b`,
}, "|"))

// flags lists what in the texts of a tool is unusual enough for its user to look at. Others
// are the names of the tools of other servers.
func flags(d definition, others map[string]bool) []string {
	var schema any
	_ = json.Unmarshal(d.InputSchema, &schema) // nil where it is none
	text := strings.Join(append(texts(schema), d.Name, d.Title, d.Description, d.Annotations.Title), "\n")
	if d.Name == "" { // the texts of the server itself
		var own any
		_ = json.Unmarshal(d.raw, &own) // it was encoded here
		text = strings.Join(texts(own), "\n")
	}
	found := flagsOf(text)
	named := ""
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' && r != '.'
	}) {
		word = strings.Trim(word, ".-") // as at the end of a sentence
		// A plain word says nothing: the name of a tool has several parts.
		if strings.ContainsAny(word, "_-.") && word != d.Name && others[word] && (named == "" || word < named) {
			named = word
		}
	}
	if named != "" {
		found = append(found, fmt.Sprintf("the name of another server's tool, %s", named))
	}
	return found
}

// flagsOf lists what in a text of a server is unusual whatever it is about.
func flagsOf(text string) (found []string) {
	if r, hides := unseen.First(text); hides {
		found = append(found, fmt.Sprintf("characters that are not seen, such as U+%04X", r))
	} else if i := strings.IndexFunc(text, func(r rune) bool { return unicode.Is(unicode.Co, r) }); i >= 0 {
		found = append(found, fmt.Sprintf("characters without a meaning, such as U+%04X", []rune(text[i:])[0]))
	}
	if orders().MatchString(text) {
		found = append(found, "instructions to the model")
	}
	return found
}

// texts lists the strings in a value, names of members too, in no order.
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
