// Users log in at an issuer whose tokens last for two to three seconds, and call a server that takes tokens of its own. Two
// replicas exchange their tokens: no request may reach the server with the token of another user.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';

import { Issuer } from '../lib/issuer.js';
import { Records } from '../lib/records.js';
import { httpFor, placeFor, runCommand } from '../lib/server.js';
import { stores } from '../lib/stores.js';
import { RawHTTP } from '../lib/wire.js';

const users = 20;
const calls = Number(process.env.TOOLFOLD_CALLERS ?? 200); // of all users

const audience = 'https://tools.example.com/mcp';
const modern = '2026-07-28';
const meta = {
  'io.modelcontextprotocol/protocolVersion': modern, 'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
};

/** Settings with which the tokens of callers are exchanged. */
const exchanging = (issuer, records) => ({
  httpLogin: { issuer: issuer.url, url: audience },
  upstreams: {
    records: {
      url: records.url, login: 'exchange',
      exchange: { tokenUrl: `${issuer.url}/token`, clientId: 'gateway', clientSecret: '${EXCHANGE_SECRET}', audience: records.url },
    },
  },
});

/** Settings with which callers log in at the server. */
const loggingIn = (_, records) => ({
  upstreams: { records: { url: records.url, login: 'caller' } }, loginKeys: ['${LOGIN_KEY}'],
});

const loginKey = randomBytes(32).toString('base64');

