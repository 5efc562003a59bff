// Servers from npm, called by the official clients directly and by way of the gateway.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { clients } from '../lib/clients.js';
import { atEnd, placeFor, runCommand } from '../lib/server.js';

/** The command line of a server from npm. */
function program(name, ...args) {
  const path = createRequire(import.meta.url).resolve(`${name}/package.json`);
  const { bin } = JSON.parse(readFileSync(path, 'utf8'));
  return { command: process.execPath, args: [join(dirname(path), typeof bin === 'string' ? bin : Object.values(bin)[0]), ...args] };
}

const v1 = clients.find((kind) => kind.name === 'TypeScript v1');

/** What a client answers when it is asked. */
const answers = [
  [CreateMessageRequestSchema, () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'Well.' }, stopReason: 'endTurn' })],
  [ElicitRequestSchema, ({ params }) => (params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { name: 'Ada', check: true } })],
  [ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///somewhere', name: 'somewhere' }] })],
];

/** Connects a client that can be asked everything, until test t ends. */
async function connect(t, kind, command) {
  const all = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} };
  const client = kind.client(kind === v1 ? { capabilities: all } : {});
  if (kind === v1) answers.forEach(([schema, answer]) => client.setRequestHandler(schema, answer));
  atEnd(t, () => client.close());
  await client.connect(new kind.Stdio({ ...command, stderr: 'pipe' }));
  return client;
}

/** Serves upstreams alone, known already, each for its session: some of them keep the roots of a client. */
async function serving(t, upstreams) {
  const place = placeFor(t);
  for (const upstream of Object.values(upstreams)) upstream.isolate = 'session';
  mkdirSync(join(place.dir, 'toolfold'), { recursive: true });
  writeFileSync(join(place.dir, 'toolfold', 'config.json'), JSON.stringify({ upstreams }));
  const { code, stdout, stderr } = await runCommand(place, 'upstream', 'check');
  assert.equal(code, 0, stderr + stdout);
  return place;
}

/** The result of a call, without what belongs to the connection; an error of the protocol as such. */
async function call(client, name, args, progress) {
  try {
    const { _meta: { 'io.modelcontextprotocol/serverInfo': _, ...meta } = {}, resultType, ...result } = await client.callTool(
      { name, arguments: args }, undefined, progress && { onprogress: progress },
    );
    return Object.keys(meta).length > 0 ? { ...result, _meta: meta } : result;
  } catch (error) {
    return { refused: error.message };
  }
}

const calls = [
  ['echo', { message: 'é<&>\n' }], ['get-sum', { a: 1.5, b: 2 }], ['get-tiny-image', {}],
  ['get-annotated-message', { messageType: 'error', includeImage: true }], ['get-annotated-message', { messageType: 'debug' }],
  ['get-resource-links', { count: 3 }], ['get-resource-reference', { resourceType: 'Blob', resourceId: 2 }],
  ['get-structured-content', { location: 'Chicago' }],
  ['gzip-file-as-resource', { name: 'a.gz', data: 'data:text/plain,hello', outputType: 'resource' }],
  ['toggle-simulated-logging', {}], ['toggle-simulated-logging', {}], ['toggle-subscriber-updates', {}], ['toggle-subscriber-updates', {}],
  ['trigger-long-running-operation', { duration: 0.2, steps: 2 }],
];
const questions = [
  ['get-roots-list', {}], ['trigger-elicitation-request', {}], ['trigger-sampling-request', { prompt: 'How?', maxTokens: 9 }],
  ['trigger-url-elicitation', { url: 'https://example.com/', elicitationId: 'one' }],
];
// What is different each time, or wants a task.
const apart = ['get-env', 'simulate-research-query'];

