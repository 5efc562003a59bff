package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// desk has the servers of a developer, by name: their title, and a line with the verbs for each noun.
// They imitate published servers.
var desk = map[string]string{
	"forge": `Code hosting
issue: list get create update search lock comment_on
pull_request: list get create update search merge review comment_on
branch: list create delete protect
commit: list get compare
release: list get create update delete
workflow_run: list get rerun cancel
file: get create update delete search
label: list create delete`,
	"tracker": `Issue tracking
issue: list get create update delete search assign link comment_on move
board: list get
sprint: list get create update close
epic: list get create update`,
	"browser": `Browser automation
page: navigate reload close print resize take_snapshot_of take_screenshot_of evaluate_in
element: click hover drag fill select_in press_key_in upload_to wait_for
tab: list open close select
request: list get
message: list`,
	"docs":     "Documentation of libraries\nlibrary: search\npage: get",
	"notebook": "Knowledge graph\nentity: create delete\nrelation: create delete\nobservation: create delete\ngraph: get\nnode: search open",
	"files": `Files of a folder
file: get create update move search read_head_of edit_lines_of
directory: list create delete
tree: get
media: get`,
	"calendar": "Calendar\nevent: list get create update delete search\ncalendar: list\nslot: search\ninvitation: accept decline",
	"database": "PostgreSQL\nquery: run explain\ntable: list get\nindex: list\nschema: list",
	"wiki": `Pages of a team
page: list get create update delete search move archive
block: list get create update delete
comment: list create
database: get create update query
user: list get`,
	"crash": `Errors in production
issue: list get update search assign merge
event: list get
project: list get create
release: list get create
team: list create
trace: get`,
	"payments": `Payments
customer: list get create update
invoice: list get create finalize void
refund: list create
subscription: list update cancel
product: list create`,
	"metrics":  "Metrics\nquery: run\nseries: list\nalert: list get silence\nrule: list\ndashboard: list get",
	"cluster":  "Kubernetes\nresource: list get create update delete describe scale restart\nlog: get\nevent: list\nnode: list drain",
	"shop-db":  "SQLite\nquery: run\ntable: list get",
	"calories": "Food\nmeal: search",
}

// deskServer runs the server of [desk] named by its first argument, which may have a scope and -mcp.
func deskServer() {
	name := os.Args[1]
	name = strings.TrimSuffix(name[strings.LastIndexByte(name, '/')+1:], "-mcp")
	needs := map[string]string{"forge": "FORGE_TOKEN", "payments": "PAYMENTS_KEY", "database": "DATABASE_URL"}[name]
	if needs != "" && os.Getenv(needs) == "" {
		fmt.Fprintln(os.Stderr, needs+" is not set")
		os.Exit(1)
	}
	switch name {
	case "search-index":
		fmt.Fprintln(os.Stderr, "Traceback (most recent call last):\n  KeyError: 'INDEX_URL'")
		os.Exit(3)
	case "warehouse": // it starts, and never answers
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
		return
	}
	title, lines, _ := strings.Cut(desk[name], "\n")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if name == "metrics" {
			fmt.Println("DEBUG got a message") // not a message of the protocol
		}
		var m struct {
			ID     any
			Method string
			Params struct {
				Name      string
				Arguments map[string]any
			}
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		var result any
		switch m.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": name, "title": title, "version": "1"}}
		case "tools/list":
			result = map[string]any{"tools": deskTools(lines)}
		case "tools/call":
			text := fmt.Sprintf("%s: %s %s", name, m.Params.Name, ordered.MustJSON(m.Params.Arguments))
			result = map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
		default:
			fmt.Printf("%s\n", ordered.MustJSON(map[string]any{"jsonrpc": "2.0", "id": m.ID,
				"error": map[string]any{"code": -32601, "message": "no such method"}}))
			continue
		}
		fmt.Printf("%s\n", ordered.MustJSON(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result}))
	}
}

// deskTools returns the tools of a server.
func deskTools(lines string) (tools []any) {
	for line := range strings.SplitSeq(lines, "\n") {
		noun, verbs, _ := strings.Cut(line, ": ")
		thing := strings.ReplaceAll(noun, "_", " ")
		for verb := range strings.FieldsSeq(verbs) {
			does := strings.ToUpper(verb[:1]) + strings.ReplaceAll(verb[1:], "_", " ")
			properties := ordered.Map{}
			property := func(name, kind, text string) {
				properties.Set(name, map[string]any{"type": kind, "description": text})
			}
			reads, required := true, []string{}
			var text string
			switch verb {
			case "list", "search":
				text = fmt.Sprintf("%s every %s that the signed-in user may see, the newest first, one page at a time. Each has its id, title, "+
					"state and dates; read a single %[2]s for its remaining fields. Prefer narrow filters to reading many pages.", does, thing)
				property("query", "string", "Words to look for in titles and bodies. Leave it out to match everything.")
				property("state", "string", "Only those in this state, such as open, closed or all. Default open.")
				property("per_page", "integer", "Number of results on a page, at most 100. Default 30.")
				property("cursor", "string", "Where to continue, as the page before has returned it.")
			case "get", "open", "describe", "compare", "explain":
				text = fmt.Sprintf("%s one %s with all of its fields, by its id. The id is the one that lists and searches return.", does, thing)
				property("id", "string", "Id of the "+thing+".")
				property("fields", "array", "Names of the fields to return. Default all.")
				required = []string{"id"}
			default:
				reads = false
				text = fmt.Sprintf("%s a %s. Requires write access. Fields that are left out stay as they are, or get their defaults; the answer "+
					"has the %[2]s as it is afterwards. Ask the user before you use this on something that others depend on.", does, thing)
				property("id", "string", "Id of the "+thing+", where there is one already.")
				property("title", "string", "New title, in one line of plain text.")
				property("body", "string", "New content, in Markdown. Links are kept, scripts are removed.")
				property("options", "object", "Other fields by their names, as reading a "+thing+" returns them.")
				property("dry_run", "boolean", "Check the call and return what would change, without changing it. Default false.")
			}
			tools = append(tools, ordered.Map{{Key: "name", Value: verb + "_" + noun}, {Key: "description", Value: text},
				{Key: "inputSchema", Value: ordered.Map{{Key: "type", Value: "object"}, {Key: "properties", Value: properties},
					{Key: "required", Value: required}}},
				{Key: "annotations", Value: map[string]any{"readOnlyHint": reads}}})
		}
	}
	return tools
}
