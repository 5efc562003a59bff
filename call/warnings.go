package call

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// warningsMember is the member of a result with warnings about the call.
const warningsMember = "warnings"

// withWarnings adds warnings to a result object, after its own warnings.
func withWarnings(result json.RawMessage, warnings []string) json.RawMessage {
	if len(warnings) == 0 {
		return result
	}
	if bytes.Contains(result, []byte(`"`+warningsMember+`"`)) {
		var members ordered.Map
		_ = json.Unmarshal(result, &members) // it is an object
		if own, has := members.Get(warningsMember); has {
			members.Set(warningsMember, joinWarnings(own.(json.RawMessage), warnings))
			return ordered.MustJSON(members)
		}
	}
	body := result[:len(result)-1]
	if len(body) > 1 {
		body = append(body[:len(body):len(body)], ',')
	}
	body = append(body, `"`+warningsMember+`":`...)
	body = append(body, ordered.MustJSON(warnings)...)
	return append(body, '}')
}

// joinWarnings appends warnings to the warnings of a result, without duplicates. Null counts as no
// warning, and a value that is not a list as one warning.
func joinWarnings(own json.RawMessage, warnings []string) []json.RawMessage {
	var all []json.RawMessage
	if json.Unmarshal(own, &all) != nil {
		all = []json.RawMessage{own}
	}
	for _, w := range warnings {
		text := ordered.MustJSON(w)
		if !slices.ContainsFunc(all, func(known json.RawMessage) bool { return bytes.Equal(known, text) }) {
			all = append(all, text)
		}
	}
	return all
}

// declaresWarnings reports whether warnings are among the result fields of an action.
func declaresWarnings(a *toolfold.Action) bool {
	return slices.ContainsFunc(a.Results(), func(p toolfold.Param) bool { return p.Name == warningsMember })
}