/** Results that name when they were made, without that. */
const timeless = (result) => JSON.parse(JSON.stringify(result)
  .replace(/"blob":"([^"]*)"/g, (_, blob) => `"blob":${JSON.stringify(Buffer.from(blob, 'base64').toString('latin1'))}`)
  .replace(/\d\d?:\d\d:\d\d( [AP]M)?/g, 'TIME').replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'));

/** What came by way of the gateway, with the URIs that the server has. */
const asServer = (result) => JSON.parse(JSON.stringify(result).replaceAll('"toolfold://upstream/everything/', '"'));

for (const kind of clients) {
  test(`server-everything, ${kind.name}`, async (t) => {
    const everything = program('@modelcontextprotocol/server-everything');
    const place = await serving(t, { everything: { ...everything, env: { GIVEN: 'this' } } });
    const older = clients.find((other) => other.name === 'TypeScript v2, legacy'); // the server speaks 2025-11-25 only
    const direct = await connect(t, kind === v1 ? v1 : older, { ...everything, env: place.env });
    const { command, args, env } = place.serve({ more: ['--tier=none'] });
    const through = await connect(t, kind, { command, args, env: { ...env, SECRET: 'hidden' } });
    const list = kind === v1 ? [...calls, ...questions] : calls;
    if (kind === v1) {
      const { tools } = await direct.listTools();
      assert.deepEqual(tools.map(({ name }) => name).sort(), [...new Set([...list.map(([name]) => name), ...apart])].sort(), 'each is called');
    }
    for (const [name, params] of list) {
      const reports = [[], []];
      const results = [];
      for (const [i, client] of [direct, through].entries()) {
        results.push(timeless(await call(client, i === 0 ? name : `everything.${name}`, params, ({ progress, total }) => reports[i].push([progress, total]))));
      }
      assert.equal(results[0].refused, undefined, name);
      assert.deepEqual(asServer(results[1]), results[0], name);
      assert.deepEqual(reports[1][0], reports[0][0], `progress of ${name}`); // the client drops what comes together with the result
    }
    const given = (await call(through, 'everything.get-env', {})).content[0].text;
    assert.match(given, /"GIVEN": "this"/);
    assert.doesNotMatch(given, /hidden/);
  });
}

/** All entries of a list of ours that are of server-everything. */
async function listAll(client, method, member) {
  const all = [];
  for (let cursor; ;) {
    const page = await client[method](cursor && { cursor });
    all.push(...page[member]);
    if (!(cursor = page.nextCursor)) return all;
  }
}

/** A result without what belongs to the connection. */
const settled = ({ _meta, resultType, ttlMs, cacheScope, ...result }) => timeless(asServer(result));

