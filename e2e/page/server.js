// An MCP server whose tools are in a file, which a test changes: node server.js TOOLS.json

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  if (id === undefined) continue;
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'changing', version: '1' } },
    'tools/list': { tools: JSON.parse(readFileSync(process.argv[2], 'utf8')) },
    'tools/call': { content: [{ type: 'text', text: 'done' }] },
  };
  const answer = results[method] ? { result: results[method] } : { error: { code: -32601, message: 'no such method' } };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
}
