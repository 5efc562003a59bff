package files_test

import (
	"fmt"
	"testing"

	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/migration"
	"github.com/toolfold/toolfold/migration/files"
)

// definitions are files that define the tool memory_store, in the forms of the SDKs.
var definitions = map[string][]string{
	"tools.ts": {
		`server.tool("memory_store", { key: z.string() }, store)`,
		"server.registerTool(\n  'memory_store',\n  { description: 'Store', inputSchema }, store)",
		`const tools = [{ name: "memory_store", description: "Store (a value)", inputSchema: { type: "object" } }]`,
		`export default tool({ description: "Store", name: 'memory_store', execute })`,
		`const tools = { memory_store: tool({ description: "Store" }) }`,
		`const tools = { "memory_store": { description: "Store", handler } }`,
		"class Store extends MCPTool<In> {\n  name = \"memory_store\";\n  description = \"Store\";\n}",
		"const STORE = \"memory_store\";\nserver.registerTool(STORE, {}, store);",
	},
	"tools.py": {
		"@mcp.tool()\nasync def memory_store(key: str) -> str:\n    ...",
		"@tool\ndef memory_store(key): ...",
		"@server.tool(description=\"Store {key}; keep it\")\n@traced\ndef memory_store(key): ...",
		`@mcp.tool(name="memory_store")`,
		`Tool(name="memory_store", description="Store", inputSchema={"type": "object"})`,
		`TOOLS = [{"name": "memory_store", "description": "Store", "parameters": {}}]`,
		`TOOLS = {"memory_store": {"description": "Store", "handler": store}}`,
		"class Store(BaseTool):\n    name: str = \"memory_store\"\n    description: str = \"Store\"",
		"class Store(Tool):\n    @property\n    def name(self) -> str:\n        return \"memory_store\"\n\n    def description(self): ...",
		`mcp.add_tool(memory_store)`,
	},
	"tools.go": {
		`s.AddTool(mcp.NewTool("memory_store", mcp.WithDescription("Store")), store)`,
		`mcp.AddTool(server, &mcp.Tool{Name: "memory_store", Description: "Store"}, store)`,
		`tools := []Definition{{Name: "memory_store", Description: "Store"}}`,
		"const toolStore = \"memory_store\"\n\nvar t = mcp.NewTool(toolStore)",
		"func (Store) Name() string { return \"memory_store\" }\n\nfunc (Store) Description() string { return \"Store\" }",
	},
	"tools.rs": {
		"#[tool(description = \"Store (a) value; {x}\")]\n    pub async fn memory_store(&self, p: P) -> R {",
		`#[tool(name = "memory_store", description = "Store")]`,
		`#[tool(description = "Store", name = "memory_store")]`,
		`Tool::new("memory_store", "Store", schema)`,
		`Tool { name: "memory_store".into(), description: Some("Store".into()), input_schema }`,
		`ToolDefinition { name: "memory_store".to_string(), description: text }`,
		"impl Tool for Store {\n    fn name(&self) -> &'static str {\n        \"memory_store\"\n    }\n    fn description(&self) -> &str {",
	},
	"Tools.cs": {
		`[McpServerTool(Name = "memory_store"), Description("Store")]`,
		"[McpServerTool, Description(\"Store; keep\")]\n    public static async Task<string> MemoryStore(string key)",
		"[McpServerTool]\n    public string memory_store(string key)",
		`McpServerTool.Create(store, new() { Name = "memory_store", Description = "Store" })`,
		"public override string Name => \"memory_store\";\n    public override string Description => \"Store\";",
	},
	"Tools.java": {
		"@Tool(name = \"memory_store\", description = \"Store\")\n    public String store(String key) {",
		"@Tool(description = \"Store\")\n    public String memory_store(String key) {",
		`new McpSchema.Tool("memory_store", "Store", schema)`,
		"McpSchema.Tool.builder()\n    .name(\"memory_store\")\n    .description(\"Store\")",
		"public String getName() { return \"memory_store\"; }\n    public String getDescription() { return \"Store\"; }",
	},
	"tools.rb": {
		"class Store < MCP::Tool\n  tool_name \"memory_store\"\n  description \"Store\"",
		"MCP::Tool.define(\n  name: 'memory_store',\n  description: 'Store')",
		"server.define_tool(name: \"memory_store\") do |key|",
		"  tool \"memory_store\" do",
		"  def self.name\n    \"memory_store\"\n  end\n  def description",
	},
	"Tools.kt": {
		"server.addTool(\n    name = \"memory_store\",\n    description = \"Store\",\n) {",
		`Tool(name = "memory_store", description = "Store")`,
		"@Tool(\"Store\")\n    fun memory_store(key: String): String =",
		"override val name: String = \"memory_store\"\n    override val description = \"Store\"",
	},
}

