package gateway_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/upstream"
)

// randomOffers holds random prompts and resources in the form of lists. Answers depend only on the
// request.
type randomOffers struct {
	prompts, resources, templates []json.RawMessage
	names, uris, forms            []string
}

var (
	promptNames = []string{"simple-prompt", "Simple_Prompt", "review code", "日本", "args", "a.b", "run", "x"}
	uris        = []string{
		"x://y", "file:///home/a%20b?c=d#e", "ui://widget/1.html", "urn:isbn:1", "toolfold://designs/1", "https://example.org/r", "é",
	}
	forms = []string{"x://{id}", "file:///{+path}{?q}", "ui://widget/{name}", "{+all}", "broken://{"}
)

func newRandomOffers(r *rand.Rand) randomOffers {
	o := randomOffers{prompts: []json.RawMessage{}}
	entry := func(key, name string) json.RawMessage {
		members := ordered.Map{{Key: key, Value: name}}
		for _, more := range []ordered.Member{
			{Key: "description", Value: "What it is, <é>."}, {Key: "mimeType", Value: "text/plain"}, {Key: "size", Value: json.RawMessage(`1.0e3`)},
			{Key: "annotations", Value: json.RawMessage(`{"priority":0.50,"audience":["user"]}`)},
			{Key: "icons", Value: json.RawMessage(`[{"src":"data:,x"}]`)}, {Key: "title", Value: "Title"},
			{Key: "_meta", Value: json.RawMessage(`{"ui":{"resourceUri":"ui://widget/1.html"},"n":1.50}`)},
		} {
			if r.IntN(2) == 0 {
				members = append(members, more)
			}
		}
		if key == "name" {
			members.Set("arguments", json.RawMessage(`[{"name":"arg","description":"a","required":true},{"name":"other"}]`))
		} else {
			members.Set("name", "thing")
		}
		return ordered.MustJSON(members)
	}
	some := func(all []string) []string {
		all = slices.Clone(all)
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all[:r.IntN(len(all)+1)]
	}
	for _, name := range some(promptNames) {
		o.names, o.prompts = append(o.names, name), append(o.prompts, entry("name", name))
	}
	for _, uri := range some(uris) {
		o.uris, o.resources = append(o.uris, uri), append(o.resources, entry("uri", uri))
	}
	for _, form := range some(forms) {
		o.forms, o.templates = append(o.forms, form), append(o.templates, entry("uriTemplate", form))
	}
	for i := range r.IntN(3) * 60 { // more than a page
		uri := fmt.Sprintf("many://%d", i)
		o.uris, o.resources = append(o.uris, uri), append(o.resources, entry("uri", uri))
	}
	return o
}

// answer answers a request about prompts and resources.
func (o randomOffers) answer(method, name, uri, cursor string, body []byte) string {
	var m struct {
		Params map[string]json.RawMessage
	}
	_ = json.Unmarshal(body, &m)
	delete(m.Params, "_meta")
	params := canonical(ordered.MustJSON(m.Params))
	h := fnv.New64()
	fmt.Fprint(h, method, params)
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	page := func(member string, list []json.RawMessage) string {
		half := (len(list) + 1) / 2
		next := ""
		if cursor == "more" {
			list = list[half:]
		} else if list = list[:half]; half > 0 {
			next = `,"nextCursor":"more"`
		}
		texts := make([]string, len(list))
		for i, entry := range list {
			texts[i] = string(entry)
		}
		return `"result":{"` + member + `":[` + strings.Join(texts, ",") + `]` + next + `}`
	}
	switch method {
	case "prompts/list":
		return page("prompts", o.prompts)
	case "resources/list":
		return page("resources", o.resources)
	case "resources/templates/list":
		return page("resourceTemplates", o.templates)
	}
	if r.IntN(8) == 0 {
		return fmt.Sprintf(`"error":{"code":%d,"message":"not <now>"}`, pick(r, []int{-32602, -32603, -32001, -32002, -31999, 7}))
	}
	switch method {
	case "prompts/get":
		if !slices.Contains(o.names, name) {
			return `"error":{"code":-32602,"message":"no such prompt"}`
		}
		blocks := []string{
			`{"type":"text","text":` + quoted(params) + `}`, `{"type":"resource","resource":{"uri":"x://y","text":"t","_meta":{"a":"ui://b"}}}`,
			`{"type":"resource_link","uri":"ui://widget/1.html","name":"n","size":3}`, `{"type":"image","data":"AA==","mimeType":"image/png"}`,
		}
		return `"result":{"description":"é","messages":[ {"role":"user","content":` + pick(r, blocks) +
			`}, {"role":"assistant", "content":` + pick(r, blocks) + `}],"_meta":{"k":1.50}}`
	case "resources/read":
		held := []string{`"text":"t\u003c"`, `"blob":"AA==","mimeType":"a/b"`, `"text":"","_meta":{"ui":{"csp":{}}}`}
		return `"result":{"contents":[{"uri":` + quoted(uri) + `,` + pick(r, held) + `},{"uri":` + quoted(uri+"#2") + `,` + pick(r, held) + `}]}`
	case "completion/complete":
		return `"result":{"completion":{"values":[` + quoted(params) + `,"b"],"total":7,"hasMore":true}}`
	}
	return `"error":{"code":-32601,"message":"no such method"}`
}

