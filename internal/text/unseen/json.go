package unseen

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// JSON returns a JSON value as lists show it, and the names and values that it escaped with their new spellings.
// Texts for readers (description, title, $comment) lose the characters that hide; in names and other values these
// are escaped. A value without such characters is returned unchanged. Raw must be valid JSON.
func JSON(raw json.RawMessage) (shown json.RawMessage, spelt map[string]string) {
	if !bytes.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' || r == '%' }) { // as most are
		return raw, nil
	}
	found := false
	rewritten(raw, func(text, member string) string {
		found = found || Removed(text) != text || member == "$ref" && reference(text) != text
		return text
	})
	if !found {
		return raw, nil
	}
	taken := map[string]bool{}
	rewritten(raw, func(text, _ string) string {
		taken[text] = true
		return text
	})
	spelt = map[string]string{}
	return rewritten(raw, func(text, member string) string {
		switch member {
		case "description", "title", "$comment":
			return Removed(text)
		case "$ref", "$dynamicRef":
			return reference(text)
		}
		if _, hides := First(text); !hides { // a tab or the end of a line may be a separator to choose
			return text
		}
		if spelt[text] == "" {
			clean := Escaped(text)
			for taken[clean] { // another name or value that is written like this
				clean = `\` + clean
			}
			taken[clean], spelt[text] = true, clean
		}
		return spelt[text]
	}), spelt
}

// reference returns a reference with the names in its fragment as JSON spells them.
func reference(ref string) string {
	fragment, local := strings.CutPrefix(ref, "#")
	fragment, err := url.PathUnescape(fragment)
	if _, hides := First(fragment); !local || err != nil || !hides {
		return Escaped(ref)
	}
	return "#" + (&url.URL{Fragment: Escaped(fragment)}).EscapedFragment()
}

// Text returns a JSON string without the characters that hide, and any other value unchanged. Raw must be valid JSON.
func Text(raw json.RawMessage) json.RawMessage {
	if text, _ := ordered.Text(raw); Removed(text) != text {
		return ordered.MustJSON(Removed(text))
	}
	return raw
}

// Respelt returns a JSON value with the names and texts that have another spelling in that. Raw must be valid JSON.
func Respelt(raw json.RawMessage, spellings map[string]string) json.RawMessage {
	return rewritten(raw, func(text, _ string) string {
		if spelt, is := spellings[text]; is {
			return spelt
		}
		return text
	})
}

// rewritten returns a JSON value with other strings in it. With gets each name and text; member is the name of the
// member that a text is the value of, empty for names and in lists.
func rewritten(raw json.RawMessage, with func(text, member string) string) json.RawMessage {
	var out bytes.Buffer
	done, member := 0, "" // the bytes that are written, and the member whose value comes next
	for i := 0; i < len(raw); i++ {
		if strings.IndexByte("{[,", raw[i]) >= 0 {
			member = ""
		}
		if raw[i] != '"' {
			continue
		}
		end := closing(raw, i)
		text, _ := ordered.Text(raw[i:end])
		if now := with(text, member); now != text {
			out.Write(raw[done:i])
			out.Write(ordered.MustJSON(now))
			done = end
		}
		if member = ""; bytes.HasPrefix(bytes.TrimLeft(raw[end:], " \t\r\n"), []byte(":")) {
			member = text
		}
		i = end - 1
	}
	if done == 0 {
		return raw
	}
	out.Write(raw[done:])
	return out.Bytes()
}

// closing returns the index behind the string that begins at start.
func closing(raw []byte, start int) int {
	for i := start + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}
