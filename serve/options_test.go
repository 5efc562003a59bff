package serve_test

import (
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/notetest"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// New puts a surface together from families, and discovery with them.
func TestServeFamilies(t *testing.T) {
	t.Parallel()
	note := toolfoldtest.Mount(t, notetest.Family, &notetest.Service{})
	families := []*toolfold.Family{note}
	plain := notetest.Family // as most authors declare one
	plain.Category, plain.Tier = "", 0
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
		{serve.Options{Families: families, Mode: "old"}, `Mode is "old", not one of ["consolidated" "legacy"]`},
		{serve.Options{Families: families, Listing: "brief"}, `Listing is "brief"`},
		{serve.Options{Families: families, AlwaysLoad: "everything"}, `AlwaysLoad is "everything", not one of ["none" "discovery" "core" "all"]`},
		{serve.Options{Families: families, Deny: []string{"note.sav"}}, `did you mean "note.save"?`},
		{serve.Options{Families: []*toolfold.Family{note, note.Declared(), {Name: "Note"}}}, "Note"},
		{serve.Options{Families: families, Surface: surface.New(surface.Options{})}, "Surface is set"},
		{serve.Options{ReadOnly: true, Surface: surface.New(surface.Options{})}, "Surface is set"},
	} {
		if _, err := serve.New(test.options); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("New(%+v) answers %v, want %s", test.options, err, test.want)
		}
	}
}
