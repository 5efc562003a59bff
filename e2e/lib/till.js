// An MCP server on stdio for tests, whose one tool must not be called twice: it appends the id that
// it gets to a file, and answers. node till.js FILE

import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const file = process.argv[2];
const tool = {
  name: 'pay', description: 'Pay.',
  inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false },
};

const methods = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'till', version: '1' } }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': ({ arguments: { id } }) => {
    appendFileSync(file, `${id}\n`);
    return { content: [{ type: 'text', text: JSON.stringify({ paid: id }) }] };
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = methods[method]
    ? { result: methods[method](params ?? {}) }
    : { error: { code: -32601, message: `no method ${method}` } };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\n');
});
