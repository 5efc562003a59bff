package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/system/target"
)

func TestLayers(t *testing.T) {
	t.Parallel()
	files := nestedFiles(t)
	write(t, files, Global, `{"name": "g", "count": 1, "on": true, "policy": {"parallel": true}}`)
	write(t, files, Local, `{"name": "l", "count": 2, "policy": {"maxRetries": 9}}`)
	files.Env = map[string]any{"name": "e", "count": 3.0}
	files.Flags = map[string]any{"name": "f"}
	layers, err := files.Load()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "f", "count": 3.0, "on": true, "policy": map[string]any{"maxRetries": json.Number("9")}, "level": "low"}
	if diff := cmp.Diff(want, layers.Merged()); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{
		"name": Flag, "count": Environment, "on": Global, "policy": Local, "level": Default, "allow": Default,
	} {
		if got := layers.From(name); got != want {
			t.Errorf("%s comes from %s, want %s", name, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	write(t, files, Global, `{"worker": false, "providers": {"x": {"type": "command", "command": ["true"]}}}`)
	files.Flags = map[string]any{"store": "memory:"}
	layers, err := files.Load()
	if err != nil {
		t.Fatal(err)
	}
	got, err := layers.Options()
	if err != nil {
		t.Fatal(err)
	}
	want := Options{
		MaxBodyBytes: 4 << 20, MaxSessions: 1000, MaxConnections: 1024, MaxCalls: 256,
		DrainMs: 25_000, UpstreamMegabytes: 256, UpstreamWaitMs: 1000, InstructionTokens: 400,
		TraceCalls: true, TraceDays: 14, AuditDays: 90, TraceMegabytes: 256,
		TaskRetentionDays: 30, MaxInterruptions: 5, ScriptsConfirm: "never", MetricDays: 90, MetricPoints: 1_000_000,
		ToolMode: "consolidated", Params: "object", Tier: "extended", Fold: "family", AlwaysLoad: "discovery",
		Resources: "work", ResultLimit: callctx.DefaultRoom, Store: "memory:", MemoryScope: "workspace",
		MemoryVersions: 10, MemoryVersionDays: 30,
		Providers: map[string]json.RawMessage{"x": json.RawMessage(`{"command":["true"],"type":"command"}`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Entries without effect are reported.
func TestIgnored(t *testing.T) {
	t.Parallel()
	files := nestedFiles(t)
	write(t, files, Global, `{"polcy": {}, "a.b": 1, "secret": "mine"}`)
	write(t, files, Local, `{"policy": {"maxRetry": 1, "deep": {"x/y": 2}}, "secret": "theirs", "level": "hgih", "count": 5, "\u001b[2J": 1}`)
	layers, err := files.Load()
	if err != nil {
		t.Fatal(err)
	}
	want := []IgnoredEntry{
		{Scope: Global, Path: "a.b"},
		{Scope: Global, Path: "polcy", Suggest: "policy"},
		{Scope: Local, Path: "\x1b[2J"},
		{Scope: Local, Path: "secret", Reason: "only the user may set it"},
		{Scope: Local, Path: "level", Reason: `level must be one of low, high, got "hgih", did you mean "high"?`},
		{Scope: Local, Path: "policy.deep.x/y"},
		{Scope: Local, Path: "policy.maxRetry", Suggest: "policy.maxRetries"},
	}
	if diff := cmp.Diff(want, layers.Ignored); diff != "" {
		t.Error(diff)
	}
	if merged := layers.Merged(); merged["secret"] != "mine" || merged["level"] != "low" || merged["count"] != json.Number("5") {
		t.Errorf("applies: %v", merged)
	}
	for i, want := range map[int]string{
		0: `"a.b" (unknown)`, 1: `"polcy" (unknown, did you mean "policy"?)`, 2: `"\x1b[2J" (unknown)`, 3: `"secret" (only the user may set it)`,
	} {
		if got := layers.Ignored[i].Text(); got != want {
			t.Errorf("text is %s, want %s", got, want)
		}
	}
}

func TestManyUnknownKeys(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, `,"k%d":1`, i)
	}
	for _, scope := range []string{Global, Local} {
		write(t, files, scope, "{"+text.String()[1:]+"}")
		_, ignored, err := files.read(scope)
		if err != nil || len(ignored) != maxIgnored+1 || ignored[maxIgnored].Reason != "and 4980 more" {
			t.Errorf("%d entries, the last %+v, %v", len(ignored), ignored[len(ignored)-1], err)
		}
	}
}

// An unusable file of the user is an error; a workspace's is ignored.
func TestLoadBroken(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, reason string }{
		{"syntax", "{\n  \"level\": \"high\",\n}\n", "line 3: not valid JSON: invalid character '}' looking for beginning of object key string"},
		{"cut short", "{\n  \"level\": \"high\"\n", "line 2: not valid JSON: unexpected end of JSON input"},
		{"two values", "{}\n\n{}", "line 3: not valid JSON: invalid character '{' after top-level value"},
		{"list", "[]", "the file must hold a JSON object"},
		{"null", "null", "the file must hold a JSON object"},
		{"deep", strings.Repeat(`{"a":`, 10_100), "line 1: not valid JSON: invalid character '{' exceeded max depth"},
		{"large", strings.Repeat(" ", maxFile) + "{}", "it has more than 65536 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := nestedFiles(t)
			write(t, files, Local, test.text)
			answer := failure(t, call(t, files, "get", `{"path":"on","scope":"local"}`))
			if answer.Code != FileProblem || answer.Message != "local settings file: "+test.reason {
				t.Errorf("config.get answered %s %s", answer.Code, answer.Message)
			}
			layers, err := files.Load()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]IgnoredEntry{{Scope: Local, Reason: test.reason}}, layers.Ignored); diff != "" {
				t.Error(diff)
			}
			write(t, files, Global, test.text)
			var file *FileError
			if _, err := files.Load(); !errors.As(err, &file) || file.Scope != Global || file.Err.Error() != test.reason {
				t.Errorf("loading answered %v", err)
			}
		})
	}
}

