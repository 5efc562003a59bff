package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/upstream"
)

// An unfolded tool gets a root schema that hosts accept, with every member of any part of its schema.
// describe returns the server's own schema.
func TestRootsOfSchemas(t *testing.T) {
	t.Parallel()
	for _, original := range []string{
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},{"properties":{"b":{"type":"string"}}}]}`,
		`{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"integer"}}}]}`,
		`{"$ref":"#/definitions/x","definitions":{"x":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}}}`,
		`{"type":["object","null"],"properties":{"a":{"type":"string"},"b":{"type":"string"}},"not":{"required":["a","b"]}}`,
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`,
		`{"oneOf":[{"properties":{"a":{"type":"string","$ref":"#/oneOf/1/$defs/t"}}},` +
			`{"properties":{"b":{"type":"string","$ref":"#n"}},"$defs":{"t":{"type":"string","$anchor":"n"}}}]}`,
		`{"type":"object","properties":{"a":{"type":"string","$ref":"#/definitions/t"},"b":{"type":"string","$ref":"#/definitions/t"}},` +
			`"definitions":{"t":{"type":"string"}}}`,
	} {
		definition := fmt.Sprintf(`{"name":"pick","description":"Pick one.","inputSchema":%s}`, original)
		families, _, err := gateway.Fold(gateway.Upstream{Name: "shop", Alone: true},
			upstream.Answer{Tools: []json.RawMessage{json.RawMessage(definition)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := surface.New(surface.Options{})
		if err := s.Put(families...); err != nil {
			t.Fatal(err)
		}
		view, seen := s.Discovery.View(t.Context()), false
		for _, l := range view.ListAt(lazy.Full) {
			if l.Name != "pick" {
				continue
			}
			seen = true
			toolfoldtest.CheckSchema(t, original, l.InputSchema)
			var root struct {
				Schema     string `json:"$schema"`
				Properties map[string]json.RawMessage
			}
			if err := json.Unmarshal(l.InputSchema, &root); err != nil {
				t.Fatal(err)
			}
			if root.Schema != "" || root.Properties["a"] == nil || root.Properties["b"] == nil {
				t.Errorf("%s\nis listed as %s", original, l.InputSchema)
			}
			if _, err := judge.Compile(l.Name, l.InputSchema); err != nil { // as for a reference without a target
				t.Errorf("%s\nis listed as %s: %v", original, l.InputSchema, err)
			}
		}
		if !seen {
			t.Errorf("%s: its tool is not listed", original)
		}
		usage, failed := view.Describe(families[0].Actions[0].FullName(), lazy.Account{})
		if shown := string(usage); failed != nil || !strings.Contains(shown, "a?") || !strings.Contains(shown, "b?") {
			t.Errorf("%s: its usage is %s (%v)", original, shown, failed)
		}
		described, failed := view.Describe(families[0].Actions[0].FullName(), lazy.Account{Schema: true})
		if failed != nil || !strings.Contains(string(described), `"inputSchema":`+original) {
			t.Errorf("%s\nis described as %s (%v)", original, described, failed)
		}
	}
}

// Usage lines show the targets of parameters' references. For a recursive reference, describe returns
// the schema.
func TestReferencesOfParameters(t *testing.T) {
	t.Parallel()
	const defs = `"$defs":{"Filter":{"type":"object","properties":{"state":{"$ref":"#/$defs/State"},"limit":{"type":"integer"}},` +
		`"required":["state"]},"State":{"type":"string","enum":["open","closed"],` +
		`"description":"State of the issues that are wanted, one of two."},` +
		`"Order":{"enum":["asc","desc"]},"Node":{"type":"object","properties":{"next":{"$ref":"#/$defs/Node"}}}}}`
	definitions := []json.RawMessage{
		json.RawMessage(`{"name":"search","description":"Search issues.","inputSchema":{"type":"object","properties":{` +
			`"filter":{"$ref":"#/$defs/Filter"},"states":{"type":"array","items":{"$ref":"#/$defs/State"}},"state":{"$ref":"#/$defs/State"},` +
			`"order":{"anyOf":[{"$ref":"#/$defs/Order"},{"type":"null"}],"default":null}},"required":["filter"],` + defs + `}`),
		json.RawMessage(`{"name":"paint","description":"Paint it.","inputSchema":{"type":"object","properties":{` +
			`"scheme":{"anyOf":[{"enum":["light","dark"]},{"type":"null"}]}}}}`),
		json.RawMessage(`{"name":"walk","description":"Walk a chain.","inputSchema":{"type":"object","properties":{` +
			`"from":{"$ref":"#/$defs/Node"}},"required":["from"],` + defs + `}`),
	}
	s := surface.New(surface.Options{Level: lazy.Signature})
	if err := s.Put(foldedFamily(t, "shop", definitions)...); err != nil {
		t.Fatal(err)
	}
	view := s.Discovery.View(t.Context())
	described := func(name string) string {
		text, failed := view.Describe(name, lazy.Account{})
		return fmt.Sprint(string(text), failed)
	}
	var descriptions string
	for _, l := range view.ListAt(lazy.Signature) {
		descriptions += l.Description
	}
	for _, test := range []struct{ where, got, want string }{
		{"describe", described("shop.search"), `filter:{state:open|closed,limit?:integer}`},
		{"describe", described("shop.search"), `states?:(open|closed)[],state?:open|closed,order?:asc|desc`},
		{"describe", described("shop.search"), `"params":{"state":"State of the issues that are wanted, one of two"}`},
		{"find", view.Find("walk a chain", 1)[0].Usage, `from: {next?:object}`},
		{"describe", described("shop.walk"), `"inputSchema":{"type":"object"`},
		{"find", view.Find("search issues", 1)[0].Usage, `filter: {state:open|closed,limit?:integer}`},
		{"find", view.Find("search issues", 1)[0].Usage, `order?: asc|desc`},
		{"find", view.Find("paint it", 1)[0].Usage, `scheme?: light|dark`},
		{"describe", described("shop.paint"), `"anyOf":[{"enum":["light","dark"]},{"type":"null"}]`},
		{"signature", descriptions, `filter:{state:open|closed,limit?:integer}`},
		{"an error", string(s.Client.Call(t.Context(), "shop.search", nil).Content), `order?: asc|desc`},
	} {
		if !strings.Contains(test.got, test.want) {
			t.Errorf("%s: %s, want %s", test.where, test.got, test.want)
		}
	}
	if got := described("shop.search"); strings.Contains(got, "inputSchema") {
		t.Errorf("described with the schema too: %s", got)
	}
}

// A listing with types shows everything that a call accepts: objects with their members, and a mark for
// parts without room.
func TestSignaturesHaveMembers(t *testing.T) {
	t.Parallel()
	var long []string
	for i := range 12 {
		long = append(long, fmt.Sprintf(`"member_number_%d":{"type":"string"}`, i))
	}
	many := strings.Join(long, ",")
	for _, test := range []struct{ schema, want string }{
		{`{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"notes":{"type":"array","items":{"type":"string"}},` +
			`"at":{"type":"object","properties":{"line":{"type":"integer"}}}},"required":["name"]}}`,
			`p:{name,notes?:string[],at?:{line?:integer}}[]`},
		{`{"type":"object","properties":{"state":{"enum":["on","off"],"type":"string"}},"required":["state"]}`, `p:{state:on|off}`},
		{`{"type":"object","properties":{"id":{"type":"string"},` + many + `},"required":["id"]}`, `p:{id,…}`},
		{`{"type":"object","properties":{` + many + `}}`, `p:object`},
		{`{"type":"object","properties":{"a":{"type":"object","properties":{` + many + `}}}}`, `p:{a?:object}`},
	} {
		definition := fmt.Sprintf(`{"name":"%%s","inputSchema":{"type":"object","properties":{"p":%s},"required":["p"]}}`, test.schema)
		s := surface.New(surface.Options{Level: lazy.Signature})
		tools := []json.RawMessage{[]byte(fmt.Sprintf(definition, "add_it")), []byte(fmt.Sprintf(definition, "drop_it"))}
		if err := s.Put(foldedFamily(t, "shop", tools)...); err != nil {
			t.Fatal(err)
		}
		description := s.Discovery.View(t.Context()).ListAt(lazy.Signature)[0].Description
		if want := "(" + test.want + ") "; !strings.Contains(description, want) {
			t.Errorf("%s, want %s", description, want)
		}
		if want := "(p)"; !strings.HasSuffix(description, want) {
			t.Errorf("%s, want the shape once", description)
		}
	}
}
