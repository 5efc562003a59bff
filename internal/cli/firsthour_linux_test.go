package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"golang.org/x/tools/txtar"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/test/golden"
)

// hourCalls has a call for each client, as its model makes it.
var hourCalls = []struct{ client, tool, arguments string }{
	{"claude-code", "tracker", `{"action":"get_issue","id":"7"}`},
	{"claude-desktop", "files", `{"action":"get_file","id":"notes.md"}`},
	{"cursor", "wiki", `{"action":"get_page","id":"start"}`},
	{"vscode", "metrics", `{"action":"get_alert","id":"disk"}`},
	{"codex", "get_issue", `{"id":"7"}`},
	{"gemini", "search_meal", `{"query":"soup"}`},
}

// The page on the first hour shows the current output of its commands, with servers of [desk]. Every
// client pays less than before, or is left alone and named. Files are restored unchanged.
func TestFirstHour(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a server that never answers")
	}
	h := newHour(t)
	const path = "../../docs/first-hour.md"
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := h.page(string(old))
	golden.Compare(t, path, page)
	if n := strings.Count(page, "\n"); n > 200 {
		t.Errorf("the page has %d lines, more than anybody reads", n)
	}
	for path, text := range h.files {
		if left, err := filepath.Glob(filepath.Join(h.home, path) + "*"); err != nil || len(left) != 1 {
			t.Errorf("of %s are left %v (%v)", path, left, err)
		}
		if path == ".claude.json" {
			text = strings.Replace(text, "412", "413", 1) // Claude Code has changed it
		}
		if now := h.read(path); now != text {
			t.Errorf("%s was\n%s\nand is put back as\n%s", path, text, now)
		}
	}
}

// hour is a home with the files of six clients, and the record of the hour.
type hour struct {
	sandbox
	t      *testing.T
	env    []string
	files  map[string]string // original files of clients, by path in home
	before map[string]doctor.Cost
	plan   string // output of import
}

func newHour(t *testing.T) *hour {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/firsthour.txtar")
	if err != nil {
		t.Fatal(err)
	}
	h := &hour{sandbox: newSandbox(t), t: t, files: map[string]string{}}
	for _, f := range archive.Files {
		text := strings.ReplaceAll(string(f.Data), "HOME", h.home)
		h.write(t, filepath.Join(h.home, f.Name), text)
		if strings.HasPrefix(f.Name, "bin/") {
			if err := os.Chmod(filepath.Join(h.home, f.Name), 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		h.files[f.Name] = text
	}
	h.env = []string{"HOME=" + h.home, "PATH=" + filepath.Join(h.home, "bin") + ":" + os.Getenv("PATH"), "FORGE_TOKEN=secret",
		"XDG_RUNTIME_DIR=" + filepath.Join(h.home, "run")}
	h.before = h.costs()
	return h
}

func (h *hour) read(path string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.home, path))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

// page returns a page with the current output of its commands.
func (h *hour) page(old string) string {
	var page strings.Builder
	block := "" // block of the current line
	for line := range strings.Lines(old) {
		command, prompted := strings.CutPrefix(line, "$ ")
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && block != "":
			block = ""
		case fence:
			block = strings.TrimSpace(info)
		case block == "text costs", block == "text calls", block == "sh" && !prompted:
			continue
		}
		page.WriteString(line)
		switch {
		case fence && block == "text costs":
			page.WriteString(h.costTable())
		case fence && block == "text calls":
			page.WriteString(h.callTable())
		case block == "sh" && prompted:
			page.WriteString(h.run(strings.TrimSpace(command)))
		}
	}
	return page.String()
}

var (
	backupTime  = regexp.MustCompile(`\.\d{8}T\d{6}\.\d{6}(-\d+)?\.bak`)
	programPath = regexp.MustCompile(`/[^" ]*/bin/toolfold\b`)
	lineEnds    = regexp.MustCompile(`(?m) +$`)
)

// run returns a command's standard output, with a reader's paths and times.
func (h *hour) run(line string) string {
	h.t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = h.home, h.env
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		h.t.Errorf("%s: %v\n%s%s", line, err, out, &failed)
	}
	if strings.HasPrefix(line, "toolfold upstream import --") && h.plan == "" {
		h.plan = string(out)
	}
	text := strings.ReplaceAll(string(out), h.home, "~")
	text = backupTime.ReplaceAllString(text, ".20261128T090000.000000$1.bak")
	return lineEnds.ReplaceAllString(programPath.ReplaceAllString(text, "/usr/local/bin/toolfold"), "")
}