// Prompts and resources are listed and answered through the gateway as they are directly, in all
// combinations of eras. Names, URIs and errors differ as ARCHITECTURE.md describes.
func TestOffersSameThrough(t *testing.T) {
	t.Parallel()
	sequences := 8
	if os.Getenv("TOOLFOLD_LOAD") != "" {
		sequences = 500
	}
	for n := range sequences {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(n), 5))
			offers := []randomOffers{newRandomOffers(r), newRandomOffers(r)}
			for _, modern := range []bool{false, true} {
				for _, modernClient := range []bool{false, true} {
					checkOffers(t, fmt.Sprintf("server of 2026-07-28 %t, client %t", modern, modernClient), r, offers, modern, modernClient)
				}
			}
		})
	}
}

func checkOffers(t *testing.T, at string, r *rand.Rand, offers []randomOffers, modern, modernClient bool) {
	t.Helper()
	var list []gateway.Upstream
	var direct []*wire
	for i, o := range offers {
		s := newRandomServer(t, r, modern, nil)
		s.offers = o
		defer s.Close()
		direct = append(direct, &wire{url: s.URL, modern: modern})
		list = append(list, gateway.Upstream{Name: fmt.Sprintf("srv%d", i), Server: upstream.Server{URL: s.URL}})
	}
	client, g := throughGateway(t, modernClient, list...)
	defer g.Close()
	prompts := everyPage(t, client, "prompts/list", "prompts")
	resources := everyPage(t, client, "resources/list", "resources")
	templates := everyPage(t, client, "resources/templates/list", "resourceTemplates")
	names := map[string]bool{}
	for i, o := range offers {
		for j, entry := range o.prompts { // in the server's order
			name := nameOf(prompts[0], "name")
			if names[name] || !strings.HasPrefix(name, fmt.Sprintf("srv%d", i)) || strings.ToLower(name) != name {
				t.Errorf("%s: the prompt %s is named %s", at, o.names[j], name)
			}
			names[name] = true
			got := strings.Replace(canonical(asServer(i, prompts[0])), quoted(name), quoted(o.names[j]), 1)
			if want := canonical(asServer(i, entry)); strings.ReplaceAll(got, "ui://srv", "ui://") != want {
				t.Errorf("%s: listed as %s, not %s", at, got, want)
			}
			prompts = prompts[1:]
			compareOffers(t, at, i, direct[i], client, "prompts/get", fmt.Sprintf(`"name":%s,"arguments":{"arg":"é"}`, quoted(o.names[j])),
				fmt.Sprintf(`"name":%s,"arguments":{"arg":"é"}`, quoted(name)), name)
			compareOffers(t, at, i, direct[i], client, "completion/complete",
				fmt.Sprintf(`"ref":{"type":"ref/prompt","name":%s},"argument":{"name":"arg","value":"v"}`, quoted(o.names[j])),
				fmt.Sprintf(`"ref":{"type":"ref/prompt","name":%s},"argument":{"name":"arg","value":"v"}`, quoted(name)), "")
		}
		for _, kind := range []struct {
			key  string
			own  []json.RawMessage
			from *[]json.RawMessage
		}{{"uri", o.resources, &resources}, {"uriTemplate", o.templates, &templates}} {
			for _, entry := range kind.own {
				item := (*kind.from)[0]
				*kind.from = (*kind.from)[1:]
				if got := canonical(asServer(i, item)); got != canonical(entry) {
					t.Errorf("%s: listed as %s, not %s", at, got, entry)
				}
				own, uri := quoted(nameOf(entry, kind.key)), quoted(nameOf(item, kind.key))
				if kind.key == "uriTemplate" {
					const more = `"argument":{"name":"id","value":""},"context":{"arguments":{"a":"b"}}`
					compareOffers(t, at, i, direct[i], client, "completion/complete", `"ref":{"type":"ref/resource","uri":`+own+`},`+more,
						`"ref":{"type":"ref/resource","uri":`+uri+`},`+more, "")
				} else if !strings.HasPrefix(nameOf(entry, "uri"), "https") { // two servers may list it
					compareOffers(t, at, i, direct[i], client, "resources/read", `"uri":`+own, `"uri":`+uri, nameOf(item, "uri"))
				}
			}
		}
	}
	if len(prompts)+len(resources)+len(templates) > 0 {
		t.Errorf("%s: more is listed: %s %s %s", at, prompts, resources, templates)
	}
}

