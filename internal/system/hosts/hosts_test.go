package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/toolfold/toolfold/internal/test/golden"
	"github.com/toolfold/toolfold/internal/text/jsonedit"
)

const binary = `/opt/my tools/toolfold`

var args = []string{"serve", `--listing=full`}

// Every host has all data of the page of clients.
func TestHosts(t *testing.T) {
	t.Parallel()
	for _, h := range Hosts {
		if h.Name == "" || h.Title == "" || h.Approve == "" || h.Rules == "" {
			t.Errorf("%s: something is missing", h.Name)
		}
		if (h.Path == nil) != (h.Manual != "") {
			t.Errorf("%s has a file or says what the user does, not both", h.Name)
		}
		if Find(h.Name).Title != h.Title {
			t.Errorf("%s is not found", h.Name)
		}
	}
}

// others are files of a host with content that must stay.
var others = map[format][]string{
	jsonFile: {
		"", "{}", "{\n  \"theme\": \"dark\",\n  \"big\": 12345678901234567890\n}\n",
		`{"KEY":{"other":{"command":"x"}},"z":1,"a":[1,2]}`,
		"{\n\t\"KEY\": {\n\t\t\"other\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t}\n}",
		"\ufeff{\r\n  // # mine\r\n  \"KEY\": {\r\n    \"other\": {}, // # theirs\r\n  },\r\n}\r\n",
	},
	tomlFile: {
		"", "# mine\nmodel = \"m\"\n",
		"# mine\nmodel = \"m\"\n\n[mcp_servers.other]\ncommand = \"x\" # theirs\n\n[profiles.a]\nb = [\n  1,\n]\n",
		"# mine\r\nmodel = \"m\"\r\n",
	},
	yamlFile: {
		"", "# mine\nmodel: m\n", "model: m", "KEY: {}\nz: 1\n",
		"# mine\nmodel: m # mine too\n\nKEY:\n    # theirs\n    other:\n        cmd: x\n        args:\n        - a\n\n# of z\nz:\n- 1\n",
		"KEY:\n  other:\n    cmd: |\n      x\n\n      y\n",
		"# mine\r\nKEY:\r\n  other:\r\n    cmd: x # theirs\r\n",
	},
}

// An entry can be put into a file and removed again, and nothing else changes.
func TestPutAndRemove(t *testing.T) {
	t.Parallel()
	for i := range Hosts {
		h := &Hosts[i]
		for _, text := range others[h.format] {
			text = strings.ReplaceAll(text, "KEY", h.key)
			with, err := h.Put([]byte(text), binary, args)
			if err != nil {
				t.Fatalf("%s: %v", h.Name, err)
			}
			if has, err := h.Has(with, Server); !has || err != nil {
				t.Fatalf("%s: %v, %v in\n%s", h.Name, has, err, with)
			}
			if again, err := h.Put(with, binary, args); err != nil || string(again) != string(with) {
				t.Errorf("%s: putting it twice: %v\n%s", h.Name, err, again)
			}
			if other, err := h.Put(with, "/elsewhere", nil); err != nil || !strings.Contains(string(other), "/elsewhere") ||
				strings.Contains(string(other), binary) {
				t.Errorf("%s: another binary: %v\n%s", h.Name, err, other)
			}
			if strings.Contains(text, "\r\n") && strings.Count(string(with), "\n") != strings.Count(string(with), "\r\n") {
				t.Errorf("%s mixed the ends of lines: %q", h.Name, with)
			}
			without, err := h.Restore(with, []byte(text))
			if err != nil {
				t.Fatalf("%s: %v", h.Name, err)
			}
			if text != "" && string(without) != text {
				t.Errorf("%s put back\n%q\nfor\n%q", h.Name, without, text)
			}
			if diff := cmp.Diff(parsed(t, h, text), parsed(t, h, string(without))); diff != "" {
				t.Errorf("%s changed from\n%s\nto\n%s", h.Name, text, without)
			}
			for comment := range strings.SplitSeq(text, "\n") {
				if strings.Contains(comment, "#") && !strings.Contains(string(with), comment) {
					t.Errorf("%s lost %q", h.Name, comment)
				}
			}
			if strings.Contains(text, "\t") != strings.Contains(string(with), "\t") {
				t.Errorf("%s changed the layout to\n%s", h.Name, with)
			}
		}
	}
}

// A host that does not pass all variables passes the ones in its entry. The rest of the entry is
// unchanged.
func TestHanding(t *testing.T) {
	t.Setenv("HOSTS_SET", "value")
	for i := range Hosts {
		h := &Hosts[i]
		if h.Path == nil {
			continue
		}
		with, err := h.WithVariables([]string{"HOSTS_SET", "HOSTS_UNSET"}).Put(nil, binary, args)
		if err != nil {
			t.Fatalf("%s: %v", h.Name, err)
		}
		if same := string(with) == h.Snippet(binary, args); same == h.Keeps() {
			t.Errorf("%s: %s", h.Name, with)
		}
		e := h.Entry(with)
		if h.Keeps() && (!slices.Equal(e.Variables(), []string{"HOSTS_SET"}) || !slices.Contains(e.Fill(".").Env, "HOSTS_SET=value")) {
			t.Errorf("%s hands on %q in %s", h.Name, e.Variables(), with)
		}
		if e.Command[0] != binary || len(e.Unread) > 0 {
			t.Errorf("%s: %+v", h.Name, e)
		}
	}
}

