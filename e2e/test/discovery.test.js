// Finding, describing and calling what is not listed in full, as tools for a
// model and as an extension of the protocol for a client that knows it.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { success } from '../lib/answers.js';
import { clients, connect, fresh, transports } from '../lib/clients.js';
import { listedTools, modes } from '../lib/expected.js';
import { placeFor } from '../lib/server.js';

const everyWay = clients.flatMap((kind) => transports.flatMap((transport) => modes.map((mode) => ({ kind, transport, mode }))));

for (const { kind, transport, mode } of everyWay) {
  test(`discovery, ${kind.name} (${kind.revision}), ${transport}, ${mode}`, async (t) => {
    const client = await connect(t, kind, transport, placeFor(t), { mode });
    await t.test('find, describe, call', () => findAndCall(client, mode));
    await t.test('tools/list takes lazy', () => checkLazy(client, mode));
    await t.test('tools/describe', () => checkDescribe(client, kind.anyResult));
    await t.test('tools/describe_batch', () => checkBatch(client, kind.anyResult));
  });
}

// What the mode calls the discovery actions, and the action that is found.
const names = {
  consolidated: { find: 'tools', describe: 'tools', call: 'tool_call', found: 'memory.store' },
  legacy: { find: 'tool_find', describe: 'tool_describe', call: 'tool_call', found: 'memory_store' },
};

/** From words to a result, as a model would that knows only the tools tool. */
async function findAndCall(client, mode) {
  const selector = (action) => (names[mode][action] === 'tools' ? { action } : {});
  const tools = async (action, args) =>
    success(await client.callTool({ name: names[mode][action], arguments: { ...selector(action), ...args } }));
  const found = await tools('find', { query: 'remember a decision' });
  const [{ name }] = found.results;
  assert.equal(name, names[mode].found);
  const described = await tools('describe', { name });
  assert.equal(described.tools.length, 1);
  const stored = await tools('call', { name, arguments: { key: 'decision', value: { yes: true } } });
  assert.equal(stored.replaced, false);
  const got = await client.callTool({ name: 'memory', arguments: { action: 'get', key: 'decision' } });
  assert.deepEqual(success(got).value, { yes: true });
}

async function checkLazy(client, mode) {
  const list = async (params) => (await client.listTools(params, fresh)).tools;
  const [stubs, usual, whole] = [await list({ lazy: true }), await list(), await list({ lazy: false })];
  const sizes = [stubs, usual, whole].map((tools) => JSON.stringify(tools).length);
  // Legacy mode shows whole schemas already.
  assert.ok(sizes[0] < sizes[1] && (mode === 'legacy' ? sizes[1] === sizes[2] : sizes[1] < sizes[2]), sizes.join(' '));
  for (const tools of [stubs, usual, whole]) assert.equal(tools.length, listedTools(mode));
}

async function checkDescribe(client, schema) {
  const describe = (name) => client.request({ method: 'tools/describe', params: { tool_name: name } }, schema);
  for (const name of ['memory', 'memory.store', 'memory_store']) {
    const answer = await describe(name);
    assert.equal(answer.tool_name, name);
    assert.equal(answer.schema.inputSchema.type, 'object');
  }
  await assert.rejects(describe('memroy'), { code: -32602, message: /memory/ });
}

async function checkBatch(client, schema) {
  const params = { tool_names: ['memory', 'no_such_tool', 'session.join'] };
  const answer = await client.request({ method: 'tools/describe_batch', params }, schema);
  assert.deepEqual(answer.tools.map((tool) => tool.tool_name), ['memory', 'session.join']);
  assert.deepEqual(answer.errors.map((error) => error.tool_name), ['no_such_tool']);
}