// If a repository defines a name in one file, uses in other files are its own.
func TestOwnNames(t *testing.T) {
	t.Parallel()
	s := files.Search{Rewriter: migration.NewRewriter(app.Families())}
	uses := map[string]string{
		"README.md": "Call `memory_store`.\n", "calls.jsonl": `{"name":"memory_store","arguments":{"key":"a","value":1}}` + "\n",
		"client.ts":  `await client.callTool({ name: "memory_store", arguments: { key: "a", value: 1 } }); // mcp`,
		"agent.yaml": "tools: [memory_store]\n", "test.py": `assert tool_name == "memory_store"`,
	}
	for file, forms := range definitions {
		for _, form := range forms {
			own := s.Defines(file, form)
			if !own["memory_store"] || len(own) != 1 {
				t.Errorf("%s defines %v:\n%s", file, own, form)
			}
			if found := s.File(file, []byte(form+"\n"+`callTool("memory_store", {})`)); len(found.Uses) > 0 {
				t.Errorf("%s: %v is its own", file, found.Uses)
			}
		}
	}
	for file, text := range uses {
		if found := s.File(file, []byte(text)); len(found.Uses) != 1 {
			t.Errorf("%s, with nothing defined: %v", file, found.Uses)
		}
		own := s
		own.Own = map[string]bool{"memory_store": true}
		if found := own.File(file, []byte(text)); len(found.Uses) > 0 || string(found.Now) != text {
			t.Errorf("%s became %s: %v", file, found.Now, found.Uses)
		}
		if own := s.Defines(file, text); len(own) > 0 {
			t.Errorf("%s defines %v", file, own)
		}
	}
	s.Own = map[string]bool{"memory_store": true}
	for file, form := range map[string]string{"a.md": "Call `mcp__toolfold__%s`.", "a.json": `{"deny": ["mcp__toolfold__%s"]}`} {
		if found := s.File(file, fmt.Appendf(nil, form, "memory_store")); len(found.Uses) != 1 {
			t.Errorf("%s, with the server's name in front: %v", file, found.Uses)
		}
	}
}

// A use of a name is not a definition.
func TestUseIsNoDefinition(t *testing.T) {
	t.Parallel()
	s := files.Search{Rewriter: migration.NewRewriter(app.Families())}
	for _, text := range []string{
		`client.callTool({name: "memory_store", arguments: {description: "a"}})`, `session.call_tool("memory_store", {"description": "a"})`,
		`if (call.name === "memory_store") return describe(description);`, `switch (name) { case "memory_store": return description }`,
		`allowedTools: ["memory_store"], description: "x"`, `{type: "tool_use", name: "memory_store", input: {description: "x"}}`,
		`const handlers = { memory_store: onStore, description: 1 }`, `tool.get("memory_store")`, `useTool("memory_store")`,
		`mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "memory_store", Arguments: args}}`, `// the tool "memory_store" is called`,
		"@tool\ndef other(key):\n    return call_tool(\"memory_store\", {})\n", "[McpServerTool]\nvoid Other() {}\nvoid memory_store() {}",
	} {
		for _, file := range []string{"a.ts", "a.py", "a.go", "a.rs", "a.cs", "a.java", "a.rb", "a.kt"} {
			if own := s.Defines(file, text); len(own) > 0 {
				t.Errorf("%s defines %v: %s", file, own, text)
			}
		}
	}
}