// parsed returns a parsed file of a host, without an empty list of servers.
func parsed(t *testing.T, h *Host, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	var err error
	switch {
	case text == "":
	case h.format == tomlFile:
		err = toml.Unmarshal([]byte(text), &values)
	case h.format == yamlFile:
		err = yaml.Unmarshal([]byte(text), &values)
	default:
		dec := json.NewDecoder(bytes.NewReader(jsonedit.Plain([]byte(text))))
		dec.UseNumber()
		err = dec.Decode(&values)
	}
	if err != nil {
		t.Fatalf("%s: %v in\n%s", h.Name, err, text)
	}
	if list, ok := values[h.key].(map[string]any); ok && len(list) == 0 {
		delete(values, h.key)
	}
	return values
}

// The entry of a snippet starts the binary with its arguments.
func TestSnippets(t *testing.T) {
	t.Parallel()
	for i := range Hosts {
		h := &Hosts[i]
		snippet := h.Snippet(binary, args)
		if h.format == nothing {
			if snippet != "" {
				t.Errorf("%s has %s", h.Name, snippet)
			}
			continue
		}
		for _, word := range append([]string{binary, Server}, args...) {
			if !strings.Contains(snippet, word) {
				t.Errorf("%s lacks %s:\n%s", h.Name, word, snippet)
			}
		}
		if h.format != yamlList {
			parsed(t, h, snippet)
		}
	}
}

// A file that cannot be edited safely is rejected.
func TestRefused(t *testing.T) {
	t.Parallel()
	gemini, codex := Find("gemini"), Find("codex")
	for text, h := range map[string]*Host{
		`{"mcpServers": []}`: gemini, "[]": gemini, "{": gemini,
		"a = ": codex, "mcp_servers = { toolfold = { command = \"x\" } }\n": codex,
		"[mcp_servers]\ntoolfold.command = \"x\"\n": codex, "{ \"mcpServers\": {}, \"mcpServers\": {} }": gemini,
		`{"mcpServers": {"toolfold": {"url": "https://example.com/mcp"}}}`: gemini,
		"[mcp_servers.toolfold]\nurl = \"https://example.com/mcp\"\n":      codex,
	} {
		if now, err := h.Put([]byte(text), binary, args); err == nil {
			t.Errorf("%s of %s became\n%s", text, h.Name, now)
		}
	}
	if _, err := codex.Put([]byte("[mcp_servers]\ntoolfold.command = \"x\"\n"), binary, args); !errors.Is(err, errByHand) {
		t.Error(err)
	}
}

// Put keeps the other members of an entry with their comments, and the comments of the next table.
func TestPutKeepsEntry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string][3]string{
		"gemini": {
			"{\"mcpServers\": {\"toolfold\": {\n  \"command\": \"old\", // before\n  \"args\": [\"serve\"],\n" +
				"  \"env\": {\"PORT\": 1000000}, \"trust\": true\n}}}",
			"{\"mcpServers\": {\"toolfold\": {\n  \"command\": \"new\", // before\n  \"args\": [\"serve\", \"--for=x\"],\n" +
				"  \"env\": {\"PORT\": 1000000}, \"trust\": true\n}}}",
			"{\"mcpServers\": {}}",
		},
		"codex": {
			"[mcp_servers.toolfold]\ncommand = \"old\" # before\nargs = [\n  \"serve\",\n] # all\n\n# what follows\n[profiles.a]\nb = 1\n",
			"[mcp_servers.toolfold]\ncommand = \"new\" # before\nargs = [\"serve\", \"--for=x\"] # all\n\n# what follows\n[profiles.a]\nb = 1\n",
			"# what follows\n[profiles.a]\nb = 1\n",
		},
	} {
		h := Find(name)
		with, err := h.Put([]byte(test[0]), "new", []string{"serve", "--for=x"})
		if diff := cmp.Diff(test[1], string(with)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		without, err := h.Remove(with, Server)
		if diff := cmp.Diff(test[2], string(without)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// Options returns the options of a switched-off entry too.
func TestOptionsOfEntrySwitchedOff(t *testing.T) {
	t.Parallel()
	text := []byte(`{"mcpServers": {"toolfold": {"command": "x", "args": ["serve", "--read-only"], "disabled": true}}}`)
	if got := Find("cline").Options(text); len(got) != 1 || got[0] != "--read-only" {
		t.Errorf("got %q", got)
	}
	if list, err := Find("cline").Servers(text, "."); len(list) != 0 || err != nil {
		t.Errorf("got %v, %v", list, err)
	}
}

// The file of each client after setup, and after the removal of the entry.
func TestClientsFiles(t *testing.T) {
	t.Parallel()
	for i := range Hosts {
		h := &Hosts[i]
		path := filepath.Join("testdata", "clients", h.Name+".txtar")
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if h.Path == nil {
			archive.Files = []txtar.File{{Name: "by hand", Data: []byte(h.Manual + "\n" + h.Snippet("/usr/bin/toolfold", h.Args()))}}
			golden.Compare(t, path, string(txtar.Format(archive)))
			continue
		}
		before := archive.Files[0].Data
		with, err := h.Put(before, "/usr/bin/toolfold", h.Args())
		if err != nil {
			t.Fatalf("%s: %v", h.Name, err)
		}
		undone, err := h.Restore(with, before)
		if err != nil || !bytes.Equal(undone, before) {
			t.Errorf("%s, undone: %v\n%s", h.Name, err, undone)
		}
		archive.Files = []txtar.File{archive.Files[0], {Name: "after", Data: with}, {Name: "undone", Data: undone}}
		golden.Compare(t, path, string(txtar.Format(archive)))
	}
}
