package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, text string) *Document {
	t.Helper()
	d, err := Read([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return d
}

// api is an OpenAPI document in which each fault and change of the tests is one replacement.
const api = `openapi: 3.1.0
info: {title: Shop, version: '1'}
servers: [{url: https://shop.example}]
security: [{key: []}, {login: [read]}]
paths:
  /orders/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}}
    get:
      operationId: getOrder
      parameters:
        - {name: part, in: query, schema: {type: string, enum: [all, head]}}
        - {name: size, in: query, schema: {type: integer, maximum: 100}}
      responses:
        '200':
          description: found
          headers: {ETag: {schema: {type: string}}}
          content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}
        '404': {description: none}
    put:
      operationId: putOrder
      requestBody:
        content: {application/json: {schema: {$ref: '#/components/schemas/Change'}}}
      responses:
        '204': {description: done}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    login: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://x.example/t', scopes: {read: r}}}}
  schemas:
    Order:
      type: object
      required: [id, state]
      properties:
        id: {type: string, format: uuid}
        state: {type: string, enum: [open, paid], default: open}
        total: {type: integer}
        lines: {type: array, items: {$ref: '#/components/schemas/Line'}}
    Line: {type: object, properties: {sku: {type: string}, next: {$ref: '#/components/schemas/Line'}}}
    Change:
      type: object
      required: [state]
      properties:
        state: {type: string}
        note: {type: string, maxLength: 500}
`

// events is the same for AsyncAPI 3.
const events = `asyncapi: 3.0.0
info: {title: Shop, version: '1'}
channels:
  orders:
    address: orders/{id}
    parameters: {id: {}}
    messages:
      Placed: {payload: {type: object, required: [id], properties: {id: {type: string}, by: {type: string}}}}
      Paid: {payload: {type: object, properties: {sum: {type: number}}}}
operations:
  tell:
    action: send
    channel: {$ref: '#/channels/orders'}
  hear:
    action: receive
    channel: {$ref: '#/channels/orders'}
    messages: [{$ref: '#/channels/orders/messages/Paid'}]
`

// events2 is the same for AsyncAPI 2.
const events2 = `asyncapi: 2.4.0
info: {title: Shop, version: '1'}
channels:
  orders/{id}:
    parameters: {id: {schema: {type: string}}}
    subscribe:
      operationId: onOrder
      message: {oneOf: [{name: Placed, payload: {type: object, properties: {id: {type: string}}}}, {name: Paid, payload: {type: object}}]}
    publish:
      operationId: order
      message: {name: Order, payload: {type: object, properties: {id: {type: string}}}}
`

func replaced(t *testing.T, text, old, with string) string {
	t.Helper()
	if strings.Count(text, old) != 1 {
		t.Fatalf("%q is there %d times", old, strings.Count(text, old))
	}
	return strings.Replace(text, old, with, 1)
}

func TestSoundDocumentsHaveNoFindings(t *testing.T) {
	t.Parallel()
	for _, text := range []string{api, events, events2,
		strings.Replace(api, "3.1.0", "3.0.3", 1), strings.Replace(events, "3.0.0", "3.1.0", 1)} {
		found, outside, err := Lint(read(t, text))
		if err != nil || len(found) > 0 || outside > 0 {
			t.Errorf("%.16s: %v, %d outside, %+v", text, err, outside, found)
		}
	}
}

func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, old, with, rule, at string }{
		{api, "info: {title: Shop, version: '1'}", "info: {title: Shop}", "schema", "/info"},
		{api, "version: '1'}", "version: 1.0}", "schema", "/info/version"},
		{api, "'204': {description: done}", "'204': {}", "schema", "/paths/~1orders~1{id}/put/responses/204"},
		{api, "get:\n", "gett:\n", "schema", "/paths/~1orders~1{id}/gett"},
		{api, "format: uuid", "minLength: few", "schema", "/components/schemas/Order/properties/id/minLength"},
		{api, "schemas/Change'", "schemas/Chance'", "ref", "/paths/~1orders~1{id}/put/requestBody/content/application~1json/schema/$ref"},
		{api, "schemas/Change'", "schemas/Order'", "unused", "/components/schemas/Change"},
		{api, "{name: id, in: path", "{name: ID, in: path", "path-parameter", "/paths/~1orders~1{id}/parameters/0"},
		{api, "{name: id, in: path, required: true", "{name: id, in: query", "path-parameter", "/paths/~1orders~1{id}/get"},
		{api, "  /orders/{id}:", "  /orders/{of}: {}\n  /orders/{id}:", "path-twice", "/paths/~1orders~1{of}"},
		{api, "  /orders/{id}:", "  /orders/{id}/{id}:", "path-parameter", "/paths/~1orders~1{id}~1{id}"},
		{api, "operationId: putOrder", "operationId: getOrder", "operation-id", "/paths/~1orders~1{id}/put/operationId"},
		{api, "{name: size, in", "{name: part, in", "parameter-twice", "/paths/~1orders~1{id}/get/parameters/1"},
		{api, "[{key: []}, ", "[{kee: []}, ", "security", "/security/0/kee"},
		{api, "default: open", "default: shut", "default", "/components/schemas/Order/properties/state/default"},
		{api, "[open, paid]", "[open, paid, open]", "enum", "/components/schemas/Order/properties/state/enum"},
		{api, "required: [state]", "required: [stat]", "required", "/components/schemas/Change/required/0"},
		{strings.Replace(api, "3.1.0", "3.0.3", 1), "next: {$ref: '#/components/schemas/Line'}",
			"next: {$ref: '#/components/schemas/Line', nullable: true}", "beside-ref", "/components/schemas/Line/properties/next/nullable"},
		{events, "action: send", "action: shout", "schema", "/operations/tell/action"},
		{events, "parameters: {id: {}}", "parameters: {}", "channel-parameter", "/channels/orders"},
		{events, "parameters: {id: {}}", "parameters: {id: {}, of: {}}", "channel-parameter", "/channels/orders/parameters/of"},
		{events, "send\n    channel: {$ref: '#/channels/orders'}", "send\n    channel: {$ref: '#/channels/others'}",
			"ref", "/operations/tell/channel/$ref"},
		{events, "messages: [{$ref: '#/channels/orders/messages/Paid'}]", "messages: [{$ref: '#/channels/orders/parameters/id'}]",
			"operation-message", "/operations/hear/messages/0"},
		{events2, "operationId: order\n", "operationId: onOrder\n", "operation-id", "/channels/orders~1{id}/subscribe/operationId"},
		{events2, "publish:", "publishes:", "schema", "/channels/orders~1{id}"},
	} {
		found, _, err := Lint(read(t, replaced(t, c.text, c.old, c.with)))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Rule == c.rule && f.At == c.at && f.Line > 0 }) {
			t.Errorf("%q for %q: no %s at %s in %+v", c.with, c.old, c.rule, c.at, found)
		}
	}
}

