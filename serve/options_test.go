package serve_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/system/target"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/notetest"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// New makes a surface of families and adds discovery.
func TestServeFamilies(t *testing.T) {
	t.Parallel()
	note := toolfoldtest.Mount(t, notetest.Family, &notetest.Service{})
	families := []*toolfold.Family{note}
	plain := notetest.Family // declared like most families
	plain.Category, plain.Tier, plain.Words = "", 0, "reminder"
	unranked := []*toolfold.Family{toolfoldtest.Mount(t, plain, &notetest.Service{})}
	for _, test := range []struct {
		name         string
		options      serve.Options
		lists, lacks string
	}{
		{"the zero options", serve.Options{Families: families}, `"name":"tools"`, `"name":"save_note"`},
		{"legacy tools", serve.Options{Families: families, Mode: "legacy"}, `"name":"save_note"`, `"name":"note"`},
		{"a family without a tier", serve.Options{Families: unranked}, `"name":"note"`, `"name":"save_note"`},
		{"core families, of a search", serve.Options{Families: families, Listing: "search"}, `"name":"note"`, `"name":"save_note"`},
		{"no family without a tier, of a search", serve.Options{Families: unranked, Listing: "search"}, `"name":"tools"`, `"name":"note"`},
		{"all of the schema", serve.Options{Families: families, Listing: "full"}, `"meta":{"type"`, `"params"`},
		{"a tool for each action", serve.Options{Families: families, Fold: "none"}, `"name":"note_save"`, `"name":"note"`},
		{"what reads apart", serve.Options{Families: families, Fold: "effect"}, `"name":"note_write"`, `"name":"note_save"`},
		{"parameters as text", serve.Options{Families: families, Params: "text"}, `"params":{"type":"string"`, `"params":{"type":"object"`},
		{"for a client", serve.Options{Families: families, For: "codex"}, `"name":"note_save"`, `"name":"note"`},
		{"for a client, with another fold", serve.Options{Families: families, For: "codex", Fold: "family"},
			`"name":"note"`, `"name":"note_save"`},
		{"for a client, with another listing", serve.Options{Families: families, For: "cursor", Listing: "lazy"}, `save(text)`, `priority?`},
		{"for a client that searches", serve.Options{Families: unranked, For: "deferring"}, `"anthropic/searchHint":"reminder"`, `save(text)`},
		{"what reads", serve.Options{Families: families, ReadOnly: true}, `get(id)`, `save(`},
		{"what is allowed", serve.Options{Families: families, Allow: []string{"note.save"}}, `save(text)`, `get(id)`},
		{"all but what is denied", serve.Options{Families: families, Deny: []string{"note.save"}}, `get(id)`, `save(`},
	} {
		server, err := serve.New(test.options)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		list := string(mcptest.Stdio(t, server, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)[0])
		if !strings.Contains(list, test.lists) || strings.Contains(list, test.lacks) {
			t.Errorf("%s: %s is listed, want %s and not %s", test.name, list, test.lists, test.lacks)
		}
	}
}

func TestRefuseOptions(t *testing.T) {
	t.Parallel()
	note := toolfoldtest.Mount(t, notetest.Family, &notetest.Service{})
	families := []*toolfold.Family{note}
	for _, test := range []struct {
		options serve.Options
		want    string
	}{
		{serve.Options{Families: families, Mode: "old"}, `Mode must be one of consolidated, legacy, got "old"`},
		{serve.Options{Families: families, Listing: "brief"}, `Listing must be one of search, lazy, signature, full, got "brief"`},
		{serve.Options{Families: families, Fold: "fammily"}, `Fold must be one of family, effect, none, got "fammily", did you mean "family"?`},
		{serve.Options{Families: families, Params: "json"}, `Params must be one of object, text, flat, got "json"`},
		{serve.Options{Families: families, For: "curser"}, `got "curser", did you mean "cursor"?`},
		{serve.Options{Families: families, AlwaysLoad: "everything"}, `AlwaysLoad must be one of none, discovery, core, all, got "everything"`},
		{serve.Options{Families: families, Deny: []string{"note.sav"}}, `did you mean "note.save"?`},
		{serve.Options{Families: []*toolfold.Family{note, note.Declared(), {Name: "Note"}}}, "Note"},
		{serve.Options{Families: []*toolfold.Family{{Name: "note", Category: "discovery"}}}, "the category discovery is for the tools that find"},
		{serve.Options{Families: families, Surface: surface.New(surface.Options{})}, "Surface is set"},
		{serve.Options{For: "cursor", Surface: surface.New(surface.Options{})}, "Surface is set"},
		{serve.Options{Fold: "none", Surface: surface.New(surface.Options{})}, "Surface is set"},
		{serve.Options{Params: "text", Surface: surface.New(surface.Options{})}, "Surface is set"},
		{serve.Options{ReadOnly: true, Surface: surface.New(surface.Options{})}, "Surface is set"},
	} {
		if _, err := serve.New(test.options); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("New(%+v) answers %v, want %s", test.options, err, test.want)
		}
	}
}

// For accepts each client of the command's --for, with the list of its row.
func TestServeFor(t *testing.T) {
	t.Parallel()
	families := []*toolfold.Family{toolfoldtest.Mount(t, notetest.Family, &notetest.Service{})}
	list := func(o serve.Options) string {
		server, err := serve.New(o)
		if err != nil {
			t.Fatal(err)
		}
		return string(mcptest.Stdio(t, server, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)[0])
	}
	for _, name := range target.Names() {
		row := target.Find(name)
		set := serve.Options{
			Families: families, Listing: row.Surface.Listing, Fold: row.Surface.Fold, Params: row.Surface.Params,
			Structured: row.Surface.Structured, AlwaysLoad: serve.Loads(row.Surface.AlwaysLoad), SearchHints: row.Kind == target.Deferring,
		}
		if diff := cmp.Diff(list(set), list(serve.Options{Families: families, For: name})); diff != "" {
			t.Errorf("for %s: %s", name, diff)
		}
	}
}
