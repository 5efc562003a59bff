// An MCP server whose tools are in a file, which a test changes: node server.js TOOLS.json. The tool ask_item asks the
// user, and returns the answer. The tool write_item ends the server if its path is "cut off".

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
const form = {
  message: 'Which fruit, and how many?',
  requestedSchema: {
    type: 'object', required: ['fruit', 'many'],
    properties: {
      fruit: { type: 'string', enum: ['apple', 'plum'], enumNames: ['Apple', 'Plum'] },
      many: { type: 'integer', title: 'How many', minimum: 1, maximum: 9, default: 2 },
      note: { type: 'string', description: 'Anything else.' },
      sweet: { type: 'boolean' },
    },
  },
};
let asking; // id of the call that asks

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result } = JSON.parse(line);
  if (id === undefined) continue;
  if (method === 'tools/call' && params.name === 'ask_item') {
    asking = id;
    say({ id: 'question', method: 'elicitation/create', params: form });
    continue;
  }
  if (id === 'question') {
    say({ id: asking, result: { content: [{ type: 'text', text: `answered ${JSON.stringify(result)}` }] } });
    continue;
  }
  if (method === 'tools/call' && params.arguments?.path === 'cut off') process.exit(1);
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'changing', version: '1' } },
    'tools/list': { tools: JSON.parse(readFileSync(process.argv[2], 'utf8')) },
    'tools/call': { content: [{ type: 'text', text: 'done' }] },
  };
  const answer = results[method] ? { result: results[method] } : { error: { code: -32601, message: 'no such method' } };
  say({ id, ...answer });
}