// Each change breaks one thing, and its reverse, where that is named, another.
func TestBreaksAreFound(t *testing.T) {
	t.Parallel()
	const get, put = "GET /orders/{id}", "PUT /orders/{id}"
	const given, taken = get + " 200 application/json", put + " body application/json"
	for _, c := range []struct{ text, old, with, breaks, reverse string }{
		{api, "/orders/{id}:", "/carts/{id}:", "path-removed /orders/{id}", "path-removed /carts/{id}"},
		{api, "/orders/{id}:", "/orders/{order}:", "", ""},
		{api, "    put:", "    patch:", "operation-removed " + put, "operation-removed PATCH /orders/{id}"},
		{api, "https://shop.example", "https://new.example", "server-removed servers", "server-removed servers"},
		{api, "{name: part, in: query,", "{name: part, in: query, required: true,", "parameter-required " + get + " query parameter part", ""},
		{api, "        - {name: size, in: query, schema: {type: integer, maximum: 100}}\n", "",
			"parameter-removed " + get + " query parameter size", ""},
		{api, "{name: size, in: query,", "{name: big, in: query, required: true,", "parameter-removed " + get + " query parameter size," +
			"parameter-added " + get + " query parameter big", "parameter-removed " + get + " query parameter big"},
		{api, "enum: [all, head]", "enum: [all]", "enum " + get + " query parameter part", ""},
		{api, "maximum: 100", "maximum: 50", "bound " + get + " query parameter size", ""},
		{api, "{type: integer, maximum: 100}", "{type: string}", "type " + get + " query parameter size",
			"type " + get + " query parameter size"},
		{api, "      requestBody:\n", "      requestBody:\n        required: true\n", "body-required " + put + " body", ""},
		{api, "required: [state]", "required: [state, note]", "property-required " + taken + ".note", ""},
		{api, "required: [state]", "required: [state, who]", "property-added " + taken + ".who", ""},
		{api, "maxLength: 500", "maxLength: 50", "bound " + taken + ".note", ""},
		{api, "        note: {type: string, maxLength: 500}\n", "", "property-removed " + taken + ".note", ""},
		{api, "maxLength: 500", "pattern: ^a", "pattern " + taken + ".note", "bound " + taken + ".note"},
		{api, "        total: {type: integer}\n", "", "property-removed " + given + ".total", ""},
		{api, "total: {type: integer}", "total: {type: number}", "type " + given + ".total", ""},
		{api, "total: {type: integer}", "total: {type: [integer, 'null']}", "type " + given + ".total", ""},
		{api, "total: {type: integer}", "total: {anyOf: [{type: integer}, {type: 'null'}]}", "type " + given + ".total", ""},
		{api, "total: {type: integer}", "total: {allOf: [{type: integer}]}", "", ""},
		{api, "required: [id, state]", "required: [id]", "property-optional " + given + ".state", ""},
		{api, "[open, paid]", "[open, paid, sent]", "enum " + given + ".state", ""},
		{api, "format: uuid", "format: email", "format " + given + ".id", "format " + given + ".id"},
		{api, "sku: {type: string}", "code: {type: string}", "property-removed " + given + ".lines[].sku",
			"property-removed " + given + ".lines[].code"},
		{api, "sku: {type: string}", "sku: {oneOf: [{type: string, title: A}, {type: object, title: B}]}",
			"alternatives " + given + ".lines[].sku", ""},
		{api, "ETag", "Age", "header-removed " + get + " 200 header ETag", "header-removed " + get + " 200 header Age"},
		{api, "'204': {", "'202': {", "response-removed " + put + " 204", "response-removed " + put + " 202"},
		{api, "'204': {", "2XX: {", "", "response-removed " + put + " 2XX"},
		{api, "{application/json: {schema: {$ref: '#/components/schemas/Order'}}}", "{text/plain: {}}", "media-type-removed " + given,
			"media-type-removed " + get + " 200 text/plain"},
		{api, "[{key: []}, {login: [read]}]", "[{key: []}]", "security " + get + ",security " + put, ""},
		{api, "{login: [read]}]", "{login: [read, write]}]", "security " + get + ",security " + put, ""},
		{api, "[{key: []}, {login: [read]}]", "[]", "", "security " + get + ",security " + put},
		{api, "name: X-Key", "name: X-Api-Key", "security-scheme security scheme key", "security-scheme security scheme key"},
		{events, "address: orders/{id}", "address: buys/{id}", "operation-removed receive orders/{},operation-removed send orders/{}",
			"operation-removed receive buys/{},operation-removed send buys/{}"},
		{events, "Paid: {payload: {type: object, properties: {sum: {type: number}}}}",
			"Paid: {payload: {type: object, properties: {sum: {type: integer}}}}",
			"type receive orders/{} message Paid payload.sum", "type send orders/{} message Paid payload.sum"},
		{events, "required: [id], properties", "properties", "property-optional send orders/{} message Placed payload.id", ""},
		{events2, "{name: Paid, payload: {type: object}}", "{name: Sold, payload: {type: object}}", "message-removed send orders/{} message Paid",
			"message-removed send orders/{} message Sold"},
		{events2, "{name: Order, payload: {type: object, properties", "{name: Order, payload: {type: object, required: [id], properties",
			"property-required receive orders/{} message Order payload.id", ""},
	} {
		changed := replaced(t, c.text, c.old, c.with)
		for _, way := range []struct{ from, to, want string }{{c.text, changed, c.breaks}, {changed, c.text, c.reverse}} {
			breaks, partly, err := Compare(read(t, way.from), read(t, way.to))
			if err != nil || partly {
				t.Fatal(partly, err)
			}
			var got []string
			for _, b := range breaks {
				got = append(got, b.Rule+" "+b.Where)
				if b.Why == "" || b.Line == 0 && b.OldLine == 0 {
					t.Errorf("%+v says too little", b)
				}
			}
			if text := strings.Join(got, ","); text != way.want {
				t.Errorf("%q for %q: %s\nwant %s", c.with, c.old, text, way.want)
			}
		}
	}
}

