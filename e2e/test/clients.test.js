// Each official client, on each transport, in each mode: what it is listed,
// and some work with the memory tools.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { failure, mend, success } from '../lib/answers.js';
import { memory, otherMode } from '../lib/calls.js';
import { clients, connect, fresh, transports } from '../lib/clients.js';
import { listedTools, maxInstructions, modes } from '../lib/expected.js';
import { placeFor, runCommand } from '../lib/server.js';

for (const kind of clients) {
  for (const transport of transports) {
    for (const mode of modes) {
      test(`${kind.name} (${kind.revision}), ${transport}, ${mode}`, async (t) => {
        const client = await connect(t, kind, transport, placeFor(t), { mode });
        await t.test('agrees on the revision', () => assert.equal(client.revision, kind.revision));
        await t.test('is listed every tool', () => checkList(client, mode));
        await t.test('is listed the same again', () => checkStable(client));
        await t.test('gets short instructions', () => checkInstructions(client));
        await t.test('stores, reads, finds, lists and deletes', () => workWithMemory(client, memory[mode]));
        await t.test('calls by the names of the other mode', () => workWithMemory(client, memory[otherMode(mode)]));
        await t.test('is told that a legacy name is one', () => checkDeprecation(client));
        await t.test('mends refused calls from the error', () => checkErrors(client, mode));
      });
    }
  }
}

for (const mode of modes) {
  test(`strict names, ${mode}`, async (t) => {
    const client = await connect(t, clients[0], 'stdio', placeFor(t), { mode, more: ['--strict-names'] });
    success(await client.callTool(memory[mode]('list')));
    const error = failure(await client.callTool(memory[otherMode(mode)]('list')));
    assert.equal(error.code, 'UNKNOWN_TOOL');
  });

  test(`the command line lists the same, ${mode}`, async (t) => {
    const { code, stdout } = await runCommand(placeFor(t), 'tools', '--json', '--tool-mode', mode);
    assert.equal(code, 0);
    const listing = JSON.parse(stdout);
    assert.equal(listing.tools.length, listedTools(mode));
    assert.equal(listing.total.tools, listedTools(mode));
  });
}

async function checkList(client, mode) {
  const { tools } = await client.listTools();
  assert.equal(tools.length, listedTools(mode), tools.map((tool) => tool.name).join(' '));
  const names = new Set(tools.map((tool) => tool.name));
  assert.equal(names.size, tools.length, 'names are unique');
  assert.ok(names.has(memory[mode]('store').name));
  assert.ok(!names.has(memory[otherMode(mode)]('store').name));
  for (const { name, description, inputSchema } of tools) {
    assert.ok(description, `${name} has a description`);
    assert.equal(inputSchema.type, 'object');
  }
}

async function checkStable(client) {
  const [before, after] = [await client.listTools(), await client.listTools({}, fresh)];
  assert.deepEqual(after.tools, before.tools);
}

function checkInstructions(client) {
  const instructions = client.getInstructions();
  assert.ok(instructions.length > 0 && instructions.length <= maxInstructions, `${instructions.length} characters`);
}

/** Works with the memory tools under the names that call makes. */
async function workWithMemory(client, call) {
  const key = 'team/rules';
  const value = { freeze: 'Friday', exact: 12345678901, nested: { list: [1, 'zwei', null, true] }, text: 'Ünïcödé 🧰' };
  const run = async (action, args) => success(await client.callTool(call(action, args)));

  assert.equal((await run('store', { key, value })).replaced, false);
  assert.equal((await run('store', { key, value })).replaced, true);
  const got = await run('get', { key });
  assert.equal(got.found, true);
  assert.deepEqual(got.value, value);
  const hits = await run('search', { query: 'freeze friday' });
  assert.deepEqual(hits.results.map((hit) => hit.key), [key]);
  const list = await run('list', { prefix: 'team/' });
  assert.deepEqual(list.keys.map((entry) => entry.key), [key]);
  assert.equal(list.total, 1);
  assert.equal((await run('delete', { key })).deleted, true);
  assert.equal((await run('get', { key })).found, false);
}

async function checkDeprecation(client) {
  const old = await client.callTool(memory.legacy('list'));
  assert.deepEqual(old._meta['toolfold/deprecated'], { tool: 'memory', action: 'list' });
  const now = await client.callTool(memory.consolidated('list'));
  assert.equal(now._meta?.['toolfold/deprecated'], undefined);
}

async function checkErrors(client, mode) {
  for (const [what, call] of Object.entries(wrongCalls[mode])) {
    const error = failure(await client.callTool(call));
    assert.ok(error.problems.length > 0, `${what}: problems`);
    assert.ok(error.usage, `${what}: usage`);
    assert.ok(error.example, `${what}: example`);
    success(await client.callTool({ name: call.name, arguments: mend(call.arguments, error) }));
  }
}

const wrongCalls = {
  consolidated: {
    'a parameter is missing and one misspelt': memory.consolidated('store', { keey: 'team/motto' }),
    'types are wrong': memory.consolidated('store', { key: 7, value: 'text', namespace: [] }),
    'the action is misspelt': memory.consolidated('stroe', { key: 'team/motto', value: {} }),
    'the action is missing': { name: 'memory', arguments: { key: 'team/motto', value: {} } },
    'a parameter belongs to another action': memory.consolidated('delete', { key: 'team/motto', limit: 3 }),
    'a number is out of range': memory.consolidated('search', { query: 'motto', limit: 1000 }),
  },
  legacy: {
    'parameters are missing': memory.legacy('store'),
    'types are wrong': memory.legacy('store', { key: 7, value: 'text', namespace: [] }),
    'a number is out of range': memory.legacy('search', { query: 'motto', limit: 1000 }),
  },
};