for (const kind of clients) {
  test(`prompts and resources of server-everything, ${kind.name}`, async (t) => {
    const everything = program('@modelcontextprotocol/server-everything');
    const place = await serving(t, { everything });
    const older = clients.find((other) => other.name === 'TypeScript v2, legacy');
    const direct = await connect(t, kind === v1 ? v1 : older, { ...everything, env: place.env });
    const through = await connect(t, kind, place.serve({ more: ['--tier=none'] }));

    const prompts = await listAll(direct, 'listPrompts', 'prompts');
    assert.ok(prompts.length > 3);
    const folded = await listAll(through, 'listPrompts', 'prompts');
    assert.deepEqual(folded.map(({ name }) => name), prompts.map(({ name }) => `everything-${name}`));
    for (const { name, title, arguments: declared = [], ...prompt } of prompts) {
      const { name: _, arguments: parameters = [], ...got } = folded.find((other) => other.name === `everything-${name}`);
      assert.deepEqual([got, parameters], [prompt, declared], name);
      const values = { resourceType: 'Text', resourceId: '1', department: 'Engineering', name: 'Alice' };
      const args = Object.fromEntries(declared.map((argument) => [argument.name, values[argument.name] ?? 'Paris']));
      const want = await direct.getPrompt({ name, arguments: args });
      assert.deepEqual(settled(await through.getPrompt({ name: `everything-${name}`, arguments: args })), settled(want), name);
      for (const argument of declared) {
        const completion = { argument: { name: argument.name, value: '' }, context: { arguments: { department: 'Sales' } } };
        const completed = await direct.complete({ ref: { type: 'ref/prompt', name }, ...completion }).catch((error) => ({ refused: error.code }));
        const again = await through.complete({ ref: { type: 'ref/prompt', name: `everything-${name}` }, ...completion })
          .catch((error) => ({ refused: error.code }));
        assert.deepEqual(settled(again), settled(completed), `${name} ${argument.name}`);
      }
    }
    await assert.rejects(through.getPrompt({ name: 'everything-args-prompt', arguments: {} }), /everything refused/);
    await assert.rejects(through.getPrompt({ name: 'everything-none' }), /there is no prompt/);

    const under = 'toolfold://upstream/everything/';
    const ofUpstream = (list, key) => list.filter((entry) => entry[key].startsWith(under));
    const resources = await listAll(direct, 'listResources', 'resources');
    assert.ok(resources.length > 3);
    assert.deepEqual(asServer(ofUpstream(await listAll(through, 'listResources', 'resources'), 'uri')), resources);
    const templates = await listAll(direct, 'listResourceTemplates', 'resourceTemplates');
    assert.ok(templates.length > 1);
    assert.deepEqual(asServer(ofUpstream(await listAll(through, 'listResourceTemplates', 'resourceTemplates'), 'uriTemplate')), templates);
    for (const uri of [...resources.map((resource) => resource.uri), 'demo://resource/dynamic/text/7', 'demo://resource/dynamic/blob/8']) {
      assert.deepEqual(settled(await through.readResource({ uri: under + uri })), settled(await direct.readResource({ uri })), uri);
    }
    await assert.rejects(direct.readResource({ uri: 'demo://none' }), ({ code }) => [-32002, -32602].includes(code));
    await assert.rejects(through.readResource({ uri: `${under}demo://none` }), ({ code }) => [-32002, -32602].includes(code));
    for (const { uriTemplate } of templates) {
      const completion = { argument: { name: 'resourceId', value: '1' } };
      const want = await direct.complete({ ref: { type: 'ref/resource', uri: uriTemplate }, ...completion });
      assert.deepEqual(settled(await through.complete({ ref: { type: 'ref/resource', uri: under + uriTemplate }, ...completion })), settled(want));
    }
  });
}

test('subscriptions to resources of server-everything', async (t) => {
  const place = await serving(t, { everything: program('@modelcontextprotocol/server-everything') });
  const client = await connect(t, v1, place.serve({ more: ['--tier=none'] }));
  const updated = new Promise((resolve) => {
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri));
  });
  const [{ uri }] = await listAll(client, 'listResources', 'resources');
  await client.subscribeResource({ uri });
  await call(client, 'everything.toggle-subscriber-updates', {});
  assert.equal(await updated, uri);
  await client.unsubscribeResource({ uri });
});

test('clients that read resources in place of calls are told of none', async (t) => {
  const place = await serving(t, { everything: program('@modelcontextprotocol/server-everything') });
  const client = await connect(t, v1, place.serve({ more: ['--tier=none', '--for=codex'] }));
  const { resources, prompts } = client.getServerCapabilities();
  assert.equal(resources, undefined);
  assert.ok(prompts);
  const { content } = await call(client, 'everything.get-resource-links', { count: 1 });
  assert.match(content[1].uri, /^demo:/);
  await assert.rejects(client.listResources(), /not supported/);
});