// A document in JSON is the one in YAML.
func TestJSONAndYAMLAreTheSame(t *testing.T) {
	t.Parallel()
	d := read(t, api)
	text, err := json.MarshalIndent(d.root, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	same := read(t, string(text))
	if breaks, _, err := Compare(d, same); err != nil || len(breaks) > 0 || canonical(same.root) != canonical(d.root) {
		t.Error(breaks, err)
	}
	if line := same.line("/info/title"); !strings.Contains(strings.Split(string(text), "\n")[line-1], `"title"`) {
		t.Errorf("title is not in line %d", line)
	}
	if line := d.line("/components/schemas/Order/properties/total"); !strings.Contains(strings.Split(api, "\n")[line-1], "total") {
		t.Errorf("total is not in line %d", line)
	}
}

func TestUnreadableDocuments(t *testing.T) {
	t.Parallel()
	bomb := "openapi: 3.1.0\na: &a [x, x, x, x, x, x, x, x, x]\n"
	for i := 'b'; i < 'k'; i++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*%c, ", i-1), 9)+"x")
	}
	for text, want := range map[string]string{
		"":                                   "empty",
		"{":                                  "unexpected EOF",
		`{"openapi": "3.1.0", "openapi": 1}`: "line 1",
		`{"openapi": "3.1.0",` + "\n\n" + `"x": tru}`: "line 3",
		"openapi: 3.1.0\na: 1\na: 2":                  "line 3",
		"openapi: 3.1.0\ninfo: {a: 1.0}}":             "YAML", "a: [": "line 1, column 4",
		"swagger: '2.0'":             "Swagger",
		"openapi: 3.2.0":             "3.2.0",
		"a: b":                       "neither",
		"- a":                        "no object",
		"openapi: 3.1.0\n---\na: 1":  "more than one",
		"openapi: 3.1.0\na: .inf":    "line 2, column 4: .inf has no meaning",
		"\xff":                       "UTF-8",
		bomb:                         "more than 200000 values",
		"openapi: 3.1.0\na: &a [*a]": "",
		"openapi: 3.1.0\na: " + strings.Repeat("[", 200) + strings.Repeat("]", 200): "more than 100 levels",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, not %q", text, err, want)
		}
	}
}

// What merge keys bring is there, and schemas that hold themselves end.
func TestMergeKeysAndCircles(t *testing.T) {
	t.Parallel()
	d := read(t, "openapi: 3.1.0\nx-base: &base {type: object, title: b}\ncomponents: {schemas: {A: {<<: *base, title: a}, "+
		"B: {$ref: '#/components/schemas/B'}, C: {allOf: [{$ref: '#/components/schemas/C'}]}}}\n")
	if v, _ := d.at("/components/schemas/A"); canonical(v) != `{"title":"a","type":"object"}` {
		t.Error(canonical(v))
	}
	shapeOf(d, node{map[string]any{"$ref": "#/components/schemas/C"}, ""})
	if _, _, err := Lint(d); err != nil {
		t.Error(err)
	}
}

// Whatever is read can be judged.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(api), []byte(events))
	f.Add([]byte(events2), []byte(api))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		older, err := Read(a)
		if err != nil {
			return
		}
		if _, _, err := Lint(older); err != nil {
			t.Error(err)
		}
		for _, text := range [][]byte{a, b} {
			if newer, err := Read(text); err == nil {
				_, _, _ = Compare(older, newer)
				_, _, _ = Compare(newer, older)
			}
		}
	})
}
