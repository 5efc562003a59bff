// What the server offers beside tools, through each official client on each transport:
// prompts, resources, completion, subscriptions and skills.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

import { memory } from '../lib/calls.js';
import { clients, connect, fresh, transports } from '../lib/clients.js';
import { placeFor, runCommand } from '../lib/server.js';

const modern = '2026-07-28';
const long = 'long '.repeat(20_000);

const files = {
  'workflows/pick.yaml': `name: Pick
description: Counts notes.
inputSchema: {type: object, properties: {kind: {enum: [red, green, grey]}}, required: [kind]}
steps: [{stepId: count, type: tool, config: {tool: memory.list, arguments: {limit: 1}}}]
`,
  'workflows/read-long.yaml': 'name: Read long\nsteps: [{stepId: read, type: tool, config: {tool: memory.get, arguments: {key: long}}}]\n',
  'abilities/deploy/SKILL.md': '---\nname: deploy\ndescription: Deploys.\n---\nSee ref/steps.md.\n',
  'abilities/deploy/ref/steps.md': 'One, two.\n',
};

function placeWithFiles(t) {
  const place = placeFor(t);
  for (const [name, text] of Object.entries(files)) {
    const path = join(place.workspace, '.toolfold', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return place;
}

for (const kind of clients) {
  for (const transport of transports) {
    test(`${kind.name} (${kind.revision}), ${transport}`, async (t) => {
      const place = placeWithFiles(t);
      const client = await connect(t, kind, transport, place, { more: ['--resources=all'] });
      assert.equal(client.revision, kind.revision);

      await t.test('prompts', async () => {
        const { prompts } = await client.listPrompts();
        assert.deepEqual(prompts.map((p) => p.name), ['run-pick', 'run-read-long']);
        assert.deepEqual(prompts[0].arguments.map((a) => [a.name, a.required]), [['kind', true]]);
        const ref = { type: 'ref/prompt', name: 'run-pick' };
        const { completion } = await client.complete({ ref, argument: { name: 'kind', value: 'gr' } });
        assert.deepEqual(completion, { values: ['green', 'grey'], total: 2, hasMore: false });
        const { messages } = await client.getPrompt({ name: 'run-pick', arguments: { kind: 'grey' } });
        assert.match(messages[0].content.text, /"workflowId":"pick","input":\{"kind":"grey"\}/);
        await assert.rejects(client.getPrompt({ name: 'run-pick', arguments: {} }), /prompt run-pick needs kind/);
        await assert.rejects(client.getPrompt({ name: 'run-nothing' }), /there is no prompt "run-nothing": prompts\/list has all/);
      });

      await t.test('resources', async () => {
        for (const key of ['team/a b', 'team/c']) await client.callTool(memory.consolidated('store', { key, value: { is: key } }));
        const { resources } = await client.listResources(undefined, fresh);
        const found = resources.find((r) => r.name === 'team/a b');
        assert.deepEqual(JSON.parse(await read(client, found.uri)), { is: 'team/a b' });
        assert.ok(resources.some((r) => r.uri === 'skill://deploy/SKILL.md'));
        const { resourceTemplates } = await client.listResourceTemplates();
        const { uriTemplate: uri } = resourceTemplates.find((r) => r.name === 'note');
        const ref = { type: 'ref/resource', uri };
        const { completion } = await client.complete({ ref, argument: { name: 'key', value: 'team/' }, context: { arguments: { namespace: 'default' } } });
        assert.deepEqual(completion.values.toSorted(), ['team/a b', 'team/c']);
        const namespaces = await client.complete({ ref, argument: { name: 'namespace', value: 'd' } });
        assert.deepEqual(namespaces.completion.values, ['default']);
        const missing = await client.readResource({ uri: 'toolfold://memory/default/nothing' }).catch((error) => error);
        // The second client has the code of today for that of before.
        assert.equal(missing.code, kind.name.includes('v1') ? -32002 : -32602, missing.message);
      });

      await t.test('a result that was cut', async () => {
        await client.callTool(memory.consolidated('store', { key: 'long', value: { text: long } }));
        for (const cut of [{ name: 'workflow', arguments: { action: 'run', workflowId: 'read-long' } }, memory.consolidated('get', { key: 'long' })]) {
          const [block, link, ...more] = (await client.callTool(cut)).content;
          assert.deepEqual([block.type, link?.type, more.length], ['text', 'resource_link', 0]);
          assert.match(JSON.parse(block.text).warnings.join(), /cut from \d+ bytes/);
          assert.ok((await read(client, link.uri)).includes(long), 'the resource is the whole');
        }
      });

      await t.test('subscriptions', async () => {
        await client.callTool(memory.consolidated('store', { key: 'watched', value: { n: 1 } }));
        const { resources } = await client.listResources(undefined, fresh);
        const { uri } = resources.find((r) => r.name === 'watched');
        const updates = [];
        const handler = ({ params }) => { updates.push(params.uri); };
        client.setNotificationHandler(kind.name.includes('v1') ? ResourceUpdatedNotificationSchema : 'notifications/resources/updated', handler);
        const listening = kind.revision === modern ? await client.listen({ resourceSubscriptions: [uri] }) : undefined;
        if (!listening) await client.subscribeResource({ uri });
        await client.callTool(memory.consolidated('store', { key: 'other', value: { n: 2 } }));
        await client.callTool(memory.consolidated('store', { key: 'watched', value: { n: 2 } }));
        await until(() => updates.length === 1, 'the client is told of its own change');
        const other = await runCommand(place, 'call', '--store', place.store, '--workspace', place.workspace, 'memory.store', '{"key":"watched","value":{"n":3}}');
        assert.equal(other.code, 0, other.stderr);
        await until(() => updates.length === 2, 'the client is told of a change by another process');
        assert.deepEqual([...new Set(updates)], [uri]);
        await (listening ? listening.close() : client.unsubscribeResource({ uri }));
        await client.callTool(memory.consolidated('store', { key: 'watched', value: { n: 4 } }));
        await new Promise((over) => { setTimeout(over, 300); });
        assert.equal(updates.length, 2, 'who has unsubscribed is told');
      });

      await t.test('skills', async () => {
        const ask = (method, params = {}) => client.request({ method, params }, kind.anyResult);
        const { skills } = await ask('skills/list');
        assert.deepEqual(skills.map((s) => s.frontmatter), [{ name: 'deploy', description: 'Deploys.' }]);
        assert.deepEqual((await ask('skills/get', { uri: skills[0].uri })).skill, skills[0]);
        for (const { uri, digest, size } of skills[0].resources) {
          const text = await read(client, uri);
          assert.equal(`sha256:${createHash('sha256').update(text).digest('hex')}`, digest, uri);
          assert.equal(Buffer.byteLength(text), size, uri);
        }
        const folder = await ask('resources/directory/read', { uri: 'skill://deploy' });
        assert.deepEqual(folder.resources.map((r) => r.uri), ['skill://deploy/ref', 'skill://deploy/SKILL.md']);
      });
    });
  }
}

/** The text of a resource. */
async function read(client, uri) {
  const { contents } = await client.readResource({ uri }, fresh);
  assert.equal(contents.length, 1);
  assert.equal(contents[0].uri, uri);
  return contents[0].text;
}

/** Waits until a condition holds. */
async function until(holds, what) {
  for (const end = Date.now() + 10_000; !holds();) {
    assert.ok(Date.now() < end, what);
    await new Promise((over) => { setTimeout(over, 50); });
  }
}
