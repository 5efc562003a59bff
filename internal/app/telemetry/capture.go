package telemetry

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/code/secrets"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// argumentNames returns the names of a call's arguments that its action declares. Undeclared names
// could contain anything.
func argumentNames(c *call.Call) []string {
	var arguments, within map[string]json.RawMessage
	if c.Entry == nil || len(c.Raw) > 1<<20 || json.Unmarshal(c.Raw, &arguments) != nil {
		return nil
	}
	_ = json.Unmarshal(arguments[callctx.ArgParams], &within) // without an object there are no names
	var names []string
	for _, p := range c.Entry.Params() {
		_, outside := arguments[p.Name]
		if _, inside := within[p.Name]; inside || outside {
			names = append(names, p.Name)
		}
	}
	return names
}

// capturedArguments returns the arguments of a call, redacted.
func capturedArguments(c *call.Call) string {
	if c.Entry == nil {
		return capture(c.Raw, nil)
	}
	declared := c.Entry.Params()
	return capture(c.Raw, append(declared, toolfold.Param{Name: callctx.ArgParams, Kind: toolfold.KindObject, Optional: declared}))
}

// capturedResult returns the answer of a call, redacted.
func capturedResult(c *call.Call, answer toolfold.Answer) string {
	if c.Entry == nil || answer.Err != nil {
		return capture(answer.Content, nil)
	}
	return capture(answer.Content, c.Entry.Action.Results())
}

// capture returns JSON without secrets, shortened. Declared members are never treated as secrets:
// a memory key is not an API key.
func capture(raw json.RawMessage, declared []toolfold.Param) string {
	var value any
	if len(raw) > 1<<20 || json.Unmarshal(raw, &value) != nil {
		return shorten.To(hideIn(string(raw[:min(len(raw), 2*maxAttribute)])), maxAttribute)
	}
	text, _ := json.Marshal(hide(value, declared)) // decoded values can be encoded
	return shorten.To(string(text), maxAttribute)
}

// hide returns a decoded value without secrets. declared lists the declared members, if it is an
// object.
func hide(value any, declared []toolfold.Param) any {
	switch v := value.(type) {
	case string:
		var inside any
		if strings.HasPrefix(v, "{") && json.Unmarshal([]byte(v), &inside) == nil {
			text, _ := json.Marshal(hide(inside, declared))
			return string(text)
		}
		return hideIn(v)
	case []any:
		list := redact.Value(v).([]any) // hides values of command-line flags
		for i, item := range v {
			if text, isText := item.(string); !isText || list[i] == redact.Text(text) {
				list[i] = hide(item, declared)
			}
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, member := range v {
			i := slices.IndexFunc(declared, func(p toolfold.Param) bool { return p.Name == name })
			switch _, text := member.(string); {
			case i >= 0:
				object[name] = hide(member, members(declared[i]))
			case text && redact.Names(name):
				object[name] = redact.Hidden
			default:
				object[name] = hide(member, nil)
			}
		}
		return object
	}
	return value
}

// members returns the declared members of a parameter, or of its items.
func members(p toolfold.Param) []toolfold.Param {
	if p.Items != nil {
		return members(*p.Items)
	}
	return slices.Concat(p.Required, p.Optional)
}

// hideIn hides the secrets in a text: values whose names show that they are secret, and texts that
// look like credentials.
func hideIn(text string) string {
	return secrets.Hide(redact.Text(shorten.To(text, 2*maxAttribute)), redact.Hidden)
}
