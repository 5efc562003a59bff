package script_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/run/script"
)

// What a script can only fail at is found before anything is called, with its place.
func TestMistakesAreFoundFirst(t *testing.T) {
	t.Parallel()
	s := &shop{random: rand.New(rand.NewPCG(1, 1)), done: map[string]int{}, sets: map[string]int{}}
	r := s.runner(t)
	for source, want := range map[string]string{
		"await shop.add({id: 'a'})\nawait shop.ad({id: 'b'})":      "2:7 shop.ad is no action that you may call; did you mean shop.add?",
		"await shop.add({id: 'a'});\nawait shop.add({ID: 'b'})":    `2:7 shop.add: "ID" is unknown, did you mean "id"?`,
		"await tools.call('shop.add', {id: 5})":                    "1:18 shop.add: id must be string, got number",
		"await shop.add()":                                         "1:7 shop.add: id is missing",
		"const f = () => {\n  return shop.refuse({})\n}\nreturn 1": "2:10 shop.refuse: id is missing",
		"let n: number = 1":                                        "1:6 types are not accepted",
		"await shop.add({id: 'a'}):":                               "1:26 ",
		"return tools.call('shop.nothing', {})":                    "1:19 shop.nothing is no action that you may call",
		"const shop = {ad() {}}; shop.ad({x: 1}); return 1":        "",
		"const args = {x: 1}; return shop.get({...args})":          "",
		"const id = 'a'; return shop.get({id})":                    "",
		"const {get} = shop; return get({id: 'a'})":                "",
		"return Object.keys({shop: 1}).map(k => k.toUpperCase())":  "",
		"for (const x of [1]) { console.log(x, Math.max()) }":      "",
	} {
		err := r.Check(t.Context(), script.Job{Source: source})
		got := ""
		if f, ok := err.(*script.Failure); ok {
			got = strings.TrimSpace(strings.Join([]string{place(f), f.Message}, " "))
		} else if err != nil {
			t.Fatal(err)
		}
		if want == "" && got != "" || !strings.HasPrefix(got, strings.TrimSpace(want)) {
			t.Errorf("%s\n got %s\nwant %s", source, got, want)
		}
	}
	if len(s.done) > 0 {
		t.Errorf("a check called %v", s.done)
	}
	reading := script.Job{Source: "await shop.get({id: 'a'}); await shop.add({id: 'a'})", ReadsOnly: true}
	if f, ok := r.Check(t.Context(), reading).(*script.Failure); !ok || f.Code != "PERMISSION_DENIED" {
		t.Errorf("a write of a script that reads: %v", f)
	}
}

func place(f *script.Failure) string { return fmt.Sprintf("%d:%d", f.Line, f.Column) }
