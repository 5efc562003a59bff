package hosts

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestServers(t *testing.T) {
	t.Setenv("HOSTS_SET", "value")
	workspace := t.TempDir()
	for _, test := range []struct {
		host, text string
		want       []Entry
	}{
		{"claude-code", `{"mcpServers":{
			"b":{"command":"theirs"},
			"c":{"command":"c","args":["${HOSTS_SET}","${HOSTS_UNSET:-x y}"],"env":{"Z":"1","A":"${HOSTS_SET}"}},
			"a":{"type":"http","url":"https://x/${HOSTS_SET}","headers":{"X-Key":"${HOSTS_SET}"}},
			"s":{"type":"sse","url":"https://x/sse"},
			"unset":{"command":"${HOSTS_UNSET}"}, "empty":{}},
			"projects":{"` + filepath.ToSlash(workspace) + `":{"mcpServers":{"b":{"command":"mine"}}}}}`, []Entry{
			{Name: "b", Command: []string{"mine"}},
			{Name: "a", URL: "https://x/value", Header: map[string]string{"X-Key": "value"}},
			{Name: "c", Command: []string{"c", "value", "x y"}, Env: []string{"A=value", "Z=1"}},
			{Name: "empty", Problem: "the entry has neither a command nor a URL"},
			{Name: "s", URL: "https://x/sse", SSE: true},
			{Name: "unset", Command: nil, Problem: "the environment variable HOSTS_UNSET is not set"},
		}},
		{"vscode", `{ // comments and a comma at the end
			"inputs":[{"id":"key"}],
			"servers":{"a":{"type":"stdio","command":"a","args":["${workspaceFolder}/x"],"cwd":"sub"},
			"b":{"url":"https://x","headers":{"K":"${input:key}"}},},}`, []Entry{
			{Name: "a", Command: []string{"a", workspace + "/x"}, Dir: filepath.Join(workspace, "sub")},
			{Name: "b", URL: "https://x", Header: map[string]string{"K": ""}, Problem: `its client asks the user for "key"`},
		}},
		{"codex", "[mcp_servers.a]\ncommand = \"a\"\nargs = [\"1\"]\nenabled_tools = [\"get\"]\n[mcp_servers.a.env]\nK = \"v\"\n" +
			"[mcp_servers.off]\ncommand = \"x\"\nenabled = false\n[mcp_servers.web]\nurl = \"https://x\"\nbearer_token_env_var = " +
			"\"HOSTS_SET\"\nenv_http_headers = { X = \"HOSTS_SET\" }\n", []Entry{
			{Name: "a", Command: []string{"a", "1"}, Env: []string{"K=v"}, Only: []string{"get"}},
			{Name: "web", URL: "https://x", Header: map[string]string{"Authorization": "Bearer value", "X": "value"}},
		}},
		{"gemini", `{"mcpServers":{"a":{"url":"https://x/sse","excludeTools":["drop"]},"b":{"httpUrl":"https://x"}}}`, []Entry{
			{Name: "a", URL: "https://x/sse", SSE: true, Except: []string{"drop"}}, {Name: "b", URL: "https://x"},
		}},
		{"opencode", `{"mcp":{"a":{"type":"local","command":["a","b"],"environment":{"K":"{env:HOSTS_SET}"}},"off":{"type":"local",` +
			`"command":["x"],"enabled":false}}}`, []Entry{
			{Name: "a", Command: []string{"a", "b"}, Env: []string{"K=value"}},
		}},
		{"cline", `{"mcpServers":{"a":{"transport":{"type":"stdio","command":"a","args":["b"]}},"off":{"disabled":true,"command":"x"}}}`, []Entry{
			{Name: "a", Command: []string{"a", "b"}},
		}},
		{"cursor", ``, nil}, {"cursor", `{"other":1}`, nil},

		// Further features of hosts: variables of other forms, timeouts, and files and programs
		// that only they read and run.
		{"claude-code", `{"mcpServers":{"a":{"command":"a","env":{"K":"$HOSTS_SET","L":"a$HOSTS_SET"},"timeout":90000},` +
			`"h":{"url":"https://x","headersHelper":"/bin/token"}}}`, []Entry{
			{Name: "a", Command: []string{"a"}, Env: []string{"K=value", "L=a$HOSTS_SET"}, Timeout: 90 * time.Second},
			{Name: "h", URL: "https://x", Problem: "its headers come of a program, headersHelper, which only the client runs"},
		}},
		{"codex", "[mcp_servers.a]\ncommand = \"a\"\nenv_vars = [\"HOSTS_SET\", \"HOSTS_UNSET\"]\ntool_timeout_sec = 600\n" +
			"startup_timeout_sec = 20\n[mcp_servers.a.tools.get]\napproval_mode = \"approve\"\n", []Entry{
			{Name: "a", Command: []string{"a"}, Env: []string{"HOSTS_SET=value", "HOSTS_UNSET="}, Timeout: 10 * time.Minute,
				Unread: map[string]any{"startup_timeout_sec": int64(20)}, Approvals: map[string][]string{"approval_mode": {"get"}}},
		}},
		{"gemini", `{"mcpServers":{"a":{"command":"a","args":["$HOSTS_SET/x"],"env":{"K":"Bearer $HOSTS_SET"},"timeout":30000,"extra":1},` +
			`"b":{"command":"b","env":{"K":"$HOSTS_UNSET"}},"c":{"command":"c"}},"mcp":{"excluded":["c"]}}`, []Entry{
			{Name: "a", Command: []string{"a", "value/x"}, Env: []string{"K=Bearer value"}, Timeout: 30 * time.Second,
				Unread: map[string]any{"extra": json.Number("1")}},
			{Name: "b", Command: []string{"b"}, Env: []string{"K="}, Problem: "the environment variable HOSTS_UNSET is not set"},
		}},
		{"qwen", `{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}},"mcp":{"allowed":["b"]}}`, []Entry{
			{Name: "b", Command: []string{"b"}},
		}},
		{"vscode", `{"servers":{"a":{"command":"a","env":{"K":null,"N":1}},"b":{"command":"b","envFile":"${workspaceFolder}/.env",` +
			`"sandboxEnabled":true}}}`, []Entry{
			{Name: "a", Command: []string{"a"}, Env: []string{"N=1"}},
			{Name: "b", Command: []string{"b"}, Unread: map[string]any{"sandboxEnabled": true},
				Problem: "its variables are in a file, envFile, which only the client reads: name them in env, as ${NAME}"},
		}},
		{"opencode", `{"mcp":{"a":{"type":"local","command":["a"],"environment":{"K":"{file:~/.key}"},"timeout":5000}}}`, []Entry{
			{Name: "a", Command: []string{"a"}, Env: []string{"K={file:~/.key}"}, Unread: map[string]any{"timeout": json.Number("5000")},
				Problem: "it has the content of a file in it, {file:…}, which only the client reads: use {env:NAME}"},
		}},
		{"cline", `{"mcpServers":{"a":{"command":"a","timeout":120}}}`, []Entry{
			{Name: "a", Command: []string{"a"}, Timeout: 2 * time.Minute},
		}},
		{"opencode", `{"mcp":{"old":{"type":"local","command":["o"]},"timeout":{"catalog":1},"servers":{"a":{"type":"local",` +
			`"command":["a"]},"off":{"command":["x"],"disabled":true}}}}`, []Entry{
			{Name: "a", Command: []string{"a"}}, {Name: "old", Command: []string{"o"}},
		}},
		{"opencode", `{"mcp":{"servers":{"type":"local","command":["s"]}}}`, []Entry{{Name: "servers", Command: []string{"s"}}}},
		{"antigravity", `{"mcpServers":{"a":{"serverUrl":"https://x","command":"no","headers":{"K":"${HOSTS_SET}"},"disabledTools":["d"]},` +
			`"off":{"command":"x","disabled":true}}}`, []Entry{
			{Name: "a", URL: "https://x", Header: map[string]string{"K": "value"}, Except: []string{"d"}},
		}},
		{"devin", `{"mcpServers":{"a":{"command":"a","env":{"K":"${env:HOSTS_SET}"}}}}`, []Entry{
			{Name: "a", Command: []string{"a"}, Env: []string{"K=value"}},
		}},
		{"zed", "// mine\n" + `{"context_servers":{"a":{"command":"a","args":["b"],"env":{"K":"v"},"enabled":true,"timeout":90},` +
			`"ext":{"enabled":true,"settings":{}},"off":{"command":"x","enabled":false},},}`, []Entry{
			{Name: "a", Command: []string{"a", "b"}, Env: []string{"K=v"}, Timeout: 90 * time.Second},
			{Name: "ext", Problem: "the entry has neither a command nor a URL", Unread: map[string]any{"settings": map[string]any{}}},
		}},
		{"kiro", `{"mcpServers":{"a":{"command":"a","autoApprove":["g"],"disabledTools":["d"],"disabled":false}}}`, []Entry{
			{Name: "a", Command: []string{"a"}, Except: []string{"d"}, Approvals: map[string][]string{"autoApprove": {"g"}}},
		}},
		{"warp", `{"mcpServers":{"a":{"command":"a","working_directory":"sub"}}}`, []Entry{
			{Name: "a", Command: []string{"a"}, Dir: filepath.Join(workspace, "sub")},
		}},
		{"amp", `{"amp.mcpServers":{"a":{"command":"a","includeTools":["g"]}}}`, []Entry{
			{Name: "a", Command: []string{"a"}, Only: []string{"g"}},
		}},
		{"roo", `{"mcpServers":{"a":{"type":"streamable-http","url":"https://x","alwaysAllow":["g"],"disabledTools":["d"],` +
			`"timeout":120}}}`, []Entry{
			{Name: "a", URL: "https://x", Except: []string{"d"}, Timeout: 2 * time.Minute, Approvals: map[string][]string{"alwaysAllow": {"g"}}},
		}},
		{"zed", `{"context_servers":{"a":{"command":{"path":"a","args":["1"]}}}}`, []Entry{
			{Name: "a", Problem: "its command is an object, as older versions of the client have it: write its path as command, with args and env " +
				"beside it"},
		}},
		{"kilo", `{"mcp":{"a":{"type":"local","command":["a"],"environment":{"K":"{env:HOSTS_SET}"},"enabled":true}}}`, []Entry{
			{Name: "a", Command: []string{"a"}, Env: []string{"K=value"}},
		}},
		{"kilo", `{"mcpServers":{"a":{"command":"a","alwaysAllow":["g"]}}}`, []Entry{
			{Name: "a", Command: []string{"a"}, Approvals: map[string][]string{"alwaysAllow": {"g"}}},
		}},
		{"goose", "extensions:\n  developer:\n    type: builtin\n    enabled: true\n  a:\n    type: stdio\n    cmd: a\n    args: [\"1\", b]\n" +
			"    envs: {N: 1}\n    env_keys: [HOSTS_SET]\n    timeout: 300\n    available_tools: [get]\n  off:\n    type: streamable_http\n" +
			"    uri: https://x\n    enabled: false\n  web:\n    type: streamable_http\n    uri: https://w\n    headers: {K: v}\n", []Entry{
			{Name: "a", Command: []string{"a", "1", "b"}, Env: []string{"N=1", "HOSTS_SET=value"}, Timeout: 5 * time.Minute, Only: []string{"get"}},
			{Name: "web", URL: "https://w", Header: map[string]string{"K": "v"}},
		}},
	} {
		got, err := Find(test.host).Servers([]byte(test.text), workspace)
		if err != nil {
			t.Errorf("%s: %v", test.host, err)
		}
		for i, e := range got {
			got[i] = e.Fill(workspace)
		}
		if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.host, diff)
		}
	}
	for host, text := range map[string]string{"cursor": `{"mcpServers":{"a":{"env":{"K":"secret"}`, "codex": "[a"} {
		if got, err := Find(host).Servers([]byte(text), workspace); err == nil {
			t.Errorf("%s: %+v", host, got)
		}
	}
}