test('log messages and cancellation', async (t) => {
  const everything = program('@modelcontextprotocol/server-everything');
  const place = await serving(t, { everything });
  const client = await connect(t, v1, place.serve({ more: ['--tier=none'] }));
  const messages = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => { messages.push(params); });
  await client.setLoggingLevel('debug');
  await call(client, 'everything.toggle-simulated-logging', {}); // it logs at once and every 5 s, while a call runs
  await call(client, 'everything.trigger-long-running-operation', { duration: 6, steps: 1 });
  assert.ok(messages.length > 0, 'nothing was logged');
  assert.match(JSON.stringify(messages), /-level message|Debug|message/); // it may log first that it knows the roots
  const cancelled = new AbortController();
  setTimeout(() => cancelled.abort('enough'), 300);
  const before = Date.now();
  await assert.rejects(client.callTool(
    { name: 'everything.trigger-long-running-operation', arguments: { duration: 30, steps: 30 } }, undefined, { signal: cancelled.signal },
  ));
  assert.ok(Date.now() - before < 5000);
});

test('filesystem, memory and sequential thinking', async (t) => {
  const place = placeFor(t);
  const file = join(place.workspace, 'a.txt');
  const steps = {
    files: ['@modelcontextprotocol/server-filesystem', [place.workspace], [
      ['write_file', { path: file, content: 'one\ntwo\n' }], ['read_text_file', { path: file, head: 1 }], ['list_directory', { path: place.workspace }],
      ['edit_file', { path: file, edits: [{ oldText: 'one', newText: '1' }], dryRun: true }], ['read_text_file', { path: '/etc/passwd' }],
      ['list_allowed_directories', {}], ['directory_tree', { path: place.workspace }],
    ]],
    notes: ['@modelcontextprotocol/server-memory', [], [
      ['create_entities', { entities: [{ name: 'A', entityType: 't', observations: ['o'] }] }], ['read_graph', {}], ['search_nodes', { query: 'A' }],
      ['delete_entities', { entityNames: ['A'] }], ['read_graph', {}],
    ]],
    thinking: ['@modelcontextprotocol/server-sequential-thinking', [], [
      ['sequentialthinking', { thought: 'Hm.', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }],
    ]],
  };
  const upstreams = {};
  const env = (name, side) => ({ MEMORY_FILE_PATH: join(place.dir, `${name}-${side}.jsonl`) });
  for (const [name, [from, args]] of Object.entries(steps)) upstreams[name] = { ...program(from, ...args), env: env(name, 'through') };
  const folded = await serving(t, upstreams);
  const through = await connect(t, v1, folded.serve({ more: ['--tier=none'] }));
  for (const [name, [from, args, list]] of Object.entries(steps)) {
    const direct = await connect(t, v1, { ...program(from, ...args), env: { ...place.env, ...env(name, 'direct') } });
    for (const [tool, params] of list) {
      const want = await call(direct, tool, params);
      assert.equal(want.refused, undefined, tool);
      assert.deepEqual(await call(through, `${name}.${tool}`, params), want, tool);
    }
  }
});

test('lists of others', async (t) => {
  const servers = { playwright: '@playwright/mcp', notion: '@notionhq/notion-mcp-server' };
  const upstreams = Object.fromEntries(Object.entries(servers).map(([name, from]) => [name, program(from)]));
  const place = await serving(t, upstreams);
  for (const [name, from] of Object.entries(servers)) {
    const direct = await connect(t, v1, { ...program(from), env: place.env });
    const { tools } = await direct.listTools();
    const { code, stdout, stderr } = await runCommand(place, 'upstream', 'check', name);
    assert.equal(code, 0, stderr + stdout);
    assert.match(stdout, new RegExp(`^${name} +${tools.length} `, 'm'));
    const through = await connect(t, v1, place.serve({ more: ['--tier=none'] }));
    for (const tool of tools) {
      const { schema: { name: folded, ...rest } } = await through.request(
        { method: 'tools/describe', params: { tool_name: `${name}.${tool.name}` } }, v1.anyResult,
      );
      assert.match(folded, new RegExp(`^${name}[._]`));
      const { name: _, ...sent } = tool;
      assert.deepEqual(rest, sent);
    }
  }
});
