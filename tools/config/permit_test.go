package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/provider"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// samples are valid values that differ from the defaults. Every new setting needs one.
var samples = map[string]any{
	"toolMode": "legacy", "listing": "full", "strictNames": true, "params": "text", "tier": "core", "fold": "effect", "structured": true,
	"alwaysLoad": "core", "for": "codex",
	"resources": "all", "resultLimit": 9000, "store": "sqlite:///elsewhere.db", "http": "127.0.0.1:1", "testCommand": []any{"go", "test"},
	"httpTls":       map[string]any{"cert": "cert.pem", "key": "key.pem"},
	"httpLogin":     map[string]any{"issuer": "https://login.example.com"},
	"loginKeys":     []any{"${KEY}"},
	"httpTokenFile": "/token", "allowedHosts": "example.com", "maxBodyBytes": 2048, "maxSessions": 2,
	"maxConnections": 2, "maxCalls": 2, "callsPerMinute": 2, "drainMs": 2, "upstreamMegabytes": 16, "upstreamWaitMs": 2,
	"instructionTokens": 2,
	"workspaceName":     "x", "memoryNamespace": "x", "memoryScope": "user", "memoryVersions": 2, "memoryVersionDays": 2,
	"notesFolder": "x", "worker": false,
	"traceArguments": true, "traceCalls": false, "traceDays": 2, "traceMegabytes": 2, "auditDays": 2, "metricDays": 2, "taskRetentionDays": 2,
	"maxInterruptions": 2, "scriptsConfirm": "writes", "metricPoints": 2000, "defaultProvider": "x",
	"set": "x", "readOnly": true, "allow": []any{"memory.*"}, "deny": []any{"*.delete"},
	"providers":  map[string]any{"x": map[string]any{"type": "command", "command": []any{"sh"}}},
	"embeddings": map[string]any{"baseURL": "http://127.0.0.1:1/v1", "model": "x"},
	"upstreams":  map[string]any{"x": map[string]any{"command": "x", "env": map[string]any{"A": "b"}}},
	"sets":       map[string]any{"x": []any{"github", "files.read_*"}},
	"registry":   "https://example.com",
}

// byWorkspace and byClient list all settings that a cloned repository and a client may change.
// Extending them is a security decision: a setting must not refer to other hosts or files, run
// programs, grant access or prevent a start.
var (
	byWorkspace = []string{"toolMode", "listing", "params", "tier", "structured", "strictNames"}
	byClient    = []string{"toolMode", "listing", "params", "tier"}
)

// inWorkspace adds the settings that a workspace's file may restrict.
var inWorkspace = append([]string{"readOnly", "deny"}, byWorkspace...)

func TestSettingsByCaller(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(byWorkspace, names(Settings, Workspace)); diff != "" {
		t.Errorf("a workspace may set: %s", diff)
	}
	if diff := cmp.Diff(byClient, names(Settings, Client)); diff != "" {
		t.Errorf("a client may set: %s", diff)
	}
	if names(append(Settings, Setting{Field: toolfold.Bool{Name: "new"}}), Workspace)[len(byWorkspace)-1] == "new" {
		t.Error("a setting that does not say who may set it is open to others than the user")
	}
}

