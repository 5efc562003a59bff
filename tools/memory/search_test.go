package memory_test

import (
	"strings"
	"testing"

	"github.com/toolfold/toolfold/tools/memory"
)

// notebook is what the searches below look through.
var notebook = [][2]string{
	{"deploy-freeze", `{"when":"Friday"}`},
	{"team/rules", `{"text":"No deploy on Friday: the freeze holds until Monday."}`},
	{"ci", `{"text":"Deploys run from main.", "retries": 42}`},
	{"gitHubToken", `{"owner":"JavaScript guild"}`},
	{"caf\u00e9", `{"Stra\u00dfe":"\u00c4rger", "greek":"\u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3"}`},
	{"会議室の予約", `{"場所":"東京タワー"}`},
	{"расписание", `{"текст":"Встреча в понедельник"}`},
	{"회의", `{"text":"회의는 월요일에"}`},
	{"🚀", `{"launch":true}`},
	{`quote"and'OR(NOT)`, `{"op":"a*b AND c^2"}`},
}

func TestSearchFinds(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, e := range notebook {
		store(t, s, "", e[0], e[1])
	}
	for query, want := range map[string]string{
		"deploy":            "deploy-freeze, team/rules, ci",
		"DEPLOY friday":     "deploy-freeze, team/rules, ci",
		"deploy freeze":     "deploy-freeze, team/rules, ci",
		"freeze nonsense":   "deploy-freeze, team/rules",
		"deploys":           "ci",
		"when":              "deploy-freeze",
		"42":                "ci",
		"github":            "gitHubToken",
		"GitHubToken":       "gitHubToken",
		"token":             "gitHubToken",
		"javascript":        "gitHubToken",
		"CAFE\u0301":        "café",
		"strasse":           "café",
		"ärger":             "café",
		"οδυσσευς":          "café",
		"会議":                "会議室の予約",
		"京タ":                "会議室の予約",
		"予":                 "会議室の予約",
		"понед":             "расписание",
		"회의":                "회의",
		"🚀":                 "🚀",
		"launch true":       "🚀",
		`"quote" OR`:        `quote"and'OR(NOT)`,
		`c^2 AND "`:         `quote"and'OR(NOT)`,
		"NOT) *":            `quote"and'OR(NOT)`,
		"ｆｒｉｄａｙ":            "deploy-freeze, team/rules",
		"?! \"':*&|()<->\\": "",
		"zzz":               "",
	} {
		t.Run(query, func(t *testing.T) {
			equal(t, found(t, s, memory.SearchIn{Query: query, Limit: 10}), want)
		})
	}
}

func found(t *testing.T, s *memory.Service, in memory.SearchIn) string {
	t.Helper()
	out := call(t, s.Search, in)
	keys := []string{}
	for i, r := range out.Results {
		if r.Score <= 0 || i > 0 && r.Score > out.Results[i-1].Score {
			t.Fatalf("scores are not positive and falling: %+v", out.Results)
		}
		keys = append(keys, r.Key)
	}
	if out.Count != len(keys) || out.Query != in.Query {
		t.Fatalf("got %+v", out)
	}
	return strings.Join(keys, ", ")
}

func TestSearchScope(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "a", "k", `{"text":"shared word"}`)
	store(t, s, "b", "k", `{"text":"shared word"}`)
	out := call(t, s.Search, memory.SearchIn{Query: "shared", Namespace: "b", Limit: 10})
	if out.Count != 1 || out.Results[0].Namespace != "b" || out.Namespace != "b" {
		t.Fatalf("got %+v", out)
	}
	if out := call(t, s.Search, memory.SearchIn{Query: "shared", Limit: 10}); out.Count != 2 {
		t.Fatalf("got %+v", out)
	}
	if out := call(t, s.Search, memory.SearchIn{Query: "shared", Limit: 1}); out.Count != 1 {
		t.Fatalf("got %+v", out)
	}
	if out := call(t, s.Search, memory.SearchIn{Query: "shared", Namespace: "none", Limit: 1}); out.Results == nil {
		t.Fatal("results are null, want an empty list")
	}
}

// TestSearchFollowsChanges finds what is there now and not what was.
func TestSearchFollowsChanges(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "", "k", `{"text":"before"}`)
	store(t, s, "", "k", `{"text":"after"}`)
	store(t, s, "", "gone", `{"text":"after"}`)
	call(t, s.Delete, memory.KeyIn{Key: "gone"})
	equal(t, found(t, s, memory.SearchIn{Query: "before", Limit: 10}), "")
	equal(t, found(t, s, memory.SearchIn{Query: "after", Limit: 10}), "k")
}

// TestSearchRare holds that a rare word outweighs common ones, and that a key
// outweighs a value, when there are many entries.
func TestSearchRare(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "", "old", `{"text":"zebra"}`)
	for range 3 {
		for _, k := range strings.Fields("a b c d e f g h i j k l m n o p q r s t u v w x y z") {
			store(t, s, "", k, `{"text":"the usual note"}`)
		}
	}
	store(t, s, "", "usual", `{"text":"something else entirely"}`)
	store(t, s, "", "last", `{"text":"the usual note"}`)
	out := call(t, s.Search, memory.SearchIn{Query: "the zebra", Limit: 3})
	if out.Results[0].Key != "old" || out.Count != 3 || out.Results[0].Score >= 1 {
		t.Fatalf("got %+v", out.Results)
	}
	out = call(t, s.Search, memory.SearchIn{Query: "usual", Limit: 2})
	if out.Results[0].Key != "usual" || out.Results[0].Score < 1 {
		t.Fatalf("got %+v", out.Results)
	}
}
