//go:build unix

package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/test/pages"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/internal/text/notefile"
)

// example is a fenced block of a page. The word after its language selects its reader.
type example struct {
	page, info, text string
	line             int
}

// examples returns the fenced blocks of all pages for users.
func examples(t *testing.T) (found []example) {
	t.Helper()
	for page, text := range pages.Read(t, "../..") {
		found = append(found, fenced(page, text)...)
	}
	return found
}

func fenced(page, text string) (found []example) {
	open, number := false, 0
	for line := range strings.Lines(text) {
		number++
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !open:
			open, found = true, append(found, example{page: page, line: number, info: strings.TrimSpace(info)})
		case fence:
			open = false
		case open:
			found[len(found)-1].text += line
		}
	}
	return found
}

// notRun maps examples that this test does not run to the reason, by page, command or words after the
// fence.
func notRun() map[string]string {
	return map[string]string{
		"go test ./...":                         "it runs this test",
		"e2e/README.md":                         "the gate runs its commands",
		"docs/first-hour.md":                    "TestFirstHour runs it",
		"toolfold page":                         "it opens a browser and runs until Ctrl-C; TestPageApprovesAndSwitches runs it",
		"toolfold upstream login github":        "it opens a browser; tests of upstream hold it",
		"toolfold secret set github-token":      "it needs a keyring; TestGnomeKeyring has one",
		"toolfold secret remove github-token":   "it needs a keyring; TestGnomeKeyring has one",
		"toolfold upstream search forge issues": "it asks a registry; TestRegistry has one",
		"toolfold upstream add --from-registry io.github.owner/server": "it asks a registry; TestRegistry has one",
		"toolfold upstream add forge --from-registry io.github.owner/server@1.2.0 --package npm --env 'FORGE_TOKEN=${FORGE_TOKEN}' --yes": "" +
			"it asks a registry; TestRegistry has one",
		"go install -trimpath -ldflags='-s -w' ./cmd/toolfold":                            "it would write into the user's folder of programs",
		"toolfold script run --id 00000000-0000-4000-8000-000000000001 --outcome 17=done": "TestScriptRunGoesOn goes on with a run",
		"text docker":  "TestDeploy checks the files that these commands use",
		"text import":  "the rows are those of servers of npm; testdata/script/importsets.txtar has some of a test",
		"text rows":    "the rows are those of servers of npm; testdata/script/importsets.txtar has some of a test",
		"text run":     "the run is one of TestScriptGoesOn and TestScriptStopsAtUnknown",
		"text failure": "TestScriptAnswers, TestScriptStopsAtUnknown and TestMistakesAreFoundFirst have such answers",
		"yaml rights":  "TestDocumentedRights of package issuer reads them",
		"text drawing": "internal/test/arrows holds what it draws",
	}
}

