package call

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// listField returns the result field with the list of an action that reads pages. It is empty if
// the action has required parameters, or explains an empty list itself in a message.
func listField(a *toolfold.Action) string {
	if !a.Pages() || len(a.Required) > 0 {
		return ""
	}
	results := a.Results()
	if slices.ContainsFunc(results, func(p toolfold.Param) bool { return p.Name == "message" }) {
		return ""
	}
	i := slices.IndexFunc(results, func(p toolfold.Param) bool { return p.Kind == toolfold.KindArray })
	if i < 0 {
		return ""
	}
	return results[i].Name
}

// warnEmpty adds a hint for an empty list: leave out filters, or create the first item.
func (c *Call) warnEmpty(result json.RawMessage) {
	list := c.target.list
	if list == "" || c.args.values[toolfold.Cursor.Name] != nil || !bytes.Contains(result, []byte(`"`+list+`":[]`)) {
		return
	}
	for _, m := range children(result) { // such as files that cannot be read
		if m.value[0] == '[' && len(m.value) > len("[]") {
			return
		}
	}
	var filters []string
	for _, name := range slices.Sorted(maps.Keys(c.args.values)) {
		value := ordered.MustJSON(c.args.values[name])
		if name != callctx.ArgLimit && !bytes.Equal(value, c.target.defaults[name]) {
			filters = append(filters, c.Entry.Spelling(name))
		}
	}
	family := c.Entry.Action.Family
	first := slices.IndexFunc(family.Actions, creates)
	switch {
	case len(filters) > 0:
		c.input.warn("nothing matches %s; leave out filters that need not match", strings.Join(filters, ", "))
	case first >= 0:
		c.input.warn("there are no %s; %s adds to them", list, family.Actions[first].FullName())
	default:
		c.input.warn("there are no %s; tools.describe %s names their source", list, family.Name)
	}
}

// creates reports whether an action creates something: it adds, or it sets or runs something
// without the id of an existing entry.
func creates(a *toolfold.Action) bool {
	switch a.Effect {
	case toolfold.Adds:
		return true
	case toolfold.Sets, toolfold.Runs:
		required, _ := a.Inputs()
		return !a.Forwards() &&
			!slices.ContainsFunc(required, func(p toolfold.Param) bool { return strings.HasSuffix(p.Name, "Id") })
	}
	return false
}
