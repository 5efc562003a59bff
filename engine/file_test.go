package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/tools"
)

func write(t *testing.T, workspace, name, text string) {
	t.Helper()
	path := filepath.Join(workspace, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

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
		"a: 2026-01-01\n":                             `{"a":"2026-01-01"}`,
		"a: yes\n":                                    `{"a":"yes"}`,
		"a: ''\n":                                     `{"a":""}`,
	} {
		value, _, wrong := parseYAML([]byte(text))
		if wrong != nil {
			t.Errorf("%q: line %d: %s", text, wrong.line, wrong.reason)
			continue
		}
		if got := string(ordered.MustJSON(value)); got != want {
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
		"a: .inf\n":                "1: infinity has no meaning in JSON",
		"a: !!binary aGk=\n":       "1: tag has no meaning in JSON",
		"a: \xff\n":                "0: it is not UTF-8",
		"a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200): "1: it is nested too deep",
	} {
		value, _, wrong := parseYAML([]byte(text))
		if wrong == nil {
			t.Errorf("%.40q is %v", text, value)
			continue
		}
		if got := fmt.Sprintf("%d: %s", wrong.line, wrong.reason); !strings.HasPrefix(got, want) {
			t.Errorf("%.40q: %s, want %s", text, got, want)
		}
	}
}

func FuzzYAML(f *testing.F) {
	for _, seed := range []string{"a: 1", "a: [", "a: &b *b", "? x\n: y", "a: |\n x", "{", "- -", "a: !!x y"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if value, _, wrong := parseYAML(text); wrong == nil {
			if _, err := ordered.JSON(value); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestReadFiles(t *testing.T) {
	t.Parallel()
	workspace, elsewhere := t.TempDir(), t.TempDir()
	write(t, workspace, "f/b.yaml", "name: b\nlist:\n  - x: 1\n  -\n    y: 2\n")
	write(t, workspace, "f/a.json", `{"name": "a"}`)
	write(t, workspace, "f/c.yml", "name: [\n")
	write(t, workspace, "f/notes.txt", "nothing")
	write(t, workspace, "f/sub/d.yaml", "name: d")
	write(t, workspace, "f/huge.yaml", "name: "+strings.Repeat("x", maxFileSize))
	write(t, elsewhere, "secret.yaml", "name: secret")
	if err := os.Symlink(filepath.Join(elsewhere, "secret.yaml"), filepath.Join(workspace, "f", "link.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(workspace, "f", "folder.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	files, broken, err := ReadFiles(workspace, "f")
	if err != nil || len(files) != 2 || files[0].Path != "f/a.json" || files[1].Stem() != "b" {
		t.Fatalf("%+v, %v", files, err)
	}
	var got []string
	for _, b := range broken {
		got = append(got, b.Text())
	}
	want := []string{"f/c.yml, line 1: ", "f/huge.yaml: it cannot be read: it has more than 262144 bytes", "f/link.yaml: it cannot be read: path escapes from parent"}
	if len(got) != 3 || !strings.HasPrefix(got[0], want[0]) || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("%q, want %q", got, want)
	}
	b := files[1]
	for pointer, line := range map[string]int{"": 1, "/name": 1, "/list": 2, "/list/0/x": 3, "/list/1": 5, "/list/1/y/z": 5, "/other": 1} {
		if b.Line(pointer) != line {
			t.Errorf("%s is in line %d, want %d", pointer, b.Line(pointer), line)
		}
	}
	required := tools.Fields{tools.String{Name: "title", Doc: "d"}}.Params()
	optional := tools.Fields{tools.String{Name: "name", Doc: "d", MaxLen: 2}}.Params()
	if faults := b.Check(required, optional); faults.Error() != `title is missing; "list" is unknown` {
		t.Error(faults)
	}
}

func TestNoFiles(t *testing.T) {
	t.Parallel()
	for _, workspace := range []string{"", t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if files, broken, err := ReadFiles(workspace, "f/g"); files != nil || broken != nil || err != nil {
			t.Errorf("%q: %v, %v, %v", workspace, files, broken, err)
		}
	}
}

func TestTooManyFiles(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	for i := range maxFiles + 3 {
		write(t, workspace, fmt.Sprintf("f/%04d.yaml", i), "a: 1")
	}
	files, broken, err := ReadFiles(workspace, "f")
	if diff := cmp.Diff([]Broken{{File: "f/0500.yaml", Reason: "it and 2 more are not read: 500 files are the most"}}, broken); diff != "" || len(files) != maxFiles || err != nil {
		t.Error(len(files), err, diff)
	}
}
