package rank_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/text/rank"
)

func named(id, name, text string) rank.Document {
	return rank.Document{ID: id, Name: name, Fields: []rank.Field{{Text: text}}}
}

// catalogue is of tools in the words of their authors.
func catalogue() *rank.Index {
	return rank.New(
		named("note.create", "note.create", "Save a new note."),
		named("note.delete", "note.delete", "Remove a note for good."),
		named("note.search", "note.search", "Find notes by words and labels."),
		named("file.list", "listFiles", "Names and sizes of what is in a directory."),
		named("image.resize", "resize_image", "Scale a picture to a width and height."),
		named("pr.merge", "merge_pull_request", "Merge a pull request into its base branch."),
		named("auth.login", "login", "Open a session with a name and password."),
		named("weather", "getWeather", "Forecast for a city: temperature, rain and wind."),
		named("youtube", "YouTube.search", "Look for clips."),
		named("mp3", "toMP3", "Turn audio into another format."),
	)
}

func ids(hits []rank.Hit) []string {
	all := []string{}
	for _, h := range hits {
		all = append(all, h.ID)
	}
	return all
}

func TestFindFirst(t *testing.T) {
	t.Parallel()
	x := catalogue()
	for name, tt := range map[string]struct{ query, want string }{
		"name":               {"note.create", "note.create"},
		"snake case":         {"resize_image", "image.resize"},
		"camel case":         {"getWeather", "weather"},
		"lower case":         {"getweather", "weather"},
		"kebab case":         {"merge-pull-request", "pr.merge"},
		"compound":           {"youtube", "youtube"},
		"split compound":     {"you tube", "youtube"},
		"letters and digits": {"MP3", "mp3"},
		"stem":               {"resizing images", "image.resize"},
		"verb synonym":       {"erase a note", "note.delete"},
		"other verb synonym": {"look up notes", "note.search"},
		"noun synonym":       {"photo width", "image.resize"},
		"phrase synonym":     {"land a PR", "pr.merge"},
		"particle":           {"how do I log in", "auth.login"},
		"letter missing":     {"foreast", "weather"},
		"letters swapped":    {"forecsat", "weather"},
		"joined words":       {"pullrequest", "pr.merge"},
		"split words":        {"look on you tubes", "youtube"},
		"both synonyms":      {"enumerate the folder", "file.list"},
		"long text": {
			"Hi! I am Ann and I am planning a trip with 3 friends to Lisbon on 2026-05-01. " +
				"Could you please tell me how much rain and wind to expect? Thank you so much.", "weather",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{tt.want}, ids(x.Find(rank.Query{Text: tt.query, Limit: 1}))); diff != "" {
				t.Errorf("Find(%q) (-want +got):\n%s", tt.query, diff)
			}
		})
	}
}

func TestFindOtherScripts(t *testing.T) {
	t.Parallel()
	x := rank.New(
		named("zh", "查询天气", "获取城市的天气预报"),
		named("zh2", "发送邮件", "给联系人发送电子邮件"),
		named("ja", "カレンダー", "予定を追加する"),
		named("ko", "파일 삭제", "파일을 지웁니다"),
		named("ru", "Удалить заметку", "Удаляет заметку навсегда"),
		named("ar", "حذف ملاحظة", "يحذف الملاحظة نهائيا"),
		named("el", "ΚΑΙΡΌΣ", "πρόγνωση"),
		named("fr", "Météo", "Prévisions pour la journée"),
		named("mixed", "GitHub仓库", "列出仓库"),
	)
	for query, want := range map[string]string{
		"北京的天气预报": "zh", "邮件": "zh2", "予定": "ja", "삭제해 주세요": "ko", "УДАЛИТЬ": "ru",
		"حذف": "ar", "καιρός": "el", "MÉTÉO": "fr", "仓库": "mixed", "github": "mixed",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{want}, ids(x.Find(rank.Query{Text: query, Limit: 1}))); diff != "" {
				t.Errorf("Find(%q) (-want +got):\n%s", query, diff)
			}
		})
	}
}

func TestFindNothing(t *testing.T) {
	t.Parallel()
	x := catalogue()
	for name, query := range map[string]string{
		"empty": "", "spaces": " \t\n", "signs": "?!. --", "control characters": "\x00\x01\x1b",
		"invalid UTF-8": "\xff\xfe", "stop words": "what is it that I would like", "unknown word": "xylophone",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if hits := x.Find(rank.Query{Text: query, Limit: 10}); len(hits) > 0 {
				t.Errorf("Find(%q) = %v, want none", query, hits)
			}
		})
	}
	if hits := x.Find(rank.Query{Text: "note", Limit: 0}); len(hits) > 0 {
		t.Errorf("limit 0 gives %v, want none", hits)
	}
	if hits := rank.New().Find(rank.Query{Text: "note", Limit: 10}); len(hits) > 0 {
		t.Errorf("an empty index gives %v, want none", hits)
	}
}

