// Two repositories and three agents on one store: notes stay with their repository, a note that
// was replaced or deleted comes back, a session is handed over, an agent is killed in the middle
// of its stores, and a backup goes into a store of the other kind.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { failure, success } from '../lib/answers.js';
import { attach, clients } from '../lib/clients.js';
import { placeFor, runCommand } from '../lib/server.js';
import { stores } from '../lib/stores.js';

for (const [kind, storeFor] of Object.entries(stores)) {
  test(`two repositories and three agents, ${kind}`, async (t) => {
    const place = placeFor(t);
    place.store = storeFor(place, t);
    const [api, site] = ['api', 'site'].map((name) => repository(place, name));
    const ada = await agent(t, api, 'ada', clients[0]);
    const bob = await agent(t, site, 'bob', clients[1]);
    const eve = await agent(t, api, 'eve', clients[2]);

    await t.test('notes stay with their repository', () => keepApart(ada, bob));
    await t.test('replaced and deleted notes come back', () => bringBack(ada, eve));
    await t.test('a session is handed over', () => handOver(ada, eve, bob));
    await t.test('a kill loses nothing that was answered', () => surviveKill(t, site, ada));
    await t.test('a backup goes into another store', () => backUp(t, place));
  });
}

/** A view of the place with a git repository as its workspace. */
function repository(place, name) {
  const workspace = join(place.dir, name);
  mkdirSync(workspace);
  for (const args of [['init', '-q'], ['remote', 'add', 'origin', `https://git.example.org/team/${name}.git`]]) {
    execFileSync('git', ['-C', workspace, ...args]);
  }
  return Object.assign(Object.create(place), { workspace });
}

/** An agent at work in a repository: a client with a server process of its own. */
async function agent(t, place, name, kind) {
  const transport = new kind.Stdio({ ...place.serve(), stderr: 'ignore' });
  const client = await attach(t, kind, transport, { name });
  const call = (tool, action, args) => client.callTool({ name: tool, arguments: { action, ...args } });
  return {
    transport,
    raw: call,
    memory: async (action, args) => success(await call('memory', action, args)),
    session: async (action, args) => success(await call('session', action, args)),
  };
}

const workspaces = { api: 'git.example.org/team/api', site: 'git.example.org/team/site' };

async function keepApart(ada, bob) {
  const key = 'release/plan';
  await ada.memory('store', { key, value: 'api ships on Monday' });
  const foreign = await bob.memory('get', { key });
  assert.deepEqual([foreign.value, foreign.workspace], ['api ships on Monday', workspaces.api], 'the only one is shown, and named');
  const answer = await bob.memory('delete', { key });
  assert.equal(answer.deleted, false);
  assert.ok(answer.message.includes(workspaces.api), answer.message);

  await bob.memory('store', { key, value: 'site ships on Friday', ifAbsent: true });
  const refused = failure(await bob.raw('memory', 'store', { key, value: 'never', ifAbsent: true }));
  assert.equal(refused.code, 'KEY_EXISTS');
  for (const [own, value] of [[ada, 'api ships on Monday'], [bob, 'site ships on Friday']]) {
    const got = await own.memory('get', { key });
    assert.deepEqual([got.value, got.workspace], [value, undefined]);
  }
  const owners = (await bob.memory('list', { prefix: 'release/' })).keys.map((entry) => entry.workspace);
  assert.deepEqual(owners, [undefined, workspaces.api], 'the own note first, the other named');
  const found = (await ada.memory('search', { query: 'ships' })).results.map((entry) => entry.workspace);
  assert.deepEqual(found, [undefined, workspaces.site]);

  await bob.memory('delete', { key });
  assert.equal((await ada.memory('get', { key })).value, 'api ships on Monday', 'the other note of this key is untouched');

  await ada.memory('store', { key: 'style', value: 'short sentences', scope: 'user' });
  const shared = await bob.memory('get', { key: 'style' });
  assert.deepEqual([shared.value, shared.workspace], ['short sentences', 'user']);
}

