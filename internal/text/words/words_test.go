package words_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/text/words"
)

// written returns the words of a text: compounds with their parts in brackets,
// and a + before a character that is joined to the one before.
func written(text string) string {
	var all []string
	for w := range words.Split(text) {
		s := w.Text
		if w.Joined {
			s = "+" + s
		}
		if w.Hyphened {
			s = "-" + s
		}
		if w.Parts != nil {
			s += "[" + strings.Join(w.Parts, " ") + "]"
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"separators":          {"team/rules: a_b.c d - e", "team rules a b c d e"},
		"hyphens":             {"-post-mortem, on\u2010call-", "post -mortem on -call"},
		"camel case":          {"deployFreeze HTTPServer", "deployfreeze[deploy freeze] httpserver[http server]"},
		"letters and digits":  {"v2Beta MP3", "v2beta[v 2 beta] mp3[mp 3]"},
		"plural of capitals":  {"IDs VMs", "ids vms"},
		"accents":             {"Crème e\u0301t\u00e9 naïve Straße", "creme ete naive strasse"},
		"letters with stroke": {"Øystein Łódź", "oystein lodz"},
		"Cyrillic":            {"Ёлка", "елка"},
		"Greek sigmas":        {"\u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3 οδυσσεύς", "οδυσσευσ οδυσσευσ"},
		"Indic vowel signs":   {"कमल किताब", "कमल किताब"},
		"Han and Latin":       {"v2の予定!", "v2[v 2] の +予 +定"},
		"Hangul":              {"회의 월", "회 +의 월"},
		"Thai vowel signs":    {"ก็ดี", "ก็ +ดี"},
		"emoji":               {"🚀🔥 1\ufe0f\u20e3", "🚀 🔥 1"},
		"wide letters":        {"ｆｒｉｄａｙ", "friday"},
		"nothing":             {"\x00-'\"%", ""},
		"long word":           {strings.Repeat("é", 99), strings.Repeat("e", 64)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, written(c.text)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

func TestStem(t *testing.T) {
	t.Parallel()
	for _, group := range []string{
		"deploy deploys deployed deploying deployment deployments",
		"vulnerability vulnerabilities",
		"patch patched patching patches",
		"keep kept keeping keeps",
		"freeze frozen freezing froze",
		"child children",
		"vm vms",
		"pdf pdfs",
		"url urls",
		"color colours coloured coloring",
		"organize organised organising",
		"会議",
		"run running ran runs",
	} {
		list := strings.Fields(group)
		for _, w := range list {
			if words.Stem(w) != words.Stem(list[0]) {
				t.Errorf("the stem of %s is %s, that of %s is %s", list[0], words.Stem(list[0]), w, words.Stem(w))
			}
		}
	}
	for _, pair := range []string{"css cs", "universe uni", "news new"} {
		a, b, _ := strings.Cut(pair, " ")
		if words.Stem(a) == words.Stem(b) {
			t.Errorf("%s and %s have the same stem %s", a, b, words.Stem(a))
		}
	}
}

// FuzzSplit holds that words have no separators or quotes and are bounded.
func FuzzSplit(f *testing.F) {
	f.Add("team/rules Friday")
	f.Add("ﷺ\u0345ǅ İıſK\u0307")
	f.Fuzz(func(t *testing.T, text string) {
		for w := range words.Split(text) {
			if w.Text == "" || len(w.Text) > 260 || strings.ContainsAny(w.Text, " '\"\\&|!:*()#@\x00\t\n") {
				t.Fatalf("word %q of %q", w.Text, text)
			}
		}
	})
}