/** A replica: a server with settings and a disk of its own, on a store of all. tokens is a file of tokens; it may be absent. */
async function replica(t, config, store, tokens) {
  const place = placeFor(t);
  place.store = store(place, t);
  Object.assign(place.env, { EXCHANGE_SECRET: 'secret', LOGIN_KEY: loginKey });
  const folder = join(place.dir, 'toolfold');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  writeFileSync(join(folder, 'rights.yaml'), '- group: "*"\n', { mode: 0o600 });
  if (tokens) copyFileSync(tokens, join(folder, 'tokens'));
  const port = await freePort();
  const server = await httpFor(t, place, { more: ['--http', `127.0.0.1:${port}`] });
  return { place, server, url: server.url };
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

/** A file with a token of each name, and the tokens. */
async function tokensOf(t, names) {
  const place = placeFor(t);
  const tokens = {};
  for (const name of names) {
    const { stdout } = await runCommand(place, 'token', 'add', name);
    tokens[name] = stdout.trim().split(/\s+/).at(-1);
  }
  return { tokens, file: join(place.dir, 'toolfold', 'tokens') };
}

/** A user at a host, which renews the token before it ends. */
class User {
  constructor(issuer, n, fixed) {
    this.issuer = issuer;
    this.sub = `u${n}`;
    this.fixed = fixed; // a token of the file
  }

  get header() {
    if (this.fixed) return { Authorization: `Bearer ${this.fixed}` };
    const left = this.claims ? this.claims.exp * 1000 - Date.now() : 0;
    if (left < 1500) {
      this.token = this.issuer.token({ sub: this.sub }, audience, { exp: Math.ceil(Date.now() / 1000) + this.issuer.seconds });
      this.claims = this.issuer.claims(this.token);
    }
    return { Authorization: `Bearer ${this.token}` };
  }

  /** Calls a tool by a request of its own, as hosts of 2026-07-28 do. */
  async call(url, name, args) {
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${JSON.stringify(name)},"arguments":${args},` +
      `"_meta":${JSON.stringify(meta)}}}`;
    const headers = { ...this.header, 'Mcp-Protocol-Version': modern, 'Mcp-Method': 'tools/call', 'Mcp-Name': name };
    const { status, text: answer } = await new RawHTTP(url).post(text, headers);
    return { status, result: status === 200 ? JSON.parse(answer).result : undefined, answer };
  }
}

/** Waits until a replica offers the tools of the server, which the first user makes it list. */
async function offered(user, url) {
  for (let n = 0; n < 100; n++) {
    const { answer } = await user.call(url, 'tools', '{"action":"find","query":"name the caller of a record"}');
    if (answer.includes('whoami')) return;
    await new Promise((go) => setTimeout(go, 100));
  }
  assert.fail('its tools are not offered');
}

/** A call as the audit has it. */
const recordOf = (user, args) => ({ caller: user.sub, arguments: createHash('sha256').update(args).digest('hex') });

/** All users call by turns at each replica, and get the answers to their own calls. Returns the calls as the audit has them. */
async function callAll(all, replicas, records) {
  const made = [];
  const before = records.calls.length;
  await Promise.all(all.map(async (user, n) => {
    for (let i = n; i < calls; i += users) {
      const args = JSON.stringify({ as: user.sub, n: i });
      made.push(recordOf(user, args));
      const { status, result, answer } = await user.call(replicas[Math.floor(i / users) % 2].url, 'records.whoami', args);
      assert.equal(status, 200, answer);
      assert.deepEqual([result.isError ?? false, result.content?.[0].text], [false, `${user.sub} ${i}`], answer);
    }
  }));
  assert.equal(made.length, calls);
  assert.deepEqual(records.calls.filter(({ sub, as }) => sub !== as), []);
  assert.equal(records.calls.length - before, calls);
  assert.deepEqual(records.mixed, []);
  return made;
}

/** Logs a user in by the link of a refused call. The issuer logs in the user that it is told. */
async function logIn(issuer, user, answer) {
  const [link] = /http:[^"\\ ,]*\/connect\/records\?ticket=[\w.]+/.exec(answer) ?? assert.fail(answer);
  const at = new URL(link);
  const form = new URLSearchParams({ ticket: at.searchParams.get('ticket'), token: user.fixed });
  const began = await fetch(at.origin + at.pathname, { method: 'POST', body: form, redirect: 'manual' });
  assert.equal(began.status, 303, await began.text());
  issuer.user = { sub: user.sub };
  const led = await fetch(began.headers.get('location'), { redirect: 'manual' });
  const Cookie = began.headers.getSetCookie().map((cookie) => cookie.split(';')[0]).join('; ');
  const ended = await fetch(led.headers.get('location'), { headers: { Cookie } });
  assert.equal(ended.status, 200, await ended.text());
}

const audited = async (place) => {
  const { stdout, stderr, code } = await runCommand(place, 'audit', '--store', place.store, '--json');
  assert.equal(code, 0, stderr);
  return stdout.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line));
};

/** Stops the replicas, and compares the calls that succeeded in the audit with those that were made. */
async function eachAuditedOnce(replicas, made) {
  for (const { server } of replicas) await server.stop(); // what only reads is recorded within a second
  const key = (one) => `${one.caller} ${one.arguments}`;
  const entries = (await audited(replicas[0].place)).filter((one) => /whoami/.test(one.action) && !one.code && one.ended);
  assert.deepEqual(entries.map(key).sort(), made.map(key).sort());
}

test('no request has the token of another user, and the audit has each call once', { skip: !stores.PostgreSQL }, async (t) => {
  const issuer = await Issuer.start(t);
  issuer.seconds = 2;
  const records = await Records.start(t, issuer);
  let shared;
  const store = (place, t) => (shared ??= stores.PostgreSQL(place, t));
  const config = exchanging(issuer, records);
  const replicas = [await replica(t, config, store), await replica(t, config, store)];
  const all = Array.from({ length: users }, (_, n) => new User(issuer, n));
  for (const { url } of replicas) await offered(all[0], url);
  const made = await callAll(all, replicas, records);
  await eachAuditedOnce(replicas, made);
  t.diagnostic(`${calls} calls of ${users} users, ${issuer.exchanged} exchanges, ${records.refused} requests refused upstream`);
});

test('a user whose token is not exchanged, and a token of the file, get the reason; others go on', async (t) => {
  const issuer = await Issuer.start(t);
  const records = await Records.start(t, issuer);
  issuer.refused = 'u1';
  const { tokens, file } = await tokensOf(t, ['ci']);
  const { place, url } = await replica(t, exchanging(issuer, records), stores.SQLite, file);
  const [ada, bob] = [new User(issuer, 0), new User(issuer, 1)];
  await offered(ada, url);
  const refused = await bob.call(url, 'records.whoami', '{"as":"u1","n":1}');
  assert.ok(refused.result.isError);
  assert.match(refused.answer, /does not exchange your access token for one of this server: invalid_target: not for this user/);
  assert.ok(!refused.answer.includes(bob.token));
  const good = await ada.call(url, 'records.whoami', '{"as":"u0","n":2}');
  assert.equal(good.result.content[0].text, 'u0 2', good.answer);
  const machine = await new User(issuer, 2, tokens.ci).call(url, 'records.whoami', '{"as":"ci","n":3}');
  assert.match(machine.answer, /log in at the issuer of httpLogin \(a token of the token file cannot be exchanged\)/);
  const script = await ada.call(url, 'script', JSON.stringify({
    action: 'run', code: 'return await records.whoami({ as: "u0", n: 4 })',
  }));
  assert.match(script.answer, /this call has no caller; call its tool over HTTP with a token; scripts, workflows and tasks run without/);
  assert.deepEqual(records.calls.map(({ sub, as }) => [sub, as]), [['u0', 'u0']]);
  for (const token of [ada.token, bob.token]) {
    const traces = await runCommand(place, 'call', 'trace.list', '--store', place.store);
    assert.ok(!traces.stdout.includes(token) && !traces.stdout.includes(token.split('.')[2]));
  }
});

test('users who logged in share a login over two replicas, which renew it one at a time', { skip: !stores.PostgreSQL }, async (t) => {
  const issuer = await Issuer.start(t);
  const records = await Records.start(t, issuer);
  let shared;
  const store = (place, t) => (shared ??= stores.PostgreSQL(place, t));
  const { tokens, file } = await tokensOf(t, Array.from({ length: users }, (_, n) => `u${n}`));
  const config = loggingIn(issuer, records);
  const replicas = [await replica(t, config, store, file), await replica(t, config, store, file)];
  const all = Object.keys(tokens).map((name, n) => new User(issuer, n, tokens[name]));
  issuer.seconds = 2;
  for (const [n, user] of all.entries()) {
    const { answer } = await user.call(replicas[n % 2].url, n < 2 ? 'records_login' : 'records.whoami', n < 2 ? '{}' : '{"as":"","n":0}');
    await logIn(issuer, user, answer);
  }
  for (const { url } of replicas) await offered(all[0], url);
  const made = await callAll(all, replicas, records);
  for (const round of [1, 2, 3]) { // both replicas at once
    await issuer.ended();
    await Promise.all(all.flatMap((user) => replicas.map(async ({ url }) => {
      const args = `{"as":"${user.sub}","n":${round}}`;
      made.push(recordOf(user, args));
      const { answer } = await user.call(url, 'records.whoami', args);
      assert.match(answer, new RegExp(`${user.sub} ${round}`));
    })));
  }
  assert.equal(issuer.invalid, 0, 'a refresh token was used twice');
  assert.ok(issuer.refreshed >= 3 * users, `${issuer.refreshed} renewals`);
  await eachAuditedOnce(replicas, made);
  t.diagnostic(`${calls} calls of ${users} users, ${issuer.refreshed} renewals, ${records.refused} requests refused upstream`);
});