// TestSources tries every setting from every source and for every caller.
func TestSources(t *testing.T) {
	t.Parallel()
	user, client := ByUser(t.Context()), t.Context()
	type try struct {
		from    string
		allowed []string // nil = every setting
		set     func(files *Files, name string) error
	}
	file := func(scope string) func(*Files, string) error {
		return func(files *Files, name string) error {
			write(t, *files, scope, string(ordered.MustJSON(map[string]any{name: samples[name]})))
			return nil
		}
	}
	action := func(ctx context.Context, scope string) func(*Files, string) error {
		return func(files *Files, name string) error {
			if name == provider.DefaultSetting { // it must be one of the providers
				files.Env = map[string]any{provider.ProvidersSetting: map[string]any{"x": map[string]any{"type": "sampling"}}}
			}
			_, err := New(*files, nil).Set(ctx, SetIn{Path: name, Value: ordered.MustJSON(samples[name]), Scope: scope})
			return err
		}
	}
	for name, test := range map[string]try{
		"flag":        {Flag, nil, func(f *Files, name string) error { f.Flags = map[string]any{name: samples[name]}; return nil }},
		"environment": {Environment, nil, func(f *Files, name string) error { f.Env = map[string]any{name: samples[name]}; return nil }},
		"user's file": {Global, nil, file(Global)}, "workspace's file": {Local, inWorkspace, file(Local)},
		"shell, global": {Global, nil, action(user, Global)}, "shell, local": {Local, inWorkspace, action(user, Local)},
		"client, global": {Global, byClient, action(client, Global)}, "client, local": {Local, byWorkspace, action(client, Local)},
	} {
		for _, p := range Params(Settings) {
			t.Run(name+" "+p.Name, func(t *testing.T) {
				t.Parallel()
				if samples[p.Name] == nil {
					t.Fatalf("no sample of %s", p.Name)
				}
				files := tempFiles(t)
				err := test.set(&files, p.Name)
				allowed := test.allowed == nil || strings.Contains(" "+strings.Join(test.allowed, " ")+" ", " "+p.Name+" ")
				var refusal *toolfold.Error
				if err != nil && (!errors.As(err, &refusal) || refusal.Code != toolfold.PermissionDenied ||
					!strings.Contains(refusal.Hint, "ask the user")) {
					t.Errorf("refused with %v", err)
				}
				layers, err := files.Load()
				if err != nil {
					t.Fatal(err)
				}
				want := test.from
				if !allowed {
					want = Default
				}
				applies := string(ordered.MustJSON(layers.Merged()[p.Name])) == string(ordered.MustJSON(samples[p.Name]))
				if layers.From(p.Name) != want || applies != allowed {
					t.Errorf("comes from %s, want %s; the value applies: %v, want %v", layers.From(p.Name), want, applies, allowed)
				}
				if _, err := os.Stat(pathOf(files, test.from)); refusal != nil && err == nil {
					t.Error("a refused call wrote a file")
				}
			})
		}
	}
}

// No source, not even a flag, undoes the restriction of another.
func TestNarrowing(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	write(t, files, Global, `{"readOnly": true, "deny": ["memory.clear"], "allow": ["memory", "task"]}`)
	write(t, files, Local, `{"readOnly": false, "deny": ["task.cancel"], "allow": ["config"]}`)
	for flags, want := range map[string]string{
		`{}`:                               "true [memory task] [memory.clear task.cancel]",
		`{"readOnly":false}`:               "true [memory task] [memory.clear task.cancel]",
		`{"deny":[],"allow":["session"]}`:  "true [session] [memory.clear task.cancel]",
		`{"deny":["task.cancel","queue"]}`: "true [memory task] [memory.clear task.cancel queue]",
	} {
		if err := json.Unmarshal([]byte(flags), &files.Flags); err != nil {
			t.Fatal(err)
		}
		layers, err := files.Load()
		if err != nil {
			t.Fatal(err)
		}
		o, err := layers.Options()
		if got := fmt.Sprint(o.ReadOnly, o.Allow, o.Deny); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", flags, got, err, want)
		}
		if len(layers.Ignored) != 1 || layers.Ignored[0].Path != "allow" {
			t.Errorf("left out: %v", layers.Ignored)
		}
		files.Flags = nil
	}
}

// Parts of a setting are as protected as the whole setting.
func TestPartsAreProtected(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{Global, Local} {
		got := failure(t, call(t, tempFiles(t), "set", fmt.Sprintf(`{"path":"providers.x.command.0","value":"sh","scope":%q}`, scope)))
		if got.Code != toolfold.PermissionDenied {
			t.Errorf("%s: %+v", scope, got)
		}
	}
}

