package hosts

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// laidOut are hand-written files with servers, by format. KEY is the host's list.
var laidOut = map[format][]string{
	jsonFile: {
		"{\n  \"numStartups\": 412,\n  \"KEY\": {\n" +
			"    \"a\": {\n      \"command\": \"x\",\n      \"args\": [\"1\"]\n    },\n    \"b\": {\"command\": \"y\"},\n" +
			"    \"stays\": {\"command\": \"z\"}\n  }ALLOW\n}\n",
		"// mine\n{\n\t\"KEY\": {\n\t\t// the first\n\t\t\"a\": {\"command\": \"x\"}, // of work\n\n\t\t/* the second */\n\t\t\"b\": {\n" +
			"\t\t\t\"command\": \"y\", // why\n\t\t},\n\t\t\"stays\": {},\n\t},\n\t\"other\": 1,\n}\n",
		`{"KEY":{"a":{"command":"x"},"b":{"command":"y"}},"numStartups":1}`,
	},
	yamlFile: {
		"# mine\nmodel: m\nKEY:\n  # of work\n  a: # first\n    cmd: x\n    args:\n    - \"1\"\n\n  b: {cmd: y}\n  stays:\n    cmd: z\n\n" +
			"# other\nnumStartups: 1\n",
		"KEY:\r\n    stays: {}\r\n    a:\r\n        cmd: x\r\n    b:\r\n        cmd: y",
	},
	tomlFile: {
		"# mine\nmodel = \"m\"\n\n# of work\n" +
			"[KEY.a] # first\ncommand = \"x\"\nargs = [\n  \"1\",\n]\n\n[KEY.a.env]\nK = \"v\"\n\n# the second\n" +
			"[KEY.\"b\"]\ncommand = \"y\"\n\n# profiles\n[profiles.fast]\nmodel = \"n\"\n",
		"[KEY.a]\r\ncommand = \"x\"\r\n\r\n[KEY.b]\r\ncommand = \"y\"\r\n",
		"[KEY]\n[KEY.a]\ncommand = 'x'\n\n[KEY.b]\nargs = ['1']\n\n[projects]\n[projects.'/home/me']\ntrust_level = 'trusted'\n",
		"\ufeff[KEY.a]\r\ncommand = 'x'\r\n\r\n[KEY.b]\r\ncommand = 'y'\r\n\r\n[projects]\r\n",
		"[KEY.b]\ncommand = \"y\"\n[KEY.stays]\ncommand = \"z\"\n\n[KEY.a]\ncommand = \"x\"",
	},
}

// Entries that import takes come back to their old place, with their comments. The list of allowed
// servers is restored too.
func TestTakeAndGive(t *testing.T) {
	t.Parallel()
	for i := range Hosts {
		h := &Hosts[i]
		if h.Path == nil {
			continue
		}
		for _, text := range laidOut[h.format] {
			text = strings.ReplaceAll(text, "KEY", h.key)
			allow := ""
			if h.allow != nil {
				allow = ",\n  \"mcp\": {\"allowed\": [\"a\", \"b\"]}"
			}
			text = strings.ReplaceAll(text, "ALLOW", allow)
			with, err := h.Put([]byte(text), binary, args)
			if err != nil {
				t.Fatalf("%s: %v in\n%s", h.Name, err, text)
			}
			rest, parts := take(t, h, with, "a", "b")
			if admits, err := h.Admits(rest, Server); !admits || err != nil {
				t.Errorf("%s does not start it: %v\n%s", h.Name, err, rest)
			}
			if ends := bytes.Count(rest, []byte("\r\n")); strings.Contains(text, "\r\n") && ends < bytes.Count(rest, []byte("\n")) {
				t.Errorf("%s has other line ends:\n%q", h.Name, rest)
			}
			back, err := h.Remove(giveBack(t, h, rest, parts), Server)
			if err == nil {
				back, err = h.Dismiss(back)
			}
			if err != nil {
				t.Fatalf("%s: %v", h.Name, err)
			}
			if diff := cmp.Diff(strings.TrimRight(text, "\r\n"), strings.TrimRight(string(back), "\r\n")); diff != "" {
				t.Errorf("%s put back (-want +got):\n%s", h.Name, diff)
			}
			for _, p := range parts {
				want, _ := h.Value([]byte(text), p.Key)
				if got, err := h.ValueOf(p); err != nil || string(got) != string(want) {
					t.Errorf("%s: %s is %s (%v), want %s", h.Name, p.Key, got, err, want)
				}
			}
			for _, other := range []string{"", string(rest)} { // also without its neighbours
				back := giveBack(t, h, []byte(other), parts)
				for _, p := range parts {
					if value, err := h.Value(back, p.Key); value == nil || err != nil {
						t.Errorf("%s: %s is not in\n%s", h.Name, p.Key, back)
					}
				}
			}
		}
	}
}

// A server of Codex without its own table stays, and the error explains how to write it.
func TestTakeOfNoTable(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"[mcp_servers]\na = {command = \"x\"}\n", "mcp_servers.a.command = \"x\"\n"} {
		if _, _, err := Find("codex").Take([]byte(text), "a"); err == nil || !strings.Contains(err.Error(), "write it as [mcp_servers.a]") {
			t.Errorf("%v for\n%s", err, text)
		}
	}
}

func take(t *testing.T, h *Host, text []byte, names ...string) (rest []byte, parts []Part) {
	t.Helper()
	for _, name := range names {
		less, p, err := h.Take(text, name)
		if err != nil {
			t.Fatalf("%s: %v in\n%s", h.Name, err, text)
		}
		text, parts = less, append([]Part{p}, parts...)
	}
	return text, parts
}