func nameOf(entry json.RawMessage, key string) (name string) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(entry, &members)
	_ = json.Unmarshal(members[key], &name)
	return name
}

// everyPage reads a whole list, and checks that a page has at most fifty entries.
func everyPage(t *testing.T, client *wire, method, member string) (all []json.RawMessage) {
	t.Helper()
	for cursor := ""; ; {
		params := ""
		if cursor != "" {
			params = `"cursor":` + quoted(cursor)
		}
		e := client.ask(t, method, params, "")
		var page map[string]json.RawMessage
		var list []json.RawMessage
		if err := json.Unmarshal(e.result, &page); err != nil || json.Unmarshal(page[member], &list) != nil || len(list) > 50 {
			t.Fatalf("%s: %d entries, %v %s", method, len(list), err, e)
		}
		all, cursor = append(all, list...), ""
		_ = json.Unmarshal(page["nextCursor"], &cursor)
		if cursor == "" {
			return all
		}
	}
}

// compareOffers makes a request directly and through the gateway, and compares the answers.
func compareOffers(t *testing.T, at string, server int, direct, client *wire, method, own, through, name string) {
	t.Helper()
	header := ""
	if name != "" {
		header = nameOf(json.RawMessage(`{`+own+`}`), map[string]string{"prompts/get": "name", "resources/read": "uri"}[method])
	}
	a, b := direct.ask(t, method, own, header), client.ask(t, method, through, name)
	switch {
	case a.failed != nil && b.failed != nil:
		missing := method == "resources/read" && (a.failed.Code == -32002 || a.failed.Code == -32602)
		if a.failed.Code != b.failed.Code && !missing || !strings.Contains(b.failed.Message, a.failed.Message) {
			t.Errorf("%s: %s %s: %s, not %s", at, method, own, b, a)
		}
	case a.result == nil || b.result == nil:
		t.Errorf("%s: %s %s: %s, not %s", at, method, own, b, a)
	default:
		if got, want := dropCache(asServer(server, b.result)), dropCache(a.result); got != want {
			t.Errorf("%s: %s %s: %s, not %s", at, method, own, got, want)
		}
	}
}

// dropCache returns a result without the members of the connection.
func dropCache(result json.RawMessage) string {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(json.RawMessage(settle(result)), &members)
	delete(members, "ttlMs")
	delete(members, "cacheScope")
	return canonical(ordered.MustJSON(members))
}