// Options has exactly the declared settings, with matching types: the same comparison as for
// families.
func TestOptionsMatchSettings(t *testing.T) {
	t.Parallel()
	type service struct{}
	var fields toolfold.Fields
	for _, s := range Settings {
		if p := s.Param(); p.Values != nil {
			fields = append(fields, toolfold.Object{Name: p.Name, Doc: p.Doc}) // decoded by its reader
		} else {
			fields = append(fields, s)
		}
	}
	family := toolfold.Family{
		Name: "options", Summary: "Options", Category: "settings", Tier: toolfold.Core,
		Actions: []*toolfold.Action{{
			Name: "load", Summary: "Load.", Optional: fields, Effect: toolfold.Reads, Example: `{}`,
			Run: toolfold.Method(func(service, context.Context, Options) (out struct {
				OK bool `json:"ok" doc:"Always true."`
			}, err error) {
				return out, nil
			}),
		}},
	}
	if err := family.Validate(); err != nil {
		t.Error(err)
	}
}

// config.set rejects values that would prevent the next start, and allows fixing a file value by
// value.
func TestSetRejectsValuesThatPreventAStart(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	files.Check = func(o Options) error {
		if host, _, err := net.SplitHostPort(o.HTTP); o.HTTP != "" && (err != nil || host != "127.0.0.1" && o.HTTPTokenFile == "") {
			return errors.New("http needs a token")
		}
		return nil
	}
	set := func(path, value string) error {
		_, err := New(files, nil).Set(ByUser(t.Context()), SetIn{Path: path, Value: ordered.MustJSON(value), Scope: Global})
		return err
	}
	if err := set("http", "0.0.0.0:80"); err == nil || !strings.Contains(err.Error(), "could not start with that: http needs a token") {
		t.Errorf("answered %v", err)
	}
	if _, err := os.Stat(files.Global); err == nil {
		t.Error("it is in the file")
	}
	for _, step := range [][2]string{{"httpTokenFile", "/token"}, {"http", "0.0.0.0:80"}} {
		if err := set(step[0], step[1]); err != nil {
			t.Error(err)
		}
	}
	write(t, files, Global, `{"http": "0.0.0.0:80"}`)
	if err := set("listing", "full"); err != nil {
		t.Errorf("another setting beside the fault: %v", err)
	}
	if err := set("http", "nonsense"); err != nil {
		t.Errorf("the same fault in other words: %v", err)
	}
}

// A call that waits for another process ends with its context.
func TestSetEndsWithContext(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	held := make(chan struct{})
	go func() {
		_ = files.update(t.Context(), Global, func(text []byte) ([]byte, error) {
			held <- struct{}{}
			<-held
			return []byte("{}"), nil
		})
		close(held)
	}()
	<-held
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := New(files, nil).Set(ctx, SetIn{Path: "listing", Value: []byte(`"full"`), Scope: Local}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("answered %v", err)
	}
	held <- struct{}{}
	<-held
}

// A workspace's file changes the settings of Trusted only while the user trusts the workspace.
// Calls of clients never write them there.
func TestTrustedWorkspacesSetTheTestCommand(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	trusted := false
	files.Trusted = func() bool { return trusted }
	write(t, files, Local, `{"testCommand": ["make", "test"], "providers": {}, "strictNames": true}`)
	for _, trusted = range []bool{false, true, false} {
		layers, err := files.Load()
		if err != nil {
			t.Fatal(err)
		}
		o, err := layers.Options()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(o.TestCommand, " "); (got == "make test") != trusted || !o.StrictNames {
			t.Errorf("trusted %v: test command %q, strictNames %v", trusted, got, o.StrictNames)
		}
		if layers.From("providers") != Default {
			t.Errorf("trusted %v: the workspace set providers", trusted)
		}
	}
	trusted = true
	for name, ctx := range map[string]context.Context{"client": t.Context(), "user": ByUser(t.Context())} {
		_, err := New(files, nil).Set(ctx, SetIn{Path: "testCommand", Value: []byte(`["rm"]`), Scope: Local})
		var refusal *toolfold.Error
		if !errors.As(err, &refusal) || refusal.Code != toolfold.PermissionDenied {
			t.Errorf("%s: %v", name, err)
		}
	}
}
