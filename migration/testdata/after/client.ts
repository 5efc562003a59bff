// memory_store is called below
const memory_store = 'x';
await client.callTool({ name: "memory_store", arguments: { key: 'a', value: 1 } });
await client.callTool({ name: 'task_list', arguments: {} });
const allowed = ['mcp__toolfold__queue_list'];
