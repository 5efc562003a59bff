package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/tools/memory"
)

// notebook is the data of the searches below.
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
		"deploy":             "deploy-freeze, ci, team/rules",
		"DEPLOY friday":      "deploy-freeze, team/rules, ci",
		"deploy freeze":      "deploy-freeze, team/rules, ci",
		"freeze nonsense":    "deploy-freeze, team/rules",
		"deploys":            "deploy-freeze, ci, team/rules", // forms of a word,
		"when":               "deploy-freeze",
		"42":                 "ci",
		"github":             "gitHubToken",
		"GitHubToken":        "gitHubToken",
		"token":              "gitHubToken",
		"javascript":         "gitHubToken",
		"CAFE\u0301":         "café",
		"cafe":               "café", // accents folded
		"arger":              "café",
		"strasse":            "café",
		"ärger":              "café",
		"οδυσσευς":           "café",
		"会議":                 "会議室の予約",
		"京タ":                 "会議室の予約",
		"予":                  "会議室の予約",
		"понед":              "расписание",
		"회의":                 "회의",
		"🚀":                  "🚀",
		"launch true":        "🚀, ci", // what runs is launched
		`"quote" OR`:         `quote"and'OR(NOT)`,
		`c^2 AND "`:          `quote"and'OR(NOT)`,
		"NOT) *":             `quote"and'OR(NOT)`,
		"ｆｒｉｄａｙ":             "deploy-freeze, team/rules",
		"deploymint":         "deploy-freeze, ci, team/rules", // a slip
		"frieday":            "deploy-freeze, team/rules",
		"git hub token":      "gitHubToken", // no token is unknown
		"what is the owner":  "gitHubToken", // grammar left out
		`"freeze holds"`:     "team/rules",  // a phrase
		`"holds freeze"`:     "",
		`deploy "on Friday"`: "team/rules",
		"?! \"':*&|()<->\\":  "",
		"zzz":                "",
	} {
		t.Run(query, func(t *testing.T) {
			equal(t, found(t, s, memory.SearchIn{Query: query, Page: toolfold.Page{Limit: 10}}), want)
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
	out := call(t, s.Search, memory.SearchIn{Query: "shared", Namespace: "b", Page: toolfold.Page{Limit: 10}})
	if out.Count != 1 || out.Results[0].Namespace != "b" || out.Namespace != "b" {
		t.Fatalf("got %+v", out)
	}
	if out := call(t, s.Search, memory.SearchIn{Query: "shared", Page: toolfold.Page{Limit: 10}}); out.Count != 2 {
		t.Fatalf("got %+v", out)
	}
	if out := call(t, s.Search, memory.SearchIn{Query: "shared", Page: toolfold.Page{Limit: 1}}); out.Count != 1 {
		t.Fatalf("got %+v", out)
	}
	if out := call(t, s.Search, memory.SearchIn{Query: "shared", Namespace: "none", Page: toolfold.Page{Limit: 1}}); out.Results == nil {
		t.Fatal("results are null, want an empty list")
	}
}

// Several words find their synonyms too, and words that are written in one or two.
func TestSearchFindsOtherWords(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "", "plan", `"The roll out begins on Monday."`)
	store(t, s, "", "login", `"Signup is open."`)
	store(t, s, "", "night", `"Old buckets are deleted after dark."`)
	store(t, s, "", "returns", `"A refund takes five days."`)
	store(t, s, "", "nursery", `"Grandpa picks up Ida."`)
	store(t, s, "", "absence", `"Lena takes a vacation in May."`)
	store(t, s, "", "molar", `"The dentist sees her on Monday."`)
	for query, want := range map[string]string{
		"are her teeth fine":   "molar",   // a word of the same subject
		"is the money back":    "returns", // two words for one
		"who will collect her": "nursery", // one for two
		"is she on leave":      "absence", // one word in a question asks for the subject
		"rollout":              "plan",
		"when does it rollout": "plan",
		"sign up":              "login",
		"erase old buckets":    "night",
		"erase":                "", // one word asks for the word
	} {
		t.Run(query, func(t *testing.T) {
			equal(t, found(t, s, memory.SearchIn{Query: query, Page: toolfold.Page{Limit: 10}}), want)
		})
	}
}

// TestSearchFollowsChanges checks that only current values are found.
func TestSearchFollowsChanges(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "", "k", `{"text":"before"}`)
	store(t, s, "", "k", `{"text":"after"}`)
	store(t, s, "", "gone", `{"text":"after"}`)
	call(t, s.Delete, memory.DeleteIn{Key: "gone"})
	equal(t, found(t, s, memory.SearchIn{Query: "before", Page: toolfold.Page{Limit: 10}}), "")
	equal(t, found(t, s, memory.SearchIn{Query: "after", Page: toolfold.Page{Limit: 10}}), "k")
}