func TestFindLongQuery(t *testing.T) {
	t.Parallel()
	x := catalogue()
	for name, query := range map[string]string{
		"words":      strings.Repeat("forecast rain wind temperature city ", 300),
		"sentences":  strings.Repeat("a. b! weather? ", 800),
		"other text": "weather " + strings.Repeat("q w e r t y u i o p 12 ", 400),
		"one word":   strings.Repeat("x", 10_000) + " weather",
		"compound":   "weather " + strings.Repeat("aB1", 3_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{"weather"}, ids(x.Find(rank.Query{Text: query, Limit: 1}))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindKeepsRarestTerms(t *testing.T) {
	t.Parallel()
	x, query := rank.New(named("rare", "needle", "")), ""
	for i := range 300 {
		word := fmt.Sprintf("hay%c%c", 'a'+i/26, 'a'+i%26)
		x.Put(named(word, word, word+" straw"), named(word+"2", word, ""))
		query += word + " "
	}
	hits := x.Find(rank.Query{Text: query + "needle", Limit: 1})
	if diff := cmp.Diff([]string{"rare"}, ids(hits)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	t.Run("equals stay in order of addition", func(t *testing.T) {
		t.Parallel()
		x := rank.New(named("c", "note", ""), named("a", "note", ""), named("b", "note", ""))
		x.Put(named("c", "note", ""))
		x.Remove("a")
		x.Put(named("a", "note", ""))
		for range 10 {
			if diff := cmp.Diff([]string{"c", "b", "a"}, ids(x.Find(rank.Query{Text: "note", Limit: 10}))); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		}
	})
	t.Run("name counts more than text", func(t *testing.T) {
		t.Parallel()
		x := rank.New(named("text", "alpha", "invoice"), named("name", "invoice", "alpha"))
		if diff := cmp.Diff([]string{"name", "text"}, ids(x.Find(rank.Query{Text: "invoice", Limit: 10}))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("weight counts", func(t *testing.T) {
		t.Parallel()
		x := rank.New(
			rank.Document{ID: "light", Fields: []rank.Field{{Text: "invoice", Weight: 0.5}, {Text: "alpha beta"}}},
			rank.Document{ID: "heavy", Fields: []rank.Field{{Text: "invoice", Weight: 3}, {Text: "alpha beta"}}},
		)
		if diff := cmp.Diff([]string{"heavy", "light"}, ids(x.Find(rank.Query{Text: "invoice", Limit: 10}))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("literal before synonym", func(t *testing.T) {
		t.Parallel()
		x := rank.New(named("delete", "delete", ""), named("erase", "erase", ""))
		if diff := cmp.Diff([]string{"erase", "delete"}, ids(x.Find(rank.Query{Text: "erase", Limit: 10}))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("side by side before apart", func(t *testing.T) {
		t.Parallel()
		x := rank.New(named("apart", "x", "quality of the credit"), named("together", "x", "the credit quality"))
		if diff := cmp.Diff([]string{"together", "apart"}, ids(x.Find(rank.Query{Text: "credit quality", Limit: 10}))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestScoreSeparates(t *testing.T) {
	t.Parallel()
	x := catalogue()
	for name, tt := range map[string]struct {
		query   string
		related bool
	}{
		"keywords":           {"delete note", true},
		"in a sentence":      {"Please merge the pull request into main.", true},
		"a chance word":      {"My grandmother plays the piano in an old city by the sea every summer.", false},
		"other words":        {"Explain photosynthesis to a ten year old child.", false},
		"long and unrelated": {strings.Repeat("Ships sail across oceans under bright stars. ", 20) + "A note.", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			best := 0.0
			for _, h := range x.Find(rank.Query{Text: tt.query, Limit: 10}) {
				best = max(best, h.Score)
				if h.Score <= 0 || h.Score >= 1 {
					t.Errorf("score of %s is %v, want it between 0 and 1", h.ID, h.Score)
				}
			}
			if related := best >= 0.5; related != tt.related {
				t.Errorf("best score is %.2f, related: %v, want %v", best, related, tt.related)
			}
		})
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{"", "delete a note", "getHTTPResponse2", "天气 forecast. log in", "\xff\x00 ' ’", "İstanbul ǅ ﬃ", "a_b-c.d/e"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, text, query string) {
		x := catalogue()
		x.Put(named("fuzz", text, query), rank.Document{ID: text, Fields: []rank.Field{{Text: text, Weight: 0.1}}})
		hits := x.Find(rank.Query{Text: query, Limit: 5})
		if len(hits) > 5 {
			t.Errorf("%d hits, want at most 5", len(hits))
		}
		for i, h := range hits {
			if !(h.Score > 0 && h.Score <= 1) || i > 0 && h.Score > hits[i-1].Score {
				t.Errorf("hit %d has score %v after %v", i, h.Score, hits)
			}
		}
		x.Remove("fuzz", text)
	})
}

// A synonym counts half of a word where a document has only its author's words, and less where it has requests too,
// which are in words of their own.
func TestSynonymsCountMoreWithoutPassages(t *testing.T) {
	t.Parallel()
	withPassage := named("asked", "drop_parcel", "")
	withPassage.Passages = []string{"we no longer want this"}
	x := rank.New(named("plain", "drop_parcel", ""), withPassage, named("other", "parcel_box", "parcel"))
	hits := x.Find(rank.Query{Text: "erase", Limit: 5})
	if len(hits) < 2 || hits[0].ID != "plain" || hits[1].ID != "asked" || hits[1].Worth > hits[0].Worth/2 {
		t.Errorf("got %v, want plain to count more than twice as much as asked", hits)
	}
}

// The words of documents that do not count are as rare as without these documents.
func TestAmong(t *testing.T) {
	t.Parallel()
	documents := []rank.Document{named("run", "run_script", "Run a script"), named("pages", "page_list", "List them")}
	for i := range 40 {
		documents = append(documents, named(fmt.Sprintf("own%d", i), fmt.Sprintf("script_part%d", i), "A part of a script"))
	}
	x := rank.New(documents...)
	theirs := func(id string) bool { return id == "run" || id == "pages" }
	q := rank.Query{Text: "script in a page", Limit: 1, Keep: theirs}
	if hits := x.Find(q); len(hits) != 1 || hits[0].ID != "pages" {
		t.Errorf("counted among all: got %v, want pages", hits)
	}
	q.Among = theirs
	if hits := x.Find(q); len(hits) != 1 || hits[0].ID != "run" {
		t.Errorf("counted among theirs: got %v, want run", hits)
	}
}