async function bringBack(ada, eve) {
  const key = 'decision';
  await ada.memory('store', { key, value: 'use PostgreSQL' });
  const replaced = await eve.memory('store', { key, value: 'use files' });
  assert.deepEqual([replaced.replaced, replaced.previous.author], [true, 'ada'], 'who wrote what is replaced');

  const { version } = replaced.previous;
  const history = (await ada.memory('list', { prefix: key, history: true })).keys;
  assert.deepEqual(history.map((entry) => [entry.version, entry.author]), [[version, 'ada']]);
  assert.equal((await ada.memory('get', { key, version })).value, 'use PostgreSQL');
  assert.equal((await ada.memory('restore', { key, version })).previous.author, 'eve');
  assert.equal((await eve.memory('get', { key })).value, 'use PostgreSQL');

  assert.equal((await eve.memory('delete', { key })).deleted, true);
  assert.equal((await ada.memory('get', { key })).found, false);
  await ada.memory('restore', { key });
  assert.equal((await eve.memory('get', { key })).value, 'use PostgreSQL');
}

async function handOver(ada, eve, bob) {
  const { sessionId } = await ada.session('create', { initiator: 'ada', task: 'Move the login to passkeys' });
  await eve.session('create', { initiator: 'eve', task: 'Rename the tables' }); // a newer one
  await ada.session('note', { sessionId, agentId: 'ada', note: 'The flag is set; tests are left', next: ['run the tests'] });

  const [first] = (await eve.session('list', {})).sessions;
  assert.equal(first.sessionId, sessionId, 'the one that was handed over is first');
  assert.equal(first.handover.note, 'The flag is set; tests are left');
  assert.deepEqual(first.handover.next, ['run the tests']);
  await eve.session('join', { sessionId, agentId: 'eve' });
  assert.equal((await ada.session('list', { query: 'passkeys' })).sessions[0].handover, undefined, 'it was taken up');

  const [elsewhere] = (await bob.session('list', { query: 'flag' })).sessions;
  assert.deepEqual([elsewhere.sessionId, elsewhere.workspace], [sessionId, workspaces.api]);
  const { total, sessions } = await bob.memory('search', { query: 'Is the flag set?' });
  assert.deepEqual([total, sessions.map((session) => session.sessionId)], [0, [sessionId]], 'memory.search names it beside its notes');
}

async function surviveKill(t, site, witness) {
  const victim = await agent(t, site, 'kit', clients[3]);
  const answered = [];
  const stored = Array.from({ length: 20 }, async (_, n) => {
    const { key } = await victim.memory('store', { key: `draft/${n}`, value: { n } });
    answered.push(key);
    if (answered.length === 1) process.kill(victim.transport.pid, 'SIGKILL');
  });
  await Promise.allSettled(stored);
  assert.ok(answered.length > 0);
  for (const key of answered) {
    const { value } = await witness.memory('get', { key });
    assert.deepEqual(value, { n: Number(key.split('/')[1]) }, `${key} was answered and is lost`);
  }
}

const kinds = ['notes', 'versions', 'sessions'];

async function backUp(t, place) {
  const target = (place.store.startsWith('sqlite:') && stores.PostgreSQL || stores.SQLite)(place, t);
  const [first, second] = ['first', 'second'].map((name) => join(place.dir, name));
  await command(place, 'export', '--store', place.store, '--only', kinds.join(), first);
  await command(place, 'import', '--store', target, first);
  await command(place, 'export', '--store', target, '--only', kinds.join(), second);
  const [before, after] = [first, second].map(manifest);
  for (const kind of kinds) {
    assert.ok(before[kind].objects > 0, kind);
    assert.deepEqual(after[kind], before[kind], kind);
  }
}

async function command(place, ...args) {
  const { code, stderr } = await runCommand(place, ...args);
  assert.equal(code, 0, stderr);
}

/** The counts and digests of an archive, by kind. */
function manifest(file) {
  const last = JSON.parse(readFileSync(file, 'utf8').trimEnd().split('\n').at(-1));
  return Object.values(last).find((value) => value.notes);
}