// TestSearchRare checks that with many entries a rare word outweighs common ones, and a key
// outweighs a value.
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
	out := call(t, s.Search, memory.SearchIn{Query: "note zebra", Page: toolfold.Page{Limit: 3}})
	if out.Results[0].Key != "old" || out.Count != 3 || out.Results[0].Score >= 1 {
		t.Fatalf("got %+v", out.Results)
	}
	out = call(t, s.Search, memory.SearchIn{Query: "usual", Page: toolfold.Page{Limit: 2}})
	if out.Results[0].Key != "usual" {
		t.Fatalf("got %+v", out.Results)
	}
}

// TestSearchKeepsOldEntries checks that the only entry with several words of the question comes
// first, however many newer ones have one of them, and with any other words in the question.
func TestSearchKeepsOldEntries(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "", "wanted", `"invoice rounding: half up per line"`)
	fill(t, s, "", 700, func(i int) (string, string) { return fmt.Sprint("i", i), fmt.Sprintf(`"an invoice of customer %d"`, i) })
	fill(t, s, "", 700, func(i int) (string, string) {
		return fmt.Sprint("r", i), fmt.Sprintf(`"rounding of measurement %d"`, i)
	})
	for _, query := range []string{
		"invoice rounding", "invoice rounding rules", "how is invoice rounding done",
		"one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen invoice rounding half",
	} {
		out := call(t, s.Search, memory.SearchIn{Query: query, Page: toolfold.Page{Limit: 1}})
		if out.Count != 1 || out.Results[0].Key != "wanted" {
			t.Errorf("%s: got %+v", query, out.Results)
		}
	}
}

// TestSearchCommonWord checks that an old entry about a word comes before many newer ones that
// mention it.
func TestSearchCommonWord(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "", "about", `"Incident: what an incident is, who leads an incident, when an incident ends."`)
	fill(t, s, "", 900, func(i int) (string, string) {
		return fmt.Sprint("k", i), fmt.Sprintf(`"A long note on many other things that people wrote down one day and then another,`+
			` with an incident among them, number %d of the year"`, i)
	})
	if out := call(t, s.Search, memory.SearchIn{Query: "incident", Page: toolfold.Page{Limit: 1}}); out.Results[0].Key != "about" {
		t.Fatalf("got %+v", out.Results)
	}
}

func TestSearchPages(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for i := range 25 {
		store(t, s, "", fmt.Sprintf("a/%02d", i), `"a shared word"`)
		store(t, s, "", fmt.Sprintf("b/%02d", i), `"a shared word"`)
	}
	in := memory.SearchIn{Query: "shared word", Prefix: "a/", Page: toolfold.Page{Limit: 10}}
	seen := map[string]bool{}
	for pages := 1; ; pages++ {
		out := call(t, s.Search, in)
		for _, h := range out.Results {
			seen[h.Key] = true
		}
		if out.HasMore != (out.NextCursor != "") || out.HasMore != (pages < 3) {
			t.Fatalf("page %d: hasMore is %v", pages, out.HasMore)
		}
		if !out.HasMore {
			break
		}
		in.Cursor = out.NextCursor
	}
	if len(seen) != 25 || seen["b/00"] {
		t.Fatalf("got %d keys, want the 25 with the prefix", len(seen))
	}
	in.Cursor = "!" // the cursor of another query is rejected before the service is called
	refused(t, s.Search, in, toolfold.InvalidInput)
}