func TestLoadInvalid(t *testing.T) {
	t.Parallel()
	files := nestedFiles(t)
	write(t, files, Global, `{"level": "hgih", "policy": {"parallel": 1}, "on": "yes"}`)
	want := `global settings file: level must be one of low, high, got "hgih", did you mean "high"?; on must be true or false; ` +
		`policy.parallel must be true or false`
	if _, err := files.Load(); err == nil || err.Error() != want {
		t.Errorf("loading answered %v", err)
	}
}

// An unreadable file is never overwritten.
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
		if got := failure(t, call(t, files, action, args)); got.Code != FileProblem ||
			got.Message != "global settings file: it is not a plain file" {
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
	if want := (Files{Global: filepath.Join(dir, "toolfold", "config.json"), Workspace: "/w"}); !cmp.Equal(want, files,
		cmp.AllowUnexported(Files{})) {
		t.Errorf("got %+v, want %+v", files, want)
	}
}

// The served host provides the values of unset settings, wherever it is named. Set values win, and
// each setting has its source.
func TestForHost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		why           string
		flags, env    map[string]any
		local, global string
		listing, from string
	}{
		{"a flag", map[string]any{"for": "eager"}, nil, "", "", "signature", "for eager"},
		{"the environment", nil, map[string]any{"for": "eager"}, "", "", "signature", "for eager"},
		{"the user's file", nil, nil, "", `{"for": "eager"}`, "signature", "for eager"},
		{"the workspace's file, which may not", nil, nil, `{"for": "eager"}`, "", "", Default},
		{"the stronger of two", map[string]any{"for": "eager"}, map[string]any{"for": "strict"}, "", "", "signature", "for eager"},
		{"a flag beside it", map[string]any{"for": "eager", "listing": "lazy"}, nil, "", "", "lazy", Flag},
		{"the environment beside it", map[string]any{"for": "eager"}, map[string]any{"listing": "lazy"}, "", "", "lazy", Environment},
		{"a file beside it", map[string]any{"for": "eager"}, nil, "", `{"listing": "lazy"}`, "lazy", Global},
		{"a workspace beside it", map[string]any{"for": "eager"}, nil, `{"listing": "lazy"}`, "", "lazy", Local},
	} {
		files := tempFiles(t)
		files.Flags, files.Env = test.flags, test.env
		write(t, files, Local, test.local)
		write(t, files, Global, test.global)
		layers, err := files.Load()
		if err != nil {
			t.Fatalf("%s: %v", test.why, err)
		}
		o, err := layers.Options()
		if err != nil || o.Listing != test.listing || layers.From("listing") != test.from {
			t.Errorf("%s: listing %q from %s, %v", test.why, o.Listing, layers.From("listing"), err)
		}
	}
}

// Every row of the table has valid settings.
func TestTargetsAreValid(t *testing.T) {
	t.Parallel()
	for _, item := range target.All {
		row := target.Find(item.Name)
		if problems := validate.Fields(Params(Settings), row.Surface.Settings()); len(problems) > 0 {
			t.Errorf("%s: %v", row.Name, problems)
		}
		if row.Why == "" || !slices.Contains(target.Kinds(), row.Kind) {
			t.Errorf("%s: why %q, kind %q", row.Name, row.Why, row.Kind)
		}
	}
	for _, host := range hosts.Hosts {
		if target.Find(host.Name) == nil {
			t.Errorf("there is no list for %s", host.Name)
		}
	}
}
