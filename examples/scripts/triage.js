// Reads issues from files, one JSON object each, and notes the open ones with their people in a graph.
// Repeated, it changes nothing: the graph ignores what it has. It needs two servers:
//
//	toolfold upstream add files -- npx -y @modelcontextprotocol/server-filesystem /path/to/issues
//	toolfold upstream add graph -- npx -y @modelcontextprotocol/server-memory
//	toolfold script run triage.js --input '{"dir": "/path/to/issues"}'
const { content } = await files.list_directory({ path: input.dir });
const names = content.split("\n").filter((line) => line.startsWith("[FILE]")).map((line) => line.slice("[FILE] ".length));
const issues = await Promise.all(names.map(async (name) => {
  const { content } = await files.read_text_file({ path: input.dir + "/" + name });
  return JSON.parse(content);
}));
const open = issues.filter((issue) => issue.state === "open");
const people = [...new Set(open.map((issue) => issue.assignee))].sort();

await graph.create_entities({
  entities: [
    ...people.map((name) => ({ name, entityType: "person", observations: [] })),
    ...open.map((issue) => ({ name: "issue " + issue.number, entityType: "issue", observations: [issue.title] })),
  ],
});
await graph.create_relations({
  relations: open.map((issue) => ({ from: issue.assignee, to: "issue " + issue.number, relationType: "works on" })),
});
return { read: issues.length, open: open.length, people };
