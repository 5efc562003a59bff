package config

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	files := nestedFiles(t)
	write(t, files, Global, `{"level": "high", "count": 2, "policy": {"parallel": true}}`)
	write(t, files, Local, `{"count": 7, "policy": {"maxRetries": 9}}`)
	layers, err := files.Load()
	if err != nil {
		t.Fatal(err)
	}
	type hit struct {
		Value any
		From  string
		OK    bool
	}
	for path, want := range map[string]hit{
		"level":             {"high", Global, true},
		"policy.maxRetries": {json.Number("9"), Local, true},
		"policy.parallel":   {true, Global, true},
		"policy.deep.leaf":  {nil, Default, false},
		"policy":            {map[string]any{"maxRetries": json.Number("9"), "parallel": true}, Local, true},
	} {
		value, from, ok := layers.Lookup(path)
		if diff := cmp.Diff(want, hit{value, from, ok}); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestLookupDefault(t *testing.T) {
	t.Parallel()
	layers, err := tempFiles(t).Load()
	if err != nil {
		t.Fatal(err)
	}
	if value, from, ok := layers.Lookup("toolMode"); value != "consolidated" || from != Default || !ok {
		t.Errorf("toolMode is %v from %s, %v", value, from, ok)
	}
	if value, _, ok := layers.Lookup("listing"); ok {
		t.Errorf("listing has the default %v, want none: it depends on toolMode", value)
	}
}

func TestLoadUnknown(t *testing.T) {
	t.Parallel()
	files := nestedFiles(t)
	write(t, files, Global, `{"polcy": {}, "a.b": 1}`)
	write(t, files, Local, `{"policy": {"maxRetry": 1, "deep": {"x/y": 2}}}`)
	layers, err := files.Load()
	if err != nil {
		t.Fatal(err)
	}
	want := []Unknown{
		{Scope: Global, Path: "a.b"},
		{Scope: Global, Path: "polcy", Suggest: "policy"},
		{Scope: Local, Path: "policy.deep.x/y"},
		{Scope: Local, Path: "policy.maxRetry", Suggest: "policy.maxRetries"},
	}
	if diff := cmp.Diff(want, layers.Unknown); diff != "" {
		t.Error(diff)
	}
	if got, want := layers.Unknown[3].Text(), `local settings: "policy.maxRetry" is unknown, did you mean "policy.maxRetries"?`; got != want {
		t.Errorf("text is %s, want %s", got, want)
	}
}

func TestLoadBroken(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		line       int
		reason     string
	}{
		{"syntax", "{\n  \"level\": \"high\",\n}\n", 3, "line 3: not valid JSON: invalid character '}' looking for beginning of object key string"},
		{"cut short", "{\n  \"level\": \"high\"\n", 3, "line 3: not valid JSON: unexpected EOF"},
		{"two values", "{}\n\n{}", 3, "line 3: not valid JSON: more than one value"},
		{"list", "[]", 1, "line 1: the file must hold a JSON object"},
		{"enum", `{"level": "hgih"}`, 0, `level must be one of its allowed values, got "hgih", did you mean "high"? (allowed: low, high)`},
		{"types", `{"policy": {"parallel": 1}, "on": "yes"}`, 0, `on must be boolean, got string; policy.parallel must be boolean, got number`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := nestedFiles(t)
			write(t, files, Local, test.text)
			_, err := files.Load()
			var file *FileError
			if !errors.As(err, &file) {
				t.Fatalf("loading answered %v, want a FileError", err)
			}
			if file.Line != test.line || file.Scope != Local || file.Path != pathOf(files, Local) {
				t.Errorf("got %+v", file)
			}
			answer := failure(t, call(t, files, "get", `{"path":"on"}`))
			if answer.Code != FileProblem || answer.Message != "local settings file: "+test.reason {
				t.Errorf("config.get answered %s %s", answer.Code, answer.Message)
			}
			if got := call(t, files, "get", `{"path":"on","scope":"global"}`); got != `{"path":"on","scope":"global","found":false}` {
				t.Errorf("the other scope answered %s", got)
			}
		})
	}
}

// TestSetBroken: what cannot be read is never written over.
func TestSetBroken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{\n\"level\": \"high\",\n}", "[1]", `{"a":1} trailing`, "7"} {
		files := nestedFiles(t)
		write(t, files, Global, text)
		got := failure(t, call(t, files, "set", `{"path":"level","value":"low"}`))
		if got.Code != FileProblem {
			t.Errorf("set on %q answered %+v", text, got)
		}
		if after := content(t, files, Global); after != text {
			t.Errorf("%q became %q", text, after)
		}
	}
}

func TestNoScope(t *testing.T) {
	t.Parallel()
	var files Files
	if _, err := files.Load(); err != nil {
		t.Errorf("loading without files: %v", err)
	}
	for action, args := range map[string]string{
		"show": `{"scope":"local"}`, "get": `{"path":"listing","scope":"global"}`, "set": `{"path":"listing","value":"full"}`,
	} {
		if got := failure(t, call(t, files, action, args)); got.Code != FileProblem {
			t.Errorf("%s answered %+v", action, got)
		}
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	if err := os.MkdirAll(files.Global, 0o755); err != nil {
		t.Fatal(err)
	}
	for action, args := range map[string]string{"show": `{}`, "set": `{"path":"listing","value":"full"}`} {
		if got := failure(t, call(t, files, action, args)); got.Code != FileProblem || got.Message != "global settings file: is a directory" {
			t.Errorf("%s answered %+v", action, got)
		}
	}
}

func TestDefaultFiles(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	files := DefaultFiles("/w")
	dir, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	if want := (Files{Global: filepath.Join(dir, "toolfold", "config.json"), Workspace: "/w"}); !cmp.Equal(want, files, cmp.AllowUnexported(Files{})) {
		t.Errorf("got %+v, want %+v", files, want)
	}
}