// TestSearchTotal checks that a search returns the number of matching entries, with a message if
// not all of them can be read.
func TestSearchTotal(t *testing.T) {
	t.Parallel()
	s := setup(t)
	fill(t, s, "", 701, func(i int) (string, string) {
		return fmt.Sprintf("in/%d", i), fmt.Sprintf(`"invoice of customer %d"`, i)
	})
	fill(t, s, "", 30, func(i int) (string, string) {
		return fmt.Sprintf("out/%d", i), fmt.Sprintf(`"invoice and receipt %d"`, i)
	})
	for _, test := range []struct {
		in   memory.SearchIn
		want int
	}{
		{memory.SearchIn{Query: "invoice"}, 731},
		{memory.SearchIn{Query: "invoice customer"}, 731},
		{memory.SearchIn{Query: "invoice", Prefix: "in/"}, 701},
		{memory.SearchIn{Query: "invoice", Prefix: "out/"}, 30},
		{memory.SearchIn{Query: "receipt"}, 30},
		{memory.SearchIn{Query: `invoice "receipt 7"`}, 1},
		{memory.SearchIn{Query: "invoice", Namespace: "none"}, 0},
		{memory.SearchIn{Query: "nothing of the kind", Prefix: "in"}, 0},
	} {
		in, want := test.in, test.want
		in.Limit = 100
		read, message := 0, ""
		for {
			out := call(t, s.Search, in)
			read, message = read+out.Count, out.Message
			if out.Total != want {
				t.Fatalf("%+v: total is %d, want %d", in, out.Total, want)
			}
			if in.Cursor = out.NextCursor; !out.HasMore {
				break
			}
		}
		if short := read < want || want == 0; short != (message != "") {
			t.Errorf("%+v: %d of %d were read, and the message is %q", in, read, want, message)
		}
	}
}

// meter counts the bytes that searches read, and calls read each time.
type meter struct {
	memory.Store
	bytes int
	read  func()
}

func (m *meter) Candidates(ctx context.Context, ids []int64) ([]memory.Candidate, error) {
	list, err := m.Store.Candidates(ctx, ids)
	for _, c := range list {
		m.bytes += len(c.Words)
	}
	m.read()
	return list, err
}

