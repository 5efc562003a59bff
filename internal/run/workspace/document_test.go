package workspace

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestYAML(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: 1\nb: [x, 'y', \"z\"]\n":                  `{"a":1,"b":["x","y","z"]}`,
		"# note\na: true\nb: ~\nc: 1.5\nd: -0x10\n":   `{"a":true,"b":null,"c":1.5,"d":-16}`,
		"a: |\n  two\n  lines\nb: >\n  one\n  line\n": `{"a":"two\nlines\n","b":"one line\n"}`,
		"big: 18446744073709551615\n":                 `{"big":18446744073709551615}`,
		`{"a": {"b": [1, {"c": null}]}}`:              `{"a":{"b":[1,{"c":null}]}}`,
		"---\na: \"{{ input.x }}\"\n":                 `{"a":"{{ input.x }}"}`,
		"a/b~c: 1\n":                                  `{"a/b~c":1}`,
		"a:\n  - b: 1\n    c: 2\n  - d\n":             `{"a":[{"b":1,"c":2},"d"]}`,
		"a:\n- b:\n  - c\n- d\ne: 1\n":                `{"a":[{"b":["c"]},"d"],"e":1}`,
		"a: 2026-01-01\n":                             `{"a":"2026-01-01"}`,
		"a: yes\n":                                    `{"a":"yes"}`,
		"a: ''\n":                                     `{"a":""}`,
		"a: \"" + strings.Repeat("[{", 500) + "\"\n":  `{"a":"` + strings.Repeat("[{", 500) + `"}`,
	} {
		d, broken := Parse("f.yaml", []byte(text))
		if broken != nil {
			t.Errorf("%q: %s", text, broken.Text())
			continue
		}
		if got, _ := json.Marshal(d.Value); string(got) != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestYAMLThatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "0: it is empty",
		"# nothing\n":              "0: it is empty",
		"- a\n- b\n":               "1: it must be names with values",
		"just text":                "1: it must be names with values",
		"a: 1\nb: [x\n":            "2: ",
		"a: 1\n\nb:\n\t- x\n":      "4: ",
		"a: 1\nb: 2\na: 3\n":       "3: ",
		"a: 1\n---\nb: 2\n":        "3: it has more than one document",
		"a: &x [1]\nb: *x\n":       "1: anchors and aliases are not taken",
		"a: 1\nb:\n  <<: {c: 1}\n": "3: anchors and aliases are not taken",
		"a: .inf\n":                "1: .inf has no meaning in JSON",
		"a: !!binary aGk=\n":       "1: tags are not taken",
		"a: 1\n? [b]\n: c\n":       "2: keys must be plain texts",
		"a: \xff\n":                "0: it is not UTF-8",
		"a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200): "1: " + tooDeep,
	} {
		d, broken := Parse("f.yaml", []byte(text))
		if broken == nil {
			t.Errorf("%.40q is %v", text, d.Value)
			continue
		}
		if got := fmt.Sprintf("%d: %s", broken.Line, broken.Reason); !strings.HasPrefix(got, want) {
			t.Errorf("%.40q: %s, want %s", text, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": {"b": [1, {"c": null}], "d": 18446744073709551616}}`: `{"a":{"b":[1,{"c":null}],"d":18446744073709551616}}`,
		"\ufeff{}":                             `{}`,
		"\n{\"a\": [true, \"x\", 1.50, []]}\n": `{"a":[true,"x",1.50,[]]}`,
	} {
		d, broken := Parse("f.json", []byte(text))
		if broken != nil {
			t.Errorf("%q: %s", text, broken.Text())
			continue
		}
		if got, _ := json.Marshal(d.Value); string(got) != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"":                        "0: it is empty",
		" \n":                     "0: it is empty",
		"[1]":                     "1: it must be names with values",
		"7":                       "1: it must be names with values",
		"{\n\"a\": 1,\n\"a\": 2}": `3: "a" stands there twice`,
		"{\n\"a\": tru\n}":        "2: invalid character",
		"{\n\"a\" 1}":             "2: invalid character",
		"{\"a\": 1]":              "1: invalid character",
		"{\"a\": [1":              "1: it ends too early",
		"{\"a\": 1}\n{}":          "2: more than one JSON value",
		"{\"a\": 1} x":            "1: more than one JSON value",
		"{'a': 1}":                "1: invalid character",
		"{\"a\": \"\xff\"}":       "0: it is not UTF-8",
	} {
		d, broken := Parse("f.json", []byte(text))
		if broken == nil {
			t.Errorf("%q is %v", text, d.Value)
			continue
		}
		if got := fmt.Sprintf("%d: %s", broken.Line, broken.Reason); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// Both formats record the place of each value; a member's place is its name's.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for file, test := range map[string]struct {
		text   string
		places map[string]place
	}{
		"f.yaml": {"näme: b\nlist:\n  - x: 1\n  -\n    y: 2\n", map[string]place{
			"": {1, 1}, "/näme": {1, 1}, "/list": {2, 1}, "/list/0": {3, 5}, "/list/0/x": {3, 5}, "/list/1": {5, 5},
			"/list/1/y/z": {5, 5}, "/other": {1, 1},
		}},
		"f.json": {"{\"näme\": \"b\", \"v\": [2,\n 3],\n\"list\": [\n  {\"x\": 1},\n\n  {\"y\": 2}]}", map[string]place{
			"": {1, 1}, "/näme": {1, 2}, "/v": {1, 15}, "/v/0": {1, 21}, "/v/1": {2, 2}, "/list": {3, 1}, "/list/0": {4, 3},
			"/list/0/x": {4, 4}, "/list/1": {6, 3}, "/list/1/y/z": {6, 4}, "/other": {1, 1},
		}},
	} {
		d, broken := Parse(file, []byte(test.text))
		if broken != nil {
			t.Fatal(broken)
		}
		for pointer, want := range test.places {
			if got := d.place(pointer); got != want {
				t.Errorf("%s: %s is at %v, want %v", file, pointer, got, want)
			}
		}
	}
}

// bombs are texts whose syntax tree or value would be far larger than the text.
func bombs(size int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	long := strings.Repeat("k", 200)
	deepNames := ""
	for range 90 {
		deepNames += "{" + long + ": "
	}
	column := ""
	for i := range 90 {
		column += strings.Repeat(" ", i) + long + ":\n"
	}
	bombs := map[string]string{
		"brackets": fill("["), "braces": fill("{"), "nested maps": fill("{a: "), "nested JSON": fill(`{"a":`),
		"dashes": fill("- "), "questions": fill("? "), "colons": fill(": "), "keys in a row": fill("a: "),
		"mixed": fill("- [{a: "), "flow keys": "{" + fill("? "), "tags": fill("!!x "), "anchors": fill("&a "), "aliases": fill("*a "),
		"a flat list": "a: [" + fill("1,") + "1]", "a flat map": "{" + fill("a: 1, ") + "}", "empty items": "a:\n" + fill("-\n"),
		"long names, deep": deepNames + "[" + fill("1,"), "long names in columns": column + strings.Repeat(" ", 90) + "- " + fill("1\n"),
		"one long name": "\"" + fill("k") + "\": [" + strings.Repeat("1,", 9000) + "]",
		"columns without indents": func() string {
			s := ""
			for i := 0; len(s) < size; i += 2 {
				s += strings.Repeat(" ", i) + long + ":\n" + strings.Repeat(" ", i) + "- "
			}
			return s
		}(),
		"quotes": fill(`"`), "pipes": fill("a: |\n"), "folds": fill(">\n"), "documents": fill("---\n"), "commas": "[" + fill(","),
		"merges": fill("<<: "), "closers": fill("]"), "directives": fill("%x\n"), "pairs in lists": "[" + fill("a: b: "),
	}
	distinct, empty, comments := "{", "", "a:\n"
	for i := 0; len(distinct) < size; i++ {
		distinct += fmt.Sprintf("k%d: 1, ", i)
		empty += fmt.Sprintf("k%d:\n", i)
		comments += "  - # x\n"
	}
	bombs["distinct keys"], bombs["empty members"], bombs["comments"] = distinct+"}", empty, comments
	indented := ""
	for i := 0; len(indented) < size; i++ {
		indented += strings.Repeat(" ", i) + "a:\n"
	}
	bombs["indents"] = indented
	return bombs
}

// No text of the maximum size takes much memory to reject or to read.
func TestBombs(t *testing.T) {
	const most = 192 << 20 // bytes allocated in total; a syntax tree of brackets alone takes 100 GB
	for _, size := range []int{128 << 10, 36 << 10, 9 << 10} {
		for name, text := range bombs(size) {
			for _, file := range []string{"f.yaml", "f.json"} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				start := time.Now()
				_, broken := Parse(file, []byte(text))
				took := time.Since(start)
				runtime.ReadMemStats(&after)
				memory := after.TotalAlloc - before.TotalAlloc
				if memory > most {
					t.Errorf("%s of %d kB as %s: %d MB", name, size>>10, file, memory>>20)
				}
				if broken == nil && size == 128<<10 {
					t.Errorf("%s as %s is taken", name, file)
				}
				t.Logf("%-24s %3d kB %s %4d MB %4d ms %v", name, size>>10, file, memory>>20, took.Milliseconds(), broken)
			}
		}
	}
}

func FuzzYAML(f *testing.F) {
	for _, seed := range []string{"a: 1", "a: [", "a: &b *b", "? x\n: y", "a: |\n x", "{", "- -", "a: !!x y", "a:\n- b:\n  - c"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, file := range []string{"f.yaml", "f.json"} {
			d, broken := Parse(file, text)
			if broken == nil {
				if _, err := json.Marshal(d.Value); err != nil {
					t.Error(err)
				}
			} else if broken.File != file || broken.Reason == "" || strings.Contains(broken.Reason, "\n") {
				t.Errorf("%+v", broken)
			}
		}
	})
}

func TestBrief(t *testing.T) {
	t.Parallel()
	broken := make([]BrokenFile, 25)
	short := Brief("f", broken)
	if diff := cmp.Diff(BrokenFile{File: "f", Reason: "5 more files cannot be used"}, short[20]); diff != "" || len(short) != 21 ||
		len(Brief("f", broken[:20])) != 20 {
		t.Error(len(short), diff)
	}
}
