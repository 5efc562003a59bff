//go:build unix

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// era makes requests of one era of the protocol.
type era struct {
	*client
	meta string // member of params that each request has
}

// modern is the member of params for requests of 2026-07-28. The client accepts tasks.
const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":` +
	`{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// ask returns the unchanged answer to a request.
func (e era) ask(t *testing.T, method, params string) string {
	t.Helper()
	if e.lastID++; e.meta != "" && params != "" {
		params += ","
	}
	fmt.Fprintf(e.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s%s}}`+"\n", e.lastID, method, params, e.meta)
	var line string
	testwait.Until(t, method+" is answered", func() bool {
		_, rest, _ := strings.Cut(e.stdout.String(), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, e.lastID))
		var whole bool
		line, _, whole = strings.Cut(rest, "\n")
		return whole
	})
	return line
}

// has fails unless an answer contains all texts; lacks fails if it contains any.
func has(t *testing.T, answer string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(answer, text) {
			t.Errorf("%s lacks %s", answer, text)
		}
	}
}

func lacks(t *testing.T, answer string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(answer, text) {
			t.Errorf("%s has %s", answer, text)
		}
	}
}

// eras starts a server whose only upstream is [graphServer], named memory, with a client of each era.
func eras(t *testing.T, args ...string) (m sandbox, all []era) {
	t.Helper()
	m = newSandbox(t)
	m.store = "sqlite://" + filepath.Join(m.home, "store.db")
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"), `{"upstreams":{"memory":{"command":"graph-mcp"}}}`)
	m.write(t, filepath.Join(m.workspace, ".toolfold", "workflows", "deploy.yaml"), "name: deploy\nsteps: []\n")
	m.learn(t)
	for _, meta := range []string{"", modern} {
		all = append(all, era{m.client(t, args...), meta})
	}
	return m, all
}

// own lists names of the workbench: families, their folded tools, actions and legacy names.
var own = []string{`"memory.store"`, `"memory_store"`, `"task"`, `"session.create"`, `"config"`, `"trace"`}

// With tier none the workbench is completely absent; other servers, discovery and scripts are there.
func TestGatewayOnly(t *testing.T) {
	t.Parallel()
	m, all := eras(t, "--tier=none", "--resources=all")
	for _, e := range all {
		list := e.ask(t, "tools/list", "")
		has(t, list, `"name":"script"`, `"name":"tools"`, `"name":"tool_call"`, `"name":"memory_mcp"`, `"name":"memory_mcp_write"`)
		lacks(t, list, `"name":"memory"`, `"name":"task"`, `"name":"config"`)
		tool := func(name, arguments string) string {
			return e.ask(t, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, name, arguments))
		}
		lacks(t, tool("tools", `{"action":"find","params":{"query":"remember a decision for later","limit":50}}`), "memory.store", "session.")
		catalogue := tool("tools", `{"action":"list","params":{"include_disabled":true}}`)
		has(t, catalogue, `memory_mcp`, `tool_call`)
		lacks(t, catalogue, `\"task\"`, `\"config\"`, `\"memory\",\"summary\":\"Key`)
		const off, unknown = `the workbench is off: --tier=none`, `UNKNOWN_TOOL`
		for _, name := range own {
			has(t, tool("tools", fmt.Sprintf(`{"action":"describe","params":{"name":%s}}`, name)), "there is no tool")
		}
		for _, name := range []string{"memory.store", "memory_store", "task", "task.submit", "session_create", "config.set", "trace"} {
			has(t, tool(name, `{"key":"k","value":1}`), unknown, off)
			has(t, tool("tool_call", fmt.Sprintf(`{"name":%q,"arguments":{"key":"k","value":1}}`, name)), unknown, off)
		}
		has(t, tool("memory", `{"action":"store","params":{"key":"k","value":1}}`), off)
		for _, method := range []string{"resources/list", "resources/templates/list"} {
			lacks(t, e.ask(t, method, ""), "toolfold://designs", "toolfold://tasks", "toolfold://memory")
		}
		has(t, e.ask(t, "resources/list", ""), "toolfold://upstream/memory/graph://all")
		has(t, e.ask(t, "resources/read", `"uri":"toolfold://memory/default/k"`), `"error"`)
		prompts := e.ask(t, "prompts/list", "")
		has(t, prompts, "recall")
		lacks(t, prompts, "deploy")
		has(t, e.ask(t, "completion/complete", `"ref":{"type":"ref/resource","uri":"toolfold://memory/{namespace}/{key}"},`+
			`"argument":{"name":"key","value":"a"}`), `"error"`)
		has(t, e.ask(t, "skills/list", ""), `"error"`)
	}
	legacy, now := all[0], all[1]
	lacks(t, legacy.stdout.String(), "an agent's workbench")
	lacks(t, now.ask(t, "server/discover", ""), "io.modelcontextprotocol/tasks", "skills", "an agent's workbench")
	if _, err := os.Stat(strings.TrimPrefix(m.store, "sqlite://")); err == nil {
		t.Error("the store was made before a call needs it")
	}
}

