package offer_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/app/offer"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/ability"
	"github.com/toolfold/toolfold/tools/config"
)

var quiet = slog.New(slog.DiscardHandler)

const workspaceName = "example"

// bench is the application with a workspace of workflows.
type bench struct {
	*testing.T
	offer.Offer
	surface *surface.Surface
	store   *storage.LazyDB
	trusted bool
}

func newBench(t *testing.T, o surface.Options) *bench {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, ".toolfold", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.Log = quiet
	b := &bench{T: t, surface: surface.New(o), store: storage.Lazy("memory:"), trusted: true}
	t.Cleanup(func() { b.store.Close() })
	host := app.Host{
		Open: b.store.Open, Files: config.Files{Global: dir + "/config.json", Workspace: dir}, Caller: b.surface.Runner,
		Discovery: b.surface.Discovery, Log: quiet, Now: time.Now, NewID: uuid.NewString, Trusted: func() bool { return b.trusted },
		WorkspaceName: workspaceName,
	}
	families, err := app.Mount(host)
	if err == nil {
		err = b.surface.Put(families...)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.Offer = offer.Offer{Caller: b.surface.Runner, Discovery: b.surface.Discovery, Workflows: host.Workflows(), Memory: true,
		Stored: host.Stored, OwnNotes: host.OwnNotes}
	b.Abilities = func(ctx context.Context) (*ability.Service, error) { return host.Abilities(ctx, true) }
	b.Scripts = host.Scripts
	return b
}

const counts = `steps: [{stepId: count, type: tool, config: {tool: memory.list, arguments: {limit: 1}}}]` + "\n"

// files are the files of the folder .toolfold.
var files = map[string]string{
	"scripts/count_notes.js": "/*---\ndescription: 'Counts notes: all of them'\n" +
		"inputSchema: {type: object, properties: {prefix: {type: string}}}\n---*/\nreturn (await memory.list({prefix: input.prefix})).total",
	"scripts/plain.js":     "return 1 // without a description, no skill",
	"scripts/style.js":     "/*---\ndescription: Has the name of an ability\n---*/\nreturn 2",
	"workflows/plain.yaml": "name: Count notes\ndescription: Counts what is there.\n" + counts,
	"workflows/Pick One.yaml": "name: Pick\n" +
		"inputSchema: {type: object, properties: {kind: {enum: [red, green]}, n: {type: integer}}, required: [kind]}\n" + counts,
	"workflows/pick-one.yaml": "name: Pick again\n" +
		"inputSchema: {type: object, properties: {n: {type: integer, description: How many.}}}\n" + counts,
	"workflows/several.yaml": "name: Several\n" +
		"inputSchema: {type: object, properties: {a: {type: string}, b: {type: string}}, required: [a, b]}\n" + counts,
	"workflows/inactive.yaml":  "name: Resting\nstatus: inactive\n" + counts,
	"workflows/broken.yaml":    "name: [\n",
	"workflows/yes-or-no.yaml": "name: Decide\ninputSchema: {type: object, properties: {sure: {type: boolean}}, required: [sure]}\n" + counts,
	"workflows/whole.yaml": "name: Whole\nstatus: active\n" +
		"steps: [{stepId: all, type: tool, config: {tool: memory.get, arguments: {key: long}}}]\n",
	"workflows/with-default.yaml": "name: Free\ninputSchema: {type: object, properties: {x: {type: [string, number]}}}\n" + counts,

	"abilities/style.md":            "---\ndescription: \"How: to write\"\n---\nWrite plainly.\n",
	"abilities/off.md":              "---\nenabled: false\n---\nNever.\n",
	"abilities/deploy/SKILL.md":     "---\nname: deploy\ndescription: Deploys.\nlicense: MIT\nmetadata: {n: 1}\n---\n\nSee ref/steps.md.\n",
	"abilities/deploy/ref/steps.md": "One, two.\n",
	"abilities/deploy/logo.bin":     "\xff\x00\x01",
	"abilities/deploy/.hidden":      "no",
	"abilities/other-name/SKILL.md": "---\nname: another\ndescription: Is refused.\n---\n",
	"abilities/no-skill/README.md":  "This is none.\n",
}

// call calls an action as a client does. It must succeed.
func (b *bench) call(name, args string) toolfold.Answer {
	b.Helper()
	answer := b.surface.Client.Call(b.Context(), name, json.RawMessage(args))
	if answer.IsError() {
		b.Fatalf("%s %s: %s", name, args, answer.Content)
	}
	return answer
}

// under returns the context of a caller without the rights in deny.
func under(t *testing.T, deny ...string) context.Context {
	t.Helper()
	return callctx.With(t.Context(), toolfold.Origin{Rights: permission.Rules{Deny: deny}.Rights()})
}

// Every active workflow is a prompt whose name works as a command. With its declared arguments, its
// text is a call that runs.
func TestPrompts(t *testing.T) {
	t.Parallel()
	for _, mode := range surface.Modes() {
		b := newBench(t, surface.Options{Mode: mode})
		b.call("memory.store", `{"key":"long","value":{"x":1}}`)
		prompts, err := b.Prompts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range prompts {
			names = append(names, p.Name)
			if p.Title != "" || len(p.Arguments) > 1 || strings.Trim(p.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
				t.Errorf("%s does not work as a command everywhere: %+v", p.Name, p)
			}
			b.checkPrompt(p)
		}
		want := []string{"run-pick-one", "run-pick-one-2", "run-plain", "run-several", "run-whole", "run-with-default", "run-yes-or-no"}
		if !slices.Equal(names, want) {
			t.Errorf("the prompts are %q, want %q", names, want)
		}
		for why, ctx := range map[string]context.Context{"running": under(t, "workflow.run"), "anything": under(t, "*")} {
			if prompts, err := b.Prompts(ctx); err != nil || len(prompts) > 0 {
				t.Errorf("who may not call %s has %d prompts, %v", why, len(prompts), err)
			}
		}
		b.trusted = false
		if prompts, err := b.Prompts(t.Context()); err != nil || len(prompts) > 0 {
			t.Errorf("a workspace that is not trusted has %d prompts, %v", len(prompts), err)
		}
	}
}

// checkPrompt gets a prompt with values of its completion, or other values, and runs the call in
// it.
func (b *bench) checkPrompt(p serve.Prompt) {
	b.Helper()
	arguments := map[string]string{}
	for _, a := range p.Arguments {
		arguments[a.Name] = `{"a":"1","b":"2"}`
		if a.Name == "n" {
			arguments[a.Name] = "7"
		}
		if a.Complete != nil {
			values, err := a.Complete(b.Context(), "", nil)
			if err != nil || len(values) != 2 {
				b.Fatalf("%s completes %s by %q, %v", p.Name, a.Name, values, err)
			}
			arguments[a.Name] = values[1]
			if few, _ := a.Complete(b.Context(), values[1][:1], nil); len(few) != 1 {
				b.Errorf("%s completes %s from %.1s by %q", p.Name, a.Name, values[1], few)
			}
		} else if a.Required && a.Name != "input" {
			b.Errorf("%s has no values for %s", p.Name, a.Name)
		}
	}
	messages, err := p.Get(b.Context(), arguments)
	if err != nil || len(messages) != 1 {
		b.Fatalf("%s: %v %v", p.Name, messages, err)
	}
	raw, _ := json.Marshal(messages[0].Content)
	var block struct{ Text string }
	if err := json.Unmarshal(raw, &block); err != nil {
		b.Fatal(err)
	}
	_, call, ok := strings.Cut(block.Text, "\nCall ")
	tool, args, _ := strings.Cut(call, " ")
	if !ok {
		b.Fatalf("%s names no call: %s", p.Name, block.Text)
	}
	if answer := b.call(tool, args); !strings.Contains(string(answer.Content), `"success":true`) {
		b.Errorf("%s, %s: %s", p.Name, call, answer.Content)
	}
}

// If the input is words instead of an object, the model gets the words and the schema.
func TestPromptInWords(t *testing.T) {
	t.Parallel()
	b := newBench(t, surface.Options{})
	prompts, err := b.Prompts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := prompts[slices.IndexFunc(prompts, func(p serve.Prompt) bool { return p.Name == "run-several" })]
	messages, err := p.Get(t.Context(), map[string]string{"input": "one and two"})
	raw, _ := json.Marshal(messages)
	if err != nil || !strings.Contains(string(raw), `one and two`) || !strings.Contains(string(raw), `required`) {
		t.Errorf("it says %s, %v", raw, err)
	}
}

// shown counts the resources in lists.
func shown(resources []serve.Resource) (n int) {
	for _, x := range resources {
		if !x.Hidden {
			n++
		}
	}
	return n
}

// Everything that is listed can be read by callers of the underlying action, and by nobody else.
func TestResources(t *testing.T) {
	t.Parallel()
	b := newBench(t, surface.Options{ResultLimit: 4000})
	b.call("design.schema", `{"name":"user","fields":[{"name":"id","type":"string"}]}`)
	b.call("design.architecture", `{"name":"shop","description":"A shop.","pattern":"layered",`+
		`"components":[{"id":"web","name":"web","type":"service"}]}`)
	for _, key := range []string{"plain", "a/b c?#%é", "host:/a@b&c=d+e;f,g$h", `quo"te`} {
		args, _ := json.Marshal(map[string]any{"key": key, "namespace": "team x/y", "value": map[string]string{"is": key}})
		b.call("memory.store", string(args))
	}
	b.finish(`{"name":"counted","input":{"tool":"memory.list","arguments":{"limit":1}}}`)

	resources, err := b.Resources(t.Context())
	if err != nil || shown(resources) != 4 {
		t.Fatalf("%d resources, %v", shown(resources), err)
	}
	for uri, want := range map[string]bool{ // of this version, of earlier ones, and of another workspace
		"example/team%20x%2Fy": true, "team%20x%2Fy": true, "other/team%20x%2Fy": false,
	} {
		if text, err := b.read("toolfold://memory/" + uri + "/plain"); (err == nil) != want || want && text != `{"is":"plain"}` {
			t.Errorf("%s: %s %v", uri, text, err)
		}
	}
	read := 0
	for _, x := range resources {
		if x.List == nil {
			continue
		}
		links, err := x.List(t.Context())
		if err != nil || len(links) == 0 || len(links) > 15 {
			t.Errorf("%s lists %d, %v", x.URI, len(links), err)
		}
		for _, l := range links {
			text, err := b.read(l.URI)
			if err != nil || text == "" {
				t.Errorf("%s is listed, but: %s %v", l.URI, text, err)
			}
			if l.MIME == "application/json" && !json.Valid([]byte(text)) {
				t.Errorf("%s is no JSON: %s", l.URI, text)
			}
			read++
		}
	}
	if read != 7 {
		t.Errorf("%d of 7 were listed", read)
	}
	if got, err := resources[2].Complete["namespace"](t.Context(), "te", nil); err != nil || !slices.Equal(got, []string{"team x/y"}) {
		t.Errorf("te is completed to the namespaces %q, %v", got, err)
	}
	if got, err := resources[2].Complete["namespace"](under(t, "memory.stats"), "te", nil); err != nil || len(got) > 0 {
		t.Errorf("who may not count entries is told the namespaces %q, %v", got, err)
	}
	b.checkCut()
	for deny, gone := range map[string]string{
		"design.*": "designs", "task.status": "tasks", "memory.get": "memory", "tools.rest": "answers",
	} {
		resources, err := b.Resources(under(t, deny))
		still := slices.ContainsFunc(resources, func(x serve.Resource) bool { return strings.Contains(x.URI, gone) })
		if err != nil || shown(resources) != 3 || still {
			t.Errorf("who may not call %s has %d resources, %v", deny, shown(resources), err)
		}
	}
	resources, _ = b.Resources(under(t, "memory.list"))
	for _, x := range resources {
		if strings.Contains(x.URI, "memory") && (x.List != nil || x.Complete != nil) {
			t.Error("who may not list notes is listed them")
		}
	}
	b.Memory = false
	if resources, _ := b.Resources(t.Context()); len(resources) != 3 {
		t.Errorf("without notes there are %d resources", len(resources))
	}
	b.Memory, b.HasStore = true, func() bool { return false }
	resources, _ = b.Resources(t.Context())
	if slices.ContainsFunc(resources, func(x serve.Resource) bool { return x.List != nil }) {
		t.Error("a store that holds nothing is opened to list it")
	}
}

// Enabled abilities are skills. All their files can be read and match the digests. In an untrusted
// workspace only registered abilities are skills.
func TestSkills(t *testing.T) {
	t.Parallel()
	b := newBench(t, surface.Options{})
	b.call("ability.register", `{"abilityId":"go-errors","content":"Wrap errors with %w.","description":"Errors\nin Go"}`)
	b.call("ability.register", `{"abilityId":"null","content":"A name that YAML would not take for a text."}`)
	b.call("ability.register", `{"abilityId":"a--b","content":"Its id is no name of a skill."}`)
	server, err := serve.New(serve.Options{Surface: b.surface, Log: quiet, Skills: b.Skills})
	if err != nil {
		t.Fatal(err)
	}
	checkSkills(t, server, "count-notes", "deploy", "go-errors", "null", "style")
	skills, err := b.Skills(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := string(skills[0].Files[0].Data)
	for _, want := range []string{
		"name: count-notes\ndescription: \"Counts notes: all of them\"\n---\n", `The script count_notes.js does this`,
		`script {"action":"run","params":{"name":"count_notes"}}`, `{"properties":{"prefix":{"type":"string"}},"type":"object"}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
	if skills, err := b.Skills(under(t, "script.run")); err != nil || len(skills) != 4 {
		t.Errorf("who may not run scripts has %d skills, %v", len(skills), err)
	}
	var list struct {
		Broken []struct{ File, Reason string }
	}
	if err := json.Unmarshal(b.call("ability.list", `{}`).Content, &list); err != nil || len(list.Broken) != 1 ||
		list.Broken[0].File != ".toolfold/abilities/other-name/SKILL.md" || !strings.Contains(list.Broken[0].Reason, `"other-name"`) {
		t.Errorf("broken are %+v, %v", list.Broken, err)
	}
	if answer := b.call("ability.get", `{"abilityId":"deploy"}`); !strings.Contains(string(answer.Content), "See ref/steps.md.") {
		t.Errorf("a folder with SKILL.md is no ability: %s", answer.Content)
	}
	b.trusted = false
	checkSkills(t, server, "go-errors", "null")
	if skills, err := b.Skills(under(t, "ability.get")); err != nil || len(skills) > 0 {
		t.Errorf("who may not read abilities has %d skills, %v", len(skills), err)
	}
}

// checkSkills checks that a server has these skills.
func checkSkills(t *testing.T, s *serve.Server, want ...string) {
	t.Helper()
	ask := func(method, uri string, result any) {
		t.Helper()
		line, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": map[string]string{"uri": uri}})
		answer := mcptest.Stdio(t, s, string(line))[0]
		if err := json.Unmarshal([]byte(answer), &struct{ Result any }{result}); err != nil || strings.Contains(answer, `"error"`) {
			t.Fatalf("%s %s: %v %s", method, uri, err, answer)
		}
	}
	var list struct {
		Skills []struct {
			URI         string
			Frontmatter map[string]any
			Resources   []struct {
				URI, Digest string
				Size        int
			}
		}
	}
	ask("skills/list", "", &list)
	var names []string
	for _, skill := range list.Skills {
		name, _ := skill.Frontmatter["name"].(string)
		names = append(names, name)
		if skill.URI != "skill://"+name+"/SKILL.md" || skill.Frontmatter["description"] == "" {
			t.Errorf("%s has the front matter %v", skill.URI, skill.Frontmatter)
		}
		for _, file := range skill.Resources {
			var read struct {
				Contents []struct {
					Text string
					Blob []byte
				}
			}
			ask("resources/read", file.URI, &read)
			data := append(read.Contents[0].Blob, read.Contents[0].Text...)
			if sum := sha256.Sum256(data); file.Digest != "sha256:"+hex.EncodeToString(sum[:]) || file.Size != len(data) {
				t.Errorf("%s has %d bytes that are not those of its digest", file.URI, len(data))
			}
		}
		if name == "deploy" && len(skill.Resources) != 3 {
			t.Errorf("deploy has the files %v", skill.Resources)
		}
		var folder struct {
			Resources []struct{ URI, MimeType string }
		}
		ask("resources/directory/read", "skill://"+name, &folder)
		if name == "deploy" && (len(folder.Resources) != 3 || folder.Resources[0].MimeType != "inode/directory") {
			t.Errorf("the folder of deploy has %v", folder.Resources)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("the skills are %q, want %q", names, want)
	}
}

// checkCut checks that a truncated answer can be read as a resource.
func (b *bench) checkCut() {
	b.Helper()
	big, _ := json.Marshal(map[string]any{"key": "long", "value": map[string]string{"text": strings.Repeat("long ", 2000)}})
	b.call("memory.store", string(big))
	answer := b.call("workflow.run", `{"workflowId":"plain"}`)
	if answer.RestID != "" {
		b.Error("a short answer is kept")
	}
	for action, arguments := range map[string]string{"workflow.run": `{"workflowId":"whole"}`, "memory.get": `{"key":"long"}`} {
		answer = b.call(action, arguments)
		text, err := b.read(offer.AnswerLink(answer.RestID).URI)
		if err != nil || !strings.Contains(text, strings.Repeat("long ", 2000)) {
			b.Errorf("%s: an answer of %d bytes, kept as %q, is read as %.200s, %v", action, len(answer.Content), answer.RestID, text, err)
		}
	}
	if _, err := b.read(offer.AnswerLink("nope").URI); err == nil {
		b.Error("an answer that is not kept is read")
	}
}

// finish runs a task to its end.
func (b *bench) finish(submit string) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	open := func(ctx context.Context) (queue.Ledger, *queue.Jobs, error) {
		db, err := b.store.Open(ctx)
		if err != nil {
			return nil, nil, err
		}
		return db.Work()
	}
	go func() {
		ended <- queue.New(open, b.surface.Runner, queue.Options{
			Workspace: workspaceName, Tick: 20 * time.Millisecond, Grace: time.Second,
		}).Work(ctx)
	}()
	defer func() { stop(); <-ended }()
	var task struct{ TaskID string }
	if err := json.Unmarshal(b.call("task.submit", submit).Content, &task); err != nil {
		b.Fatal(err)
	}
	b.call("task.wait", `{"taskId":"`+task.TaskID+`","timeoutMs":50000}`)
}

// read reads a resource as a client does.
func (b *bench) read(uri string) (string, error) {
	b.Helper()
	s, err := serve.New(serve.Options{Surface: b.surface, Log: quiet, Resources: b.Resources})
	if err != nil {
		b.Fatal(err)
	}
	request, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": map[string]string{"uri": uri}})
	var answer struct {
		Result struct{ Contents []struct{ Text string } }
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal([]byte(mcptest.Stdio(b.T, s, string(request))[0]), &answer); err != nil {
		b.Fatal(err)
	}
	if answer.Error != nil {
		return "", errors.New(answer.Error.Message)
	}
	return answer.Result.Contents[0].Text, nil
}