// TestSearchLong checks that a search reads a limited part of long notes, counts all of them, and
// ends with its context.
func TestSearchLong(t *testing.T) {
	t.Parallel()
	m := &meter{Store: openStore(t), read: func() {}}
	s := memory.New(m, func() time.Time { return start })
	const notes, atOnce = 70, 8 * (256 << 10) // the last chunk may exceed the room
	value := `"` + strings.Repeat("word of text ", 250<<10/13) + `"`
	first := memory.Entry{Namespace: "n", Key: "0", StoredAt: start.UTC(), Value: json.RawMessage(value)}
	first.Words = memory.IndexText(first)
	var entries []memory.Entry
	for i := range notes {
		e := first
		e.Key = fmt.Sprint(i)
		entries = append(entries, e)
	}
	if _, err := m.Import(t.Context(), entries, false, start); err != nil {
		t.Fatal(err)
	}
	out := call(t, s.Search, memory.SearchIn{Query: "word", Page: toolfold.Page{Limit: 100}})
	if ranked := 12<<20 + atOnce; out.Total != notes || out.Count < 40 || m.bytes > ranked {
		t.Errorf("%d of %d are counted, %d returned; %d bytes were read, want at most %d", out.Total, notes, out.Count, m.bytes, ranked)
	}
	m.bytes = 0
	call(t, s.Search, memory.SearchIn{Query: "textword wordword texttext", Page: toolfold.Page{Limit: 1}})
	if joined := 4<<20 + atOnce; m.bytes > 12<<20+atOnce+joined {
		t.Errorf("%d bytes were read to take words apart, want at most %d, and the same to rank", m.bytes, joined)
	}
	ctx, cancel := context.WithCancel(t.Context())
	m.bytes, m.read = 0, cancel
	if _, err := s.Search(ctx, memory.SearchIn{Query: "word", Page: toolfold.Page{Limit: 1}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the search was cancelled", err)
	}
	if m.bytes > atOnce {
		t.Errorf("%d bytes were read after the end", m.bytes)
	}
}

// TestSearchExcerptFar checks that an excerpt shows words far into a long value, and prefers
// several words together to single ones.
func TestSearchExcerptFar(t *testing.T) {
	t.Parallel()
	s := setup(t)
	filler := strings.Repeat("Nothing of interest is said here. ", 1500)
	store(t, s, "", "k", `{"text":"A budget. `+filler+`June. `+filler+`All budgets until June. The board."}`)
	out := call(t, s.Search, memory.SearchIn{Query: "budget june", Page: toolfold.Page{Limit: 1}})
	if got := out.Results[0].Excerpt; !strings.HasSuffix(got, "said here. All budgets until June. The board.") {
		t.Errorf("got %q", got)
	}
	out = call(t, s.Search, memory.SearchIn{Query: "june", Page: toolfold.Page{Limit: 1}})
	if got := out.Results[0].Excerpt; !strings.Contains(got, "said here. June. Nothing") || !strings.HasSuffix(got, " …") {
		t.Errorf("got %q", got)
	}
}

func TestSearchExcerpt(t *testing.T) {
	t.Parallel()
	s := setup(t)
	filler := strings.Repeat("Nothing of interest is said here. ", 60)
	long, err := json.Marshal(map[string]any{"title": "Minutes", "text": filler + "The board froze all budgets until June. " + filler,
		"n": []int{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	store(t, s, "", "long", string(long))
	store(t, s, "", "short", `{"text":"a frozen budget"}`)
	store(t, s, "", "cjk", `"`+strings.Repeat("無関係な文章。", 100)+"予算は凍結された。"+strings.Repeat("無関係な文章。", 100)+`"`)
	out := call(t, s.Search, memory.SearchIn{Query: "freezing the budget", Page: toolfold.Page{Limit: 9}})
	for _, h := range out.Results {
		switch {
		case h.Key == "short" && (string(h.Value) != `{"text":"a frozen budget"}` || h.Excerpt != ""):
			t.Errorf("got %+v, want the whole value", h)
		case h.Key == "long" && (h.Value != nil || h.Size != len(long) ||
			!strings.Contains(h.Excerpt, "The board froze all budgets until June.")):
			t.Errorf("got %+v", h)
		case h.Key == "long" && (len([]rune(h.Excerpt)) > 250 || !strings.HasPrefix(h.Excerpt, "… ") || !strings.HasSuffix(h.Excerpt, " …")):
			t.Errorf("got %q", h.Excerpt)
		}
	}
	if out.Count != 2 {
		t.Errorf("got %d results, want 2", out.Count)
	}
	out = call(t, s.Search, memory.SearchIn{Query: "凍結", Page: toolfold.Page{Limit: 1}})
	if !strings.Contains(out.Results[0].Excerpt, "凍結") {
		t.Errorf("got %q", out.Results[0].Excerpt)
	}
}

// Among notes that match about as well, the latest comes first, in any order of the store.
func TestSearchPrefersTheLatest(t *testing.T) {
	t.Parallel()
	now := start
	s := memory.New(openStore(t), func() time.Time { return now })
	for i, key := range []string{"b", "c", "a"} {
		now = start.Add(time.Duration(i) * time.Hour)
		store(t, s, "", key, `"The release is frozen until Friday."`)
	}
	now = start.Add(5 * time.Hour)
	store(t, s, "", "b", `"The release is frozen until Monday."`) // stored again, with the same length
	out := call(t, s.Search, memory.SearchIn{Query: "when is the release frozen", Page: toolfold.Page{Limit: 10}})
	var keys []string
	for _, h := range out.Results {
		keys = append(keys, h.Key)
	}
	if !slices.Equal(keys, []string{"b", "a", "c"}) {
		t.Errorf("got %v, want b, a, c", keys)
	}
}
