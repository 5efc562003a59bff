package expression

import (
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
)

func TestAbsent(t *testing.T) {
	t.Parallel()
	text := &Shape{Kind: toolfold.KindString}
	note := &Shape{Kind: toolfold.KindObject, Members: map[string]*Shape{"key": text, "value": nil}, Closed: true}
	variables := Shapes{
		"list":  {Kind: toolfold.KindArray, Item: note},
		"note":  note,
		"open":  {Kind: toolfold.KindObject, Members: map[string]*Shape{"key": text}},
		"alike": {Kind: toolfold.KindObject, Others: note},
		"any":   nil,
		// Members named like types are members.
		"types": {Kind: toolfold.KindObject, Closed: true,
			Members: map[string]*Shape{"string": text, "array": nil, "number": nil, "boolean": nil}},
	}
	for source, want := range map[string]string{
		"note.key":                               "",
		"note.kee":                               "note.kee does not exist, did you mean key?",
		`note["kee"]`:                            "did you mean key?",
		"note?.kee ?? 1":                         "did you mean key?",
		"note.value.x.y":                         "",
		"note.key.x":                             "it would be a member of a string",
		"list.key":                               "it would be a member of an array",
		"list[0].kee":                            "list[0].kee does not exist",
		"list[-1].key":                           "",
		"list[1:2][0].kee":                       "did you mean key?",
		"map(list, .kee)":                        "did you mean key?",
		"map(list, .key)[0].x":                   "member of a string",
		"filter(list, .key == 'a')[0].kee":       "did you mean key?",
		"list | filter(.key == 'a') | map(.kee)": "did you mean key?",
		"find(list, .key == 'a')?.kee":           "did you mean key?",
		"groupBy(list, .key).a[0].kee":           "did you mean key?",
		"first(list).kee":                        "did you mean key?",
		"get(note, 'kee')":                       "does not exist",
		"let n = note; n.kee":                    "did you mean key?",
		"let note = any; note.kee":               "",
		"(list ?? [])[0].kee":                    "did you mean key?",
		"(note ?? any).kee":                      "",
		"(any ? note : open).kee":                "",
		"open.kee":                               "",
		"alike.x.key":                            "",
		"alike.x.kee":                            "did you mean key?",
		"note[any]":                              "",
		"any.x[0].y":                             "",
		"reduce(list, #acc + #.value, 0)":        "",
		"'kee' in note":                          "",
		"note.":                                  "", // does not parse
		"types.string":                           "",
		"types.strin":                            "types.strin does not exist, did you mean string?",
		"types.arrays":                           "types.arrays does not exist, did you mean array?",
		"types.numbr":                            "types.numbr does not exist, did you mean number?",
		"types.string.x":                         "types.string.x does not exist: it would be a member of a string",
		"let x = nil; note.kee":                  "did you mean key?",
		"let note = nil; note":                   "",
	} {
		got := strings.Join(Absent(source, variables), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
	if got := Absent("note.a + note.b + note.a", variables); len(got) != 2 {
		t.Errorf("not all at once, or twice: %q", got)
	}
}