func giveBack(t *testing.T, h *Host, text []byte, parts []Part) []byte {
	t.Helper()
	for _, p := range parts {
		more, err := h.Give(text, p)
		if err != nil {
			t.Fatalf("%s: %v, with %+v in\n%s", h.Name, err, p, text)
		}
		if again, err := h.Give(more, p); err == nil {
			t.Errorf("%s has %s twice:\n%s", h.Name, p.Key, again)
		}
		text = more
	}
	return text
}

// Each server in a file of each client can be taken out and put back.
func TestTakeFromClientsFiles(t *testing.T) {
	t.Parallel()
	for i := range Hosts {
		h := &Hosts[i]
		if h.Path == nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join("testdata", "clients", h.Name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		text := txtar.Parse(raw).Files[0].Data
		entries, err := h.Named(text, ".")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			rest, parts := take(t, h, text, e.Name)
			back := giveBack(t, h, rest, parts)
			if diff := cmp.Diff(parsed(t, h, string(text)), parsed(t, h, string(back))); diff != "" {
				t.Errorf("%s became\n%s", h.Name, back)
			}
		}
	}
}

// The error for an invalid file has the position of the fault.
func TestFaults(t *testing.T) {
	t.Parallel()
	for path, texts := range map[string][2]string{
		"mcp.json":    {"{\n  \"mcpServers\": {\n    \"a\": }\n}", "line 3, column 10: it is not JSON"},
		"config.toml": {"a = 1\nb = \n", "line 2, column 5: it is not TOML"},
		"config.yaml": {"extensions:\n  a:\n cmd: x\n", "line 3, column 2: it cannot be read as YAML"},
	} {
		if err := Check(path, []byte(texts[0])); err == nil || !strings.HasPrefix(err.Error(), texts[1]) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"mcp.json", "config.toml", "config.yaml"} {
		if err := Check(path, nil); err != nil {
			t.Errorf("an empty %s: %v", path, err)
		}
	}
}

// A client's file has folders, some with their own servers.
func TestFolders(t *testing.T) {
	t.Parallel()
	text := []byte(`{"projects": {"/home/me/shop": {"mcpServers": {"a": {"command": "x"}}}, "/none": {"mcpServers": {}}}}`)
	known, withServers := Find("claude-code").Folders(text)
	if !slices.Equal(known, []string{"/home/me/shop", "/none"}) || !slices.Equal(withServers, []string{"/home/me/shop"}) {
		t.Errorf("the folders %q, with servers %q", known, withServers)
	}
}

// The end of a TOML file is unchanged after entries were added and removed, or removed and added.
func TestEndsOfTOML(t *testing.T) {
	t.Parallel()
	codex := Find("codex")
	const table = "[mcp_servers.a]\ncommand = \"a\"\nargs = [\"b\"]"
	for _, start := range []string{
		table, "model = \"m\"\n\n" + table, table + "\n\n[profiles.x]\nmodel = \"q\"", table + "\n\n[mcp_servers.b]\ncommand = \"b\"",
	} {
		for _, end := range []string{"", "\n", "\n\n\n"} {
			for _, newline := range []string{"\n", "\r\n"} {
				text := []byte(strings.ReplaceAll(start+end, "\n", newline))
				with, err := codex.Put(text, "toolfold", []string{"serve"})
				if err != nil {
					t.Fatal(err)
				}
				rest, part, err := codex.Take(with, "a")
				if err != nil {
					t.Fatal(err)
				}
				back, err := codex.Give(rest, part)
				if err == nil {
					back, err = codex.Remove(back, Server)
				}
				if diff := cmp.Diff(string(text), string(back)); err != nil || diff != "" {
					t.Errorf("%q: %v: %s", text, err, diff)
				}
			}
		}
	}
}

// Edits of a folder's servers change only these.
func TestWithin(t *testing.T) {
	t.Parallel()
	text := []byte(`{
  "projects": {
    "/home/me/shop": {
      "mcpServers": {
        // for the shop
        "a": {"command": "x"}
      }
    }
  },
  "mcpServers": {"a": {"command": "y"}}
}
`)
	claude := Find("claude-code")
	shop := claude.Within("/home/me/shop")
	for _, test := range []struct {
		h    *Host
		want string
	}{{claude, "y"}, {shop, "x"}, {claude.Within("/home"), ""}} {
		entries, err := test.h.List(text)
		got := ""
		for _, e := range entries {
			got += e.Command[0]
		}
		if err != nil || got != test.want {
			t.Errorf("got %q (%v), want %q", got, err, test.want)
		}
	}
	with, err := shop.Put(text, "toolfold", []string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	rest, part, err := shop.Take(with, "a")
	if has, _ := claude.Has(rest, Server); err != nil || has || len(part.List) != 3 {
		t.Fatalf("%v: %+v in %s", err, part, rest)
	}
	back, err := shop.Give(rest, part)
	if err == nil {
		back, err = shop.Remove(back, Server)
	}
	if diff := cmp.Diff(string(text), string(back)); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
}

// A tool that a client has switched off is not offered.
func TestDisabledTools(t *testing.T) {
	t.Parallel()
	e := Find("cursor").Entry([]byte(`{"mcpServers": {"toolfold": {"command": "x", "disabledTools": ["drop"]}}}`))
	if e.Shows("drop") || !e.Shows("list") || len(e.Unread) > 0 {
		t.Errorf("got %+v", e)
	}
}
