package unseen

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// JSON returns a JSON value for listing, and maps the names and values that it escaped to their new
// spellings. It removes hidden characters from texts for readers (description, title, $comment),
// and escapes them in names and other values. A value without hidden characters is returned
// unchanged. raw must be valid JSON.
func JSON(raw json.RawMessage) (text json.RawMessage, spelt map[string]string) {
	if !bytes.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' || r == '%' }) { // the common case
		return raw, nil
	}
	found := false
	rewrite(raw, func(text, member string) string {
		found = found || Removed(text) != text || member == "$ref" && reference(text) != text
		return text
	})
	if !found {
		return raw, nil
	}
	taken := map[string]bool{}
	rewrite(raw, func(text, _ string) string {
		taken[text] = true
		return text
	})
	spelt = map[string]string{}
	return rewrite(raw, func(text, member string) string {
		switch member {
		case "description", "title", "$comment":
			return Removed(text)
		case "$ref", "$dynamicRef":
			return reference(text)
		}
		if _, hides := First(text); !hides { // tab and line ends are allowed, for example as separators
			return text
		}
		if spelt[text] == "" {
			clean := Escaped(text)
			for taken[clean] { // another name or value has this spelling
				clean = `\` + clean
			}
			taken[clean], spelt[text] = true, clean
		}
		return spelt[text]
	}), spelt
}

// reference returns a reference with the names in its fragment escaped like in JSON.
func reference(ref string) string {
	fragment, local := strings.CutPrefix(ref, "#")
	fragment, err := url.PathUnescape(fragment)
	if _, hides := First(fragment); !local || err != nil || !hides {
		return Escaped(ref)
	}
	return "#" + (&url.URL{Fragment: Escaped(fragment)}).EscapedFragment()
}

// Text returns a JSON string without hidden characters, and any other value unchanged. raw must be
// valid JSON.
func Text(raw json.RawMessage) json.RawMessage {
	if text, _ := ordered.Text(raw); Removed(text) != text {
		return ordered.MustJSON(Removed(text))
	}
	return raw
}

// Respelt returns a JSON value with names and strings replaced by their spellings, if they have
// one. raw must be valid JSON.
func Respelt(raw json.RawMessage, spellings map[string]string) json.RawMessage {
	return rewrite(raw, func(text, _ string) string {
		if spelt, is := spellings[text]; is {
			return spelt
		}
		return text
	})
}

// rewrite returns a JSON value with strings replaced. with is called for each name and string;
// member is the name of the member whose value the string is, or "" for names and in lists.
func rewrite(raw json.RawMessage, with func(text, member string) string) json.RawMessage {
	var out bytes.Buffer
	done, member := 0, "" // bytes written, and the member whose value comes next
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

// closing returns the index after the string that begins at start.
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