// TestPages runs the examples of the README and of every page. Examples of one page share a machine,
// set up from testdata/pages.txtar.
func TestPages(t *testing.T) {
	t.Parallel()
	files, err := txtar.ParseFile("testdata/pages.txtar")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string][]example{}
	for _, e := range examples(t) {
		pages[e.page] = append(pages[e.page], e)
	}
	reader := &pageReader{left: notRun()}
	for page, list := range pages {
		if _, ok := notRun()[page]; ok {
			delete(reader.left, page)
			continue
		}
		reader.sandbox, reader.url, reader.result = newSandbox(t), "", nil
		for _, f := range files.Files {
			reader.write(t, reader.place(f.Name), string(f.Data))
		}
		for _, program := range []string{"HOME/bin/npx", "server"} {
			if err := os.Chmod(reader.place(program), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range list {
			reader.read(t, e)
		}
	}
	for what, reason := range reader.left {
		t.Errorf("no page has %q, which is not run: %s", what, reason)
	}
}

// pageReader runs examples.
type pageReader struct {
	sandbox
	left   map[string]string // notRun examples that were not found yet
	url    string            // of a server in place of other people's; empty until needed
	result any               // of the last request
}

// place returns the path of a file of the workspace, or of HOME.
func (r *pageReader) place(name string) string {
	if rest, ok := strings.CutPrefix(name, "HOME/"); ok {
		return filepath.Join(r.home, rest)
	}
	return filepath.Join(r.workspace, name)
}

func (r *pageReader) read(t *testing.T, e example) {
	t.Helper()
	if _, ok := notRun()[e.info]; ok {
		delete(r.left, e.info)
		return
	}
	_, words, _ := strings.Cut(e.info, " ")
	kind, tool, _ := strings.Cut(words, " ")
	var err error
	switch host := hosts.Find(kind); {
	case host != nil:
		err = connects(host, e.text)
	case e.info == "sh":
		err = r.shell(t, e.text)
	case e.info == "go":
		err = isPartOf("../../examples/notes/main.go", e.text)
	case kind == "whole", kind == "part":
		err = isSource(tool, e.text, kind == "whole")
	case kind == "arguments":
		err = r.arguments(t, tool, e.text)
	case kind == "note":
		_, err = notefile.Decode("x.md", []byte(e.text))
	case kind == "calls":
		err = eachLine(e.text, func(line string) error { return r.call(t, line) })
	case kind == "moves":
		before, after, _ := strings.Cut(e.text, "\n")
		err = r.prints(t, after, before, "migrate", "call")
	case kind == "settings":
		r.write(t, r.place("HOME/config/toolfold/config.json"), e.text)
		err = r.prints(t, "", "", "tools")
	case kind == "tokens":
		r.write(t, r.place("tokens"), e.text)
		err = eachLine(e.text, func(line string) error {
			name, _, _ := strings.Cut(line, " ")
			return r.prints(t, name, "", "token", "list", "--http-token-file", "tokens")
		})
	case e.info == "yaml":
		err = r.file(t, e.text)
	case kind == "steps":
		err = r.workflow(t, "workflowId: a\nname: A\nsteps:\n"+e.text)
	case kind == "policy":
		r.write(t, r.place(".toolfold/policies/a.yaml"), e.text)
		err = r.prints(t, `"policyId":"api-only"`, "", "call", "guard.list", "--trust")
	case kind == "stored":
		r.write(t, r.place(".toolfold/scripts/a.js"), e.text)
		err = r.prints(t, `"inputSchema":{`, "", "call", "script.show", `{"name": "a"}`, "--trust")
	case kind == "announced":
		request := `{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`
		if err = r.request(t, request); err == nil {
			err = fits("", map[string]any{"capabilities": map[string]any{"extensions": pattern(e.text)}}, r.result)
		}
	case kind == "request":
		err = r.request(t, e.text)
	case kind == "answer":
		err = fits("", pattern(e.text), r.result)
	case kind == "tree":
		err = eachLine(e.text, isThere)
	default:
		err = fmt.Errorf("nothing reads ```%s: name a reader behind the language, or in notRun why there is none", e.info)
	}
	if err != nil {
		t.Errorf("%s:%d: %v", e.page, e.line, err)
	}
}

func eachLine(text string, do func(string) error) error {
	for line := range strings.Lines(text) {
		if err := do(strings.TrimSuffix(line, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// connects checks that serve accepts the entry of a client's file.
func connects(h *hosts.Host, text string) error {
	entry := h.Entry([]byte(text))
	if h.Path == nil && h.Syntax() == "yaml" { // setup prints this format but does not read it
		var file struct {
			MCPServers []struct {
				Name, Command string
				Args          []string
			} `yaml:"mcpServers"`
		}
		if err := yaml.Unmarshal([]byte(text), &file); err != nil || len(file.MCPServers) != 1 {
			return fmt.Errorf("%s has %+v: %w", h.Title, file, err)
		}
		entry.Command = append([]string{file.MCPServers[0].Command}, file.MCPServers[0].Args...)
	}
	switch words := entry.Command; {
	case entry.Problem != "" || entry.Off:
		return fmt.Errorf("%s cannot start it: %+v", h.Title, entry)
	case entry.URL != "":
		return nil
	case len(words) < 2 || words[0] != "toolfold" || words[1] != "serve":
		return fmt.Errorf("%s reads the command %q", h.Title, words)
	default:
		return settings.RefusedByServe(env.New(), words[2:])
	}
}

// isPartOf checks that every line of a text is in a file. Text after // belongs to the page.
func isPartOf(path, text string) error {
	whole, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return eachLine(text, func(line string) error {
		code, _, _ := strings.Cut(line, " //")
		if !strings.Contains(string(whole), code) {
			return fmt.Errorf("%s has no line %q", path, code)
		}
		return nil
	})
}

// isSource checks that a text is in a file of the repository, which tests compile: the whole file, or
// consecutive lines of it.
func isSource(path, text string, whole bool) error {
	source, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		return err
	}
	if whole && string(source) != text || !strings.Contains(string(source), text) {
		return fmt.Errorf("the text is not that of %s", path)
	}
	return nil
}

// isThere checks that the files in the first column of a tree exist.
func isThere(line string) error {
	name, _, _ := strings.Cut(line, " ")
	found, err := filepath.Glob(filepath.Join("../..", strings.ReplaceAll(name, "<family>", "*")))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there is no %s", name)
	}
	return err
}

// prints runs toolfold, and checks that its output contains a text.
func (r *pageReader) prints(t *testing.T, want, input string, args ...string) error {
	t.Helper()
	cmd := r.command(t, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), want) {
		return fmt.Errorf("toolfold %q: %v\n%s\nwant %s", args, err, out, want)
	}
	return nil
}

// file reads the file of a workflow, which has steps, or of an agent.
func (r *pageReader) file(t *testing.T, text string) error {
	t.Helper()
	var members map[string]any
	if err := yaml.Unmarshal([]byte(text), &members); err != nil {
		return err
	}
	if members["steps"] != nil {
		return r.workflow(t, text)
	}
	r.write(t, r.place(".toolfold/agents/a.yaml"), text)
	return r.prints(t, `"agentId":"a"`, "", "call", "agent.list", "--trust")
}

func (r *pageReader) workflow(t *testing.T, text string) error {
	t.Helper()
	definition, err := json.Marshal(map[string]string{"definition": text})
	if err != nil {
		return err
	}
	return r.prints(t, `"valid":true`, "", "call", "workflow.check", string(definition))
}

// call makes a call with the params of a tools/call.
func (r *pageReader) call(t *testing.T, text string) error {
	t.Helper()
	var call struct {
		Name      string
		Arguments json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &call); err != nil {
		return err
	}
	return r.prints(t, "", "", "call", call.Name, string(call.Arguments))
}

// arguments checks the example of an action against its described schema.
func (r *pageReader) arguments(t *testing.T, tool, text string) error {
	t.Helper()
	var given map[string]any
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return err
	}
	name := tool
	if action, ok := given["action"].(string); ok {
		name += "." + action
	}
	request := fmt.Sprintf(`{"method":"tools/describe","params":{"tool_name":%q}}`, name)
	if err := r.request(t, request); err != nil {
		return err
	}
	result, err := json.Marshal(r.result)
	if err != nil {
		return err
	}
	var described struct {
		Schema struct{ InputSchema json.RawMessage }
	}
	if err := json.Unmarshal(result, &described); err != nil {
		return err
	}
	checked, err := validate.Compile(name, described.Schema.InputSchema)
	if err != nil {
		return err
	}
	if problems := checked.Problems(given); len(problems) > 0 {
		return fmt.Errorf("%s: %+v", name, problems)
	}
	return nil
}

// request makes a request of a server on stdio, and keeps the result.
func (r *pageReader) request(t *testing.T, text string) error {
	t.Helper()
	var request map[string]any
	if err := json.Unmarshal([]byte(text), &request); err != nil {
		return err
	}
	request["jsonrpc"], request["id"] = "2.0", 2
	line, err := json.Marshal(request)
	if err != nil {
		return err
	}
	cmd := r.command(t, "serve", "--listing", "lazy")
	cmd.Stdin = strings.NewReader(hello + string(line) + "\n")
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var answer struct {
		ID     int
		Result any
		Error  any
	}
	for line := range bytes.Lines(out) {
		if err := json.Unmarshal(line, &answer); err != nil {
			return err
		}
		if answer.ID == 2 && answer.Error == nil {
			r.result = answer.Result
			return nil
		}
	}
	return fmt.Errorf("%s was answered %s", line, out)
}

// pattern reads JSON in which … matches anything.
func pattern(text string) any {
	var v any
	_ = json.Unmarshal([]byte(strings.ReplaceAll(text, "{…}", `"…"`)), &v)
	return v
}

// fits checks that a value has the members and items of a pattern.
func fits(at string, want, got any) error {
	switch want := want.(type) {
	case string:
		if want == "…" && got != nil {
			return nil
		}
	case map[string]any:
		object, _ := got.(map[string]any)
		for name, member := range want {
			if err := fits(at+"/"+name, member, object[name]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		list, _ := got.([]any)
		for i := range want {
			if len(list) != len(want) {
				break
			}
			if err := fits(fmt.Sprint(at, "/", i), want[i], list[i]); err != nil {
				return err
			}
		}
		if len(list) == len(want) {
			return nil
		}
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Errorf("%s is %v, want %v", at, got, want)
	}
	return nil
}

var (
	column  = regexp.MustCompile(` {3,}\S.*$`) // description of a command
	lasting = regexp.MustCompile(`^toolfold (worker|serve .*--http)`)
	running = regexp.MustCompile(`serving MCP at|running queued tasks`) // it runs, and handles signals
)

// shell runs the lines of a block. If they begin with $, the lines after them are the expected output.
func (r *pageReader) shell(t *testing.T, text string) error {
	t.Helper()
	command := ""
	want := map[string]string{}
	var commands []string
	var failed []error
	for line := range strings.Lines(text) {
		prompted, ok := strings.CutPrefix(line, "$ ")
		if ok || !strings.HasPrefix(text, "$ ") {
			command = strings.TrimSpace(column.ReplaceAllString(strings.TrimSuffix(prompted, "\n"), ""))
			commands = append(commands, command)
			continue
		}
		want[command] += line
	}
	for _, command := range commands {
		if _, ok := notRun()[command]; ok {
			delete(r.left, command)
			continue
		}
		if err := r.line(t, command, want[command]); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// line runs a command line like a user. Servers on loopback replace other people's.
func (r *pageReader) line(t *testing.T, command, want string) error {
	t.Helper()
	here := strings.NewReplacer("go run ./cmd/toolfold", "toolfold", "127.0.0.1:8137", "127.0.0.1:0",
		"postgres://user@host/database", cmp.Or(os.Getenv("TOOLFOLD_TEST_POSTGRES"), "memory:")).Replace(command)
	for _, other := range []string{"https://host/mcp", "https://api.githubcopilot.com/mcp/"} {
		if strings.Contains(here, other) {
			here = strings.ReplaceAll(here, other, r.server(t))
		}
	}
	cmd := r.command(t)
	shell := exec.Command("sh", "-c", here)
	shell.Dir, shell.Env = cmd.Dir, append(cmd.Env, "PATH="+r.place("HOME/bin")+":"+os.Getenv("PATH"),
		"GITHUB_TOKEN=secret", "GITHUB_STEP_SUMMARY="+r.place("summary.md"), "LOCAL_KEY=secret")
	if lasting.MatchString(here) {
		shell.Args[2] = "exec " + here
		p := start(t, shell, nil)
		testwait.Until(t, command+" says that it runs", func() bool { return running.MatchString(p.stderr.String()) })
		p.signal(t, syscall.SIGTERM)
		if <-p.ended; !p.ProcessState.Success() {
			return fmt.Errorf("%s: %v\n%s", command, p.ProcessState, p.stderr)
		}
		return nil
	}
	out, err := shell.CombinedOutput()
	if err != nil || !strings.Contains(string(out), want) {
		return fmt.Errorf("%s: %v\n%s\nwant %s", command, err, out, want)
	}
	return nil
}

var announced = regexp.MustCompile(`http://\S+/mcp`)

// server returns the address of a server on loopback that replaces another.
func (r *pageReader) server(t *testing.T) string {
	t.Helper()
	if r.url == "" {
		p := start(t, newSandbox(t).command(t, "serve", "--http", "127.0.0.1:0"), nil)
		testwait.Until(t, "a server says its address", func() bool { return announced.MatchString(p.stderr.String()) })
		r.url = announced.FindString(p.stderr.String())
	}
	return r.url
}