// Without the workbench a script is recorded too. It calls the tools of other servers, and another process has its
// run by the id.
func TestGatewayOnlyScripts(t *testing.T) {
	t.Parallel()
	m, all := eras(t, "--tier=none")
	run := func(e era, arguments string) string {
		return e.ask(t, "tools/call", `"name":"script","arguments":{"action":"run",`+arguments+`}`)
	}
	for _, e := range all {
		answer := run(e, `"code":"const graph = await memory.read_graph(); throw new Error(JSON.stringify(graph))"`)
		has(t, answer, "graph: read_graph", `SCRIPT_FAILED`, `memory.read_graph`)
		_, id, _ := strings.Cut(answer, `\"id\":\"`)
		id, _, _ = strings.Cut(id, `\`)
		other := era{m.client(t, "--tier=none"), e.meta}
		has(t, run(other, fmt.Sprintf(`"id":%q`, id)), "graph: read_graph", id)
		has(t, run(other, `"code":"return await memory_store({})"`), "is not defined")
	}
	broken := era{m.client(t, "--tier=none", "--store=sqlite:///dev/null/store.db"), ""}
	has(t, run(broken, `"code":"return 1"`), "STORE_UNAVAILABLE")
	has(t, broken.ask(t, "tools/call", `"name":"script","arguments":{"action":"read","code":"return 1"}`), `\"result\":1`)
}

// A server named like a family of the workbench can be called by its name if the workbench is off. The
// names in its plan always work. Its calls are recorded.
func TestGatewayOnlyFreesNames(t *testing.T) {
	t.Parallel()
	m, all := eras(t, "--tier=none")
	for _, e := range all {
		for _, call := range []string{
			`"name":"memory","arguments":{"action":"read_graph"}`,
			`"name":"memory_mcp","arguments":{"action":"read_graph"}`,
			`"name":"memory.read_graph","arguments":{}`,
			`"name":"tool_call","arguments":{"name":"memory","arguments":{"action":"read_graph"}}`,
		} {
			has(t, e.ask(t, "tools/call", call), "graph: read_graph")
		}
		has(t, e.ask(t, "tools/call", `"name":"memory_write","arguments":{"action":"create_entities"}`), "graph: create_entities")
		has(t, e.ask(t, "tools/call", `"name":"tools","arguments":{"action":"describe","params":{"name":"memory"}}`), "memory_mcp")
	}
	testwait.Until(t, "the calls are recorded", func() bool {
		out, err := m.command(t, "call", "trace.list").Output()
		return err == nil && strings.Contains(string(out), `"memory_mcp.read_graph`)
	})
	none := m.command(t, "call", "trace.list") // users can always read their traces
	none.Env = append(none.Env, "TOOLFOLD_TIER=none")
	if out, err := none.Output(); err != nil || !strings.Contains(string(out), `"memory_mcp.read_graph`) {
		t.Errorf("%v: %s", err, out)
	}
	every := m.client(t)
	every.expect(t, "memory", `{"action":"store","params":{"key":"k","value":1}}`)
	every.expect(t, "memory_mcp", `{"action":"read_graph"}`, "graph: read_graph")
}

// A rule that denies applies to a server's tools also by their second name.
func TestGatewayOnlyDeniesByEachName(t *testing.T) {
	t.Parallel()
	_, all := eras(t, "--tier=none", "--deny=memory_write")
	for _, e := range all {
		lacks(t, e.ask(t, "tools/list", ""), "memory_mcp_write")
		for _, name := range []string{"memory_write", "memory_mcp_write"} {
			has(t, e.ask(t, "tools/call", fmt.Sprintf(`"name":%q,"arguments":{"action":"create_entities"}`, name)), "PERMISSION_DENIED")
		}
	}
}