// Named includes switched-off servers and marks them.
func TestNamed(t *testing.T) {
	t.Parallel()
	for host, text := range map[string]string{
		"cline": `{"mcpServers":{"a":{"command":"a","disabled":true}}}`, "opencode": `{"mcp":{"a":{"command":["a"],"enabled":false}}}`,
		"gemini": `{"mcpServers":{"a":{"command":"a"}},"mcp":{"allowed":["b"]}}`,
	} {
		entries, err := Find(host).Named([]byte(text), ".")
		if err != nil || len(entries) != 1 || !entries[0].Off {
			t.Errorf("%s: %+v, %v", host, entries, err)
		}
	}
}

// Servers reads the entry that Put writes.
func TestServersOfOurEntry(t *testing.T) {
	t.Parallel()
	for _, name := range Readable() {
		h := Find(name)
		got, err := h.Servers([]byte(h.Snippet(binary, args)), ".")
		if err != nil || len(got) != 1 || got[0].Name != Server || !cmp.Equal(got[0].Command, append([]string{binary}, args...)) ||
			got[0].Problem != "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestOwner(t *testing.T) {
	t.Parallel()
	for path, test := range map[string]struct{ text, want string }{
		"x/.mcp.json":                  {`{"mcpServers":{"a":{}}}`, "claude-code"},
		"x/claude_desktop_config.json": {`{"mcpServers":{"a":{}}}`, "claude-desktop"},
		".cursor/mcp.json":             {`{"mcpServers":{}}`, "cursor"},
		".vscode/mcp.json":             {`{"servers":{}}`, "vscode"},
		"config.toml":                  {"[mcp_servers.a]\ncommand=\"a\"", "codex"},
		"anything.json":                {`{"mcpServers":{}}`, "mcpServers"},
		"project/mcp.json":             {`{"mcpServers":{}}`, "mcpServers"},
		"mcp.json":                     {`{"servers":{}}`, "vscode"},
		"settings.json":                {`{"mcpServers":{}}`, "mcpServers"},
		"list.json":                    {`{"tools":[]}`, ""},
		"broken.json":                  {`{`, ""},
		"opencode.json":                {`{"mcp":{}}`, "opencode"},
		"home/.gemini/settings.json":   {`{"mcpServers":{}}`, "gemini"},
		"home/.qwen/settings.json":     {`{"mcpServers":{}}`, "qwen"},
		"data/cline_mcp_settings.json": {`{"mcpServers":{}}`, "cline"},
		"a/mcp-config.json":            {`{"mcpServers":{}}`, "copilot"},
		"empty.toml":                   {``, ""},
		"x/.warp/.mcp.json":            {`{"mcpServers":{}}`, "warp"},
		"config/mcp_config.json":       {`{"mcpServers":{}}`, "antigravity"},
		"mcp_config.json":              {`{"mcpServers":{}}`, "mcpServers"},
		"settings/mcp_settings.json":   {`{"mcpServers":{}}`, "roo"},
		"kilo.jsonc":                   {`{"mcp":{}}`, "kilo"},
		"opencode.jsonc":               {`{"mcp":{"servers":{}}}`, "opencode"},
		"goose/config.yaml":            {"extensions: {}", "goose"},
		"x/settings.json":              {`{"context_servers":{}}`, "zed"},
		"amp/settings.json":            {`{"amp.mcpServers":{}}`, "amp"},
	} {
		got := ""
		if h := Owner(path, []byte(test.text)); h != nil {
			got = h.Name
		}
		if got != test.want {
			t.Errorf("%s belongs to %q, want %q", path, got, test.want)
		}
	}
}

// Approvals are read in the form of each client.
func TestApprovals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		host, text string
		approved   []string // among the tools get, put and drop
	}{
		{"cline", `{"mcpServers":{"a":{"command":"x","autoApprove":["get","put"]}}}`, []string{"get", "put"}},
		{"cline", `{"mcpServers":{"a":{"command":"x","alwaysAllow":["get"],"autoApprove":[]}}}`, []string{"get"}},
		{"gemini", `{"mcpServers":{"a":{"command":"x","trust":true}}}`, []string{"get", "put", "drop"}},
		{"gemini", `{"mcpServers":{"a":{"command":"x","trust":false}}}`, nil},
		{"codex", "[mcp_servers.a]\ncommand = \"x\"\ndefault_tools_approval_mode = \"approve\"", []string{"get", "put", "drop"}},
		{"codex", "[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a.tools.drop]\napproval_mode = \"approve\"", []string{"drop"}},
	} {
		entries, err := Find(test.host).Servers([]byte(test.text), ".")
		if err != nil || len(entries) != 1 {
			t.Fatalf("%s: %+v, %v", test.text, entries, err)
		}
		var got []string
		for _, tool := range []string{"get", "put", "drop"} {
			if entries[0].Approved(tool) {
				got = append(got, tool)
			}
		}
		if diff := cmp.Diff(test.approved, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.text, diff)
		}
	}
}