// entries returns the entries in a client's current file.
func (h *hour) entries(client string) []hosts.Entry {
	h.t.Helper()
	host := hosts.Find(client)
	files := host.Paths.Files("linux", h.home, func(string) string { return "" })
	text, err := os.ReadFile(files[0])
	if err != nil {
		h.t.Fatal(err)
	}
	entries, err := host.Servers(text, h.home)
	if err != nil {
		h.t.Fatal(err)
	}
	return entries
}

// ask starts the program of an entry, makes a request, and returns the result; nil without a result.
func (h *hour) ask(e hosts.Entry, method, params string) json.RawMessage {
	h.t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", `exec "$@"`, "sh"}, e.Command...)...)
	cmd.Dir, cmd.Env = h.home, h.env
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`%s{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":%q,"params":%s}
`, hello, method, params))
	out, _ := cmd.Output() // some are broken
	for line := range bytes.Lines(out) {
		var answer struct {
			ID     int
			Result json.RawMessage
		}
		if json.Unmarshal(line, &answer) == nil && answer.ID == 2 { // some print other lines too
			return answer.Result
		}
	}
	return nil
}

// costs counts each client's list through its entries, as it sends that to a model.
func (h *hour) costs() map[string]doctor.Cost {
	h.t.Helper()
	costs := map[string]doctor.Cost{}
	for _, call := range hourCalls {
		cost := doctor.Cost{}
		for _, e := range h.entries(call.client) {
			result := h.ask(e, "tools/list", "{}")
			if result == nil {
				continue
			}
			list, err := doctor.ReadList(result)
			if err != nil {
				h.t.Fatal(err)
			}
			list.Server = e.Name
			list.Tools = slices.DeleteFunc(list.Tools, func(tool doctor.Tool) bool { return !e.Shows(tool.Name) })
			tokens, err := list.TokensIn(call.client)
			if err != nil {
				h.t.Fatal(err)
			}
			cost = cost.Add(doctor.Cost{Tools: len(list.Tools), Tokens: tokens})
		}
		costs[call.client] = cost
	}
	return costs
}

// costTable returns the cost of each client before and after. The test fails if a client pays more, or
// as much without being named as left alone.
func (h *hour) costTable() string {
	h.t.Helper()
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "client\ttools before\ttokens\ttools after\ttokens\t")
	after := h.costs()
	for _, call := range hourCalls {
		before, now := h.before[call.client], after[call.client]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t\n", call.client, before.Tools, before.Tokens, now.Tools, now.Tokens)
		row := fmt.Sprintf(`(?m)^%s +\d+ +%d +%d +%d +%d\b`, call.client, before.Tools, before.Tokens, now.Tools, now.Tokens)
		if !regexp.MustCompile(row).MatchString(h.plan) {
			h.t.Errorf("%s paid %+v and pays %+v, and import said\n%s", call.client, before, now, h.plan)
		}
		left := fmt.Sprintf("%s would pay", hosts.Find(call.client).Title)
		if now.Tokens > before.Tokens || now.Tokens == before.Tokens && !strings.Contains(h.plan, left) {
			h.t.Errorf("%s paid %+v and pays %+v", call.client, before, now)
		}
	}
	w.Flush()
	return lineEnds.ReplaceAllString(table.String(), "")
}

// callTable returns the answers to calls through each client's entries.
func (h *hour) callTable() string {
	h.t.Helper()
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, call := range hourCalls {
		entries := h.entries(call.client)
		i := max(0, slices.IndexFunc(entries, func(e hosts.Entry) bool { return e.Name == hosts.Server }))
		var answer struct{ Content []struct{ Text string } }
		result := h.ask(entries[i], "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, call.tool, call.arguments))
		server, _, _ := strings.Cut(call.tool, "_")
		if entries[i].Name != hosts.Server {
			server = entries[i].Name
		}
		if json.Unmarshal(result, &answer) != nil || len(answer.Content) == 0 || !strings.HasPrefix(answer.Content[0].Text, server+": ") {
			h.t.Errorf("%s: %s %s is answered %s", call.client, call.tool, call.arguments, result)
			continue
		}
		fmt.Fprintf(w, "%s\t%s %s\t%s\n", call.client, call.tool, call.arguments, answer.Content[0].Text)
	}
	w.Flush()
	return table.String()
}
