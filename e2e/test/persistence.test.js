// What one server stored, the next one has, whatever the transport.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { success } from '../lib/answers.js';
import { memory } from '../lib/calls.js';
import { clients, connect } from '../lib/clients.js';
import { placeFor } from '../lib/server.js';

const [client] = clients;
const entry = { key: 'notes/persistent', value: { kept: true }, namespace: 'e2e' };

test('stored over stdio, read over HTTP by the next server', async (t) => {
  const place = placeFor(t);
  await t.test('store', async (t) => {
    const writer = await connect(t, client, 'stdio', place, { mode: 'consolidated' });
    success(await writer.callTool(memory.consolidated('store', entry)));
  });
  await t.test('read', async (t) => {
    const reader = await connect(t, client, 'http', place, { mode: 'legacy' });
    const got = success(await reader.callTool(memory.legacy('get', { key: entry.key, namespace: entry.namespace })));
    assert.deepEqual(got.value, entry.value);
  });
});

test('two servers share a store at the same time', async (t) => {
  const place = placeFor(t);
  const one = await connect(t, client, 'stdio', place);
  const other = await connect(t, client, 'http', place);
  const writes = [one, other].flatMap((writer, w) => Array.from({ length: 20 }, (_, n) =>
    writer.callTool(memory.consolidated('store', { key: `shared/${w}/${n}`, value: { n } }))));
  (await Promise.all(writes)).forEach(success);
  for (const reader of [one, other]) {
    assert.equal(success(await reader.callTool(memory.consolidated('list', { prefix: 'shared/' }))).total, 40);
  }
});