func TestShows(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		e    Entry
		want bool
	}{
		{Entry{}, true}, {Entry{Only: []string{"*"}}, true}, {Entry{Only: []string{"get"}}, true}, {Entry{Only: []string{"set"}}, false},
		{Entry{Except: []string{"get"}}, false}, {Entry{Only: []string{"get"}, Except: []string{"get"}}, false},
	} {
		if test.e.Shows("get") != test.want {
			t.Errorf("%+v", test.e)
		}
	}
}

func TestRespelled(t *testing.T) {
	t.Parallel()
	e := Entry{
		URL: "https://${env:HOST}/mcp", Dir: "${env:SHOP}", Command: []string{"run", "$LEFT", "--key={env:KEY}", "${workspaceFolder}"},
		Env:    []string{"A=$A", "B=${env:B:-none}", "C=x$C", "D=${D}"},
		Header: map[string]string{"Authorization": "Bearer ${env:TOKEN}", "X": "$X"},
	}
	want := Entry{
		URL: "https://${HOST}/mcp", Dir: "${SHOP}", Command: []string{"run", "$LEFT", "--key=${KEY}", "${workspaceFolder}"},
		Env:    []string{"A=${A}", "B=${B:-none}", "C=x$C", "D=${D}"},
		Header: map[string]string{"Authorization": "Bearer ${TOKEN}", "X": "${X}"},
	}
	if diff := cmp.Diff(want, e.Respell(), cmpopts.IgnoreUnexported(Entry{})); diff != "" {
		t.Error(diff)
	}
	if e.Env[0] != "A=$A" || e.Header["X"] != "$X" || e.Command[2] != "--key={env:KEY}" {
		t.Errorf("the entry itself is changed: %+v", e)
	}
}
