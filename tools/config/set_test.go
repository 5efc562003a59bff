package config

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
)

func TestSet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, before, args, want, after string }{
		{"creates the file", "", `{"path":"level","value":"high"}`,
			`{"success":true,"path":"level","newValue":"high","scope":"global"}`, `{"level":"high"}`},
		{"empty file", " \n", `{"path":"on","value":true}`,
			`{"success":true,"path":"on","newValue":true,"scope":"global"}`, `{"on":true}`},
		{"replaces", `{"count":1}`, `{"path":"count","value":2}`,
			`{"success":true,"path":"count","oldValue":1,"newValue":2,"scope":"global"}`, `{"count":2}`},
		{"JSON text of a number", "", `{"path":"count","value":"7"}`,
			`{"success":true,"path":"count","newValue":7,"scope":"global"}`, `{"count":7}`},
		{"JSON text of a boolean", "", `{"path":"on","value":"true"}`,
			`{"success":true,"path":"on","newValue":true,"scope":"global"}`, `{"on":true}`},
		{"text stays text", "", `{"path":"name","value":"true"}`,
			`{"success":true,"path":"name","newValue":"true","scope":"global"}`, `{"name":"true"}`},
		{"quoted text of an enum", "", `{"path":"level","value":"\"high\""}`,
			`{"success":true,"path":"level","newValue":"high","scope":"global"}`, `{"level":"high"}`},
		{"quoted text", "", `{"path":"name","value":"\"a b\""}`,
			`{"success":true,"path":"name","newValue":"a b","scope":"global"}`, `{"name":"a b"}`},
		{"JSON text of a list", "", `{"path":"allow","value":"[\"a\",\"b\"]"}`,
			`{"success":true,"path":"allow","newValue":["a","b"],"scope":"global"}`, `{"allow":["a","b"]}`},
		{"item replaced", `{"allow":["a","b"]}`, `{"path":"allow.0","value":"c"}`,
			`{"success":true,"path":"allow.0","oldValue":"a","newValue":"c","scope":"global"}`, `{"allow":["c","b"]}`},
		{"item appended", `{"allow":["a","b"]}`, `{"path":"allow.2","value":"1"}`,
			`{"success":true,"path":"allow.2","newValue":"1","scope":"global"}`, `{"allow":["a","b","1"]}`},
		{"missing holders", "", `{"path":"policy.deep.leaf","value":"x"}`,
			`{"success":true,"path":"policy.deep.leaf","newValue":"x","scope":"global"}`, `{"policy":{"deep":{"leaf":"x"}}}`},
		{"missing list", "", `{"path":"servers.0","value":{"host":"h","port":1}}`,
			`{"success":true,"path":"servers.0","newValue":{"host":"h","port":1},"scope":"global"}`, `{"servers":[{"host":"h","port":1}]}`},
		{"a member of an item", `{"servers":[{"host":"g","port":1e0},{"host":"h","x":0.10}],"count":1}`, `{"path":"servers.1.port","value":2}`,
			`{"success":true,"path":"servers.1.port","newValue":2,"scope":"global"}`,
			`{"servers":[{"host":"g","port":1e0},{"host":"h","x":0.10,"port":2}],"count":1}`},
		{"a map's entry", `{"engines":{"a":{"n":1}}}`, `{"path":"engines.b.url","value":"http://b?x=<1>&y"}`,
			`{"success":true,"path":"engines.b.url","newValue":"http://b?x=<1>&y","scope":"global"}`,
			`{"engines":{"a":{"n":1},"b":{"url":"http://b?x=<1>&y"}}}`},
		{"a number as a name", "", `{"path":"engines.0.n","value":5}`,
			`{"success":true,"path":"engines.0.n","newValue":5,"scope":"global"}`, `{"engines":{"0":{"n":5}}}`},
		{"signs in a name", "", `{"path":"engines.:a|*\\@é\"{.n","value":5}`,
			`{"success":true,"path":"engines.:a|*\\@é\"{.n","newValue":5,"scope":"global"}`, `{"engines":{":a|*\\@é\"{":{"n":5}}}`},
		{"order, numbers and unknown keys stay", `{"zeta":1e400,"count":1,"mystery":[null,0.10],"level":"low"}`, `{"path":"count","value":3}`,
			`{"success":true,"path":"count","oldValue":1,"newValue":3,"scope":"global"}`,
			`{"zeta":1e400,"count":3,"mystery":[null,0.10],"level":"low"}`},
		{"null becomes a holder", `{"policy":null}`, `{"path":"policy.deep.leaf","value":"x"}`,
			`{"success":true,"path":"policy.deep.leaf","newValue":"x","scope":"global"}`, `{"policy":{"deep":{"leaf":"x"}}}`},
		{"mends an invalid value beside another", `{"count":"many","level":"middle"}`, `{"path":"level","value":"low"}`,
			`{"success":true,"path":"level","oldValue":"middle","newValue":"low","scope":"global"}`, `{"count":"many","level":"low"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := nestedFiles(t)
			if strings.TrimSpace(test.before) != "" {
				write(t, files, Global, string(laidOut([]byte(test.before))))
			}
			if diff := cmp.Diff(test.want, call(t, files, "set", test.args)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(string(laidOut([]byte(test.after))), content(t, files, Global)); diff != "" {
				t.Errorf("file: %s", diff)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	t.Parallel()
	problem := func(p toolfold.Problem) []toolfold.Problem { return []toolfold.Problem{p} }
	for _, test := range []struct {
		name, args, message string
		problems            []toolfold.Problem
	}{
		{
			"enum", `{"path":"level","value":"hihg"}`,
			`config.set: value must be one of its allowed values, got "hihg", did you mean "high"?`,
			problem(toolfold.Problem{Path: "/value", Kind: toolfold.ProblemEnum, Got: "hihg", Allowed: []string{"low", "high"}, Suggest: "high"}),
		}, {
			"number as text of an enum", `{"path":"level","value":"5"}`, `config.set: value must be one of its allowed values, got "5"`,
			problem(toolfold.Problem{Path: "/value", Kind: toolfold.ProblemEnum, Got: "5", Allowed: []string{"low", "high"}}),
		}, {
			"type", `{"path":"on","value":"maybe"}`, `config.set: value must be boolean, got string`,
			problem(toolfold.Problem{Path: "/value", Kind: toolfold.ProblemType, Want: "boolean", Got: "string"}),
		}, {
			"number for a text", `{"path":"name","value":5}`, `config.set: value must be string, got number`,
			problem(toolfold.Problem{Path: "/value", Kind: toolfold.ProblemType, Want: "string", Got: "number"}),
		}, {
			"range", `{"path":"count","value":"11"}`, `config.set: value must be at most 10, got 11`,
			problem(toolfold.Problem{Path: "/value", Kind: toolfold.ProblemRange, Max: new(10.0), Got: 11.0}),
		}, {
			"unknown key inside", `{"path":"policy","value":{"maxRetry":1}}`, `config.set: "value/maxRetry" is unknown, did you mean "maxRetries"?`,
			problem(toolfold.Problem{Path: "/value/maxRetry", Kind: toolfold.ProblemUnknown, Suggest: "maxRetries"}),
		}, {
			"missing in an item", `{"path":"servers.0","value":{"port":1}}`, `config.set: value/host is missing`,
			problem(toolfold.Problem{Path: "/value/host", Kind: toolfold.ProblemMissing}),
		}, {
			"item leaves its object incomplete", `{"path":"servers.0.port","value":1}`, `config.set: servers.0.host is missing`,
			problem(toolfold.Problem{Path: "/path", Kind: toolfold.ProblemRefused}),
		}, {
			"one item too many", `{"path":"allow.3","value":"d"}`, `config.set: allow must be at most 3 long, got 4`,
			problem(toolfold.Problem{Path: "/path", Kind: toolfold.ProblemRefused}),
		}, {
			"hole in a list", `{"path":"servers.2","value":{"host":"h"}}`, `config.set: servers.0 must be object, got null`,
			problem(toolfold.Problem{Path: "/path", Kind: toolfold.ProblemRefused}),
		}, {
			"list where an object is due", `{"path":"policy.parallel","value":true}`,
			`config.set: policy.parallel cannot be reached: policy: it is not an object`,
			problem(toolfold.Problem{Path: "/path", Kind: toolfold.ProblemRefused}),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := nestedFiles(t)
			before := `{"allow": ["a", "b", "c"], "policy": [1]}`
			write(t, files, Global, before)
			got := failure(t, call(t, files, "set", test.args))
			want := toolfold.Error{Code: toolfold.InvalidInput, Message: test.message, Hint: got.Hint, Problems: test.problems}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if after := content(t, files, Global); after != before {
				t.Errorf("the file is now %s", after)
			}
		})
	}
}

func TestSetUnknownPath(t *testing.T) {
	t.Parallel()
	for path, suggest := range map[string]string{
		"polcy": "policy", "policy.maxRetry": "policy", "count.x": "count", "allow.01": "allow", "allow.1000": "allow",
		"Level": "level", "allow.x": "allow", "zzzzzz": "", "engines..n": "engines",
	} {
		files := nestedFiles(t)
		got := failure(t, call(t, files, "set", fmt.Sprintf(`{"path":%q,"value":"1"}`, path)))
		if len(got.Problems) != 1 || got.Problems[0].Suggest != suggest || got.Problems[0].Path != "/path" {
			t.Errorf("set %s: %+v, want the suggestion %q", path, got.Problems, suggest)
		}
		if _, err := os.Stat(files.Global); err == nil {
			t.Errorf("set %s wrote a file", path)
		}
	}
}

func TestLongPathIsNotEchoed(t *testing.T) {
	t.Parallel()
	got := failure(t, call(t, tempFiles(t), "set", `{"path":"`+strings.Repeat("é", 5000)+`","value":"1"}`))
	if echo, ok := got.Problems[0].Got.(string); !ok || echo != strings.Repeat("é", 40)+"…" {
		t.Errorf("the error quotes %q", echo)
	}
}

func TestSetLocal(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	call(t, files, "set", `{"path":"listing","value":"full","scope":"local"}`)
	if got, want := content(t, files, Local), "{\n  \"listing\": \"full\"\n}\n"; got != want {
		t.Errorf("file is %q, want %q", got, want)
	}
	info, err := os.Stat(pathOf(files, Local))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode of a new file is %v, want 0600", info.Mode())
	}
	if _, err := os.Stat(files.Global); err == nil {
		t.Error("a local set wrote the global file")
	}
}

func TestSetKeepsModeAndLeavesNothing(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	write(t, files, Global, `{}`)
	if err := os.Chmod(files.Global, 0o640); err != nil {
		t.Fatal(err)
	}
	call(t, files, "set", `{"path":"listing","value":"full"}`)
	info, err := os.Stat(files.Global)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o640 {
		t.Errorf("mode is %v, want 0640", info.Mode())
	}
	entries, err := os.ReadDir(filepath.Dir(files.Global))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 || entries[1].Name() != "config.json.lock" {
		t.Errorf("the folder holds %v, want the file and its lock", entries)
	}
}

// A file in another layout keeps its layout.
func TestSetKeepsLayout(t *testing.T) {
	t.Parallel()
	for before, after := range map[string]string{
		"{ \"level\": \"low\",\n\t\"allow\": [\"a\", \"b\"] }\n": "{ \"level\": \"high\",\n\t\"allow\": [\"a\", \"b\"] }\n",
		"{\"allow\": [\"a\", \"b\"]}":                            "{\"allow\": [\"a\", \"b\"], \"level\": \"high\"}",
		"{\n  \"on\": true\n}\n":                                 "{\n  \"on\": true,\n  \"level\": \"high\"\n}\n",
		"{}":                                                     "{\n  \"level\": \"high\"\n}\n",
	} {
		files := nestedFiles(t)
		write(t, files, Global, before)
		call(t, files, "set", `{"path":"level","value":"high"}`)
		if diff := cmp.Diff(after, content(t, files, Global)); diff != "" {
			t.Error(diff)
		}
	}
}

// The meaning of a duplicate name depends on the reader, so it is rejected.
func TestSetRefusesDuplicates(t *testing.T) {
	t.Parallel()
	files := nestedFiles(t)
	const text = `{"level": "low", "on": true, "level": "low"}`
	write(t, files, Global, text)
	if got := failure(t, call(t, files, "set", `{"path":"level","value":"high"}`)); got.Message != "config.set: the global "+
		"settings file has level twice" {
		t.Errorf("answered %+v", got)
	}
	if now := content(t, files, Global); now != text {
		t.Errorf("the file is now %s", now)
	}
}

// TestSetConcurrently uses separate Files, as two servers would.
func TestSetConcurrently(t *testing.T) {
	t.Parallel()
	files := nestedFiles(t)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			in := SetIn{Path: fmt.Sprintf("engines.p%02d.n", i), Value: json.RawMessage(`1`), Scope: Local}
			if _, err := New(files, nil).Set(t.Context(), in); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	layers, err := files.Load()
	if err != nil {
		t.Fatal(err)
	}
	if got := len(layers.Merged()["engines"].(map[string]any)); got != 20 {
		t.Errorf("%d of 20 sets are in the file", got)
	}
}

func TestSetFollowsUsersLink(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	real := filepath.Join(t.TempDir(), "dotfiles.json")
	if err := os.WriteFile(real, []byte(`{"listing":"full"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(files.Global), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, files.Global); err != nil {
		t.Skip(err)
	}
	call(t, files, "set", `{"path":"listing","value":"lazy"}`)
	text, err := os.ReadFile(real)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "lazy") {
		t.Errorf("the linked file holds %s", text)
	}
	if info, err := os.Lstat(files.Global); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}

func TestLocalStaysInWorkspace(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(files.Workspace, ".toolfold")); err != nil {
		t.Skip(err)
	}
	for action, args := range map[string]string{
		"set":  `{"path":"listing","value":"lazy","scope":"local"}`,
		"show": `{"scope":"local"}`,
	} {
		got := failure(t, call(t, files, action, args))
		if got.Code != FileProblem || strings.Contains(got.Message, outside) {
			t.Errorf("%s answered %+v", action, got)
		}
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Errorf("outside the workspace there is now %v", entries)
	}
}
