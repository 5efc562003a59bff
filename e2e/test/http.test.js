// What HTTP adds: who may connect, and what there is besides the tools.

import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';

import { success } from '../lib/answers.js';
import { memory } from '../lib/calls.js';
import { attach, clients } from '../lib/clients.js';
import { atEnd, httpFor, placeFor, run } from '../lib/server.js';
import { RawHTTP, call, request } from '../lib/wire.js';

const token = 'a-token-of-this-test';

for (const address of ['0.0.0.0:0', '[::]:0', ':0']) {
  test(`${address} without a token is refused at the start`, async (t) => {
    const { code, stderr } = await run(placeFor(t).serve({ more: ['--http', address] }));
    assert.ok(code > 0, `code ${code}`);
    assert.match(stderr, /not a loopback address/);
    assert.match(stderr, /--http-token-file/);
  });
}

test('an empty or absent token file is refused at the start', async (t) => {
  const place = placeFor(t);
  for (const file of [writeToken(place, '\n'), join(place.dir, 'absent')]) {
    const { code, stderr } = await run(place.serve({ more: ['--http', '127.0.0.1:0', '--http-token-file', file] }));
    assert.ok(code > 0, `code ${code}`);
    assert.match(stderr, /reading bearer token/);
  }
});

test('a port that is taken is refused at the start', async (t) => {
  const { base } = await httpFor(t, placeFor(t));
  const { code, stderr } = await run(placeFor(t).serve({ more: ['--http', new URL(base).host] }));
  assert.ok(code > 0, `code ${code}`);
  assert.match(stderr, /in use/);
});

test('with a token file, callers need the token', async (t) => {
  const place = placeFor(t);
  const { url, base } = await httpFor(t, place, { more: ['--http-token-file', writeToken(place, token + '\n')] });
  const raw = new RawHTTP(url);
  for (const given of [undefined, 'Bearer wrong', `Basic ${token}`, `Bearer ${token}x`, 'Bearer ']) {
    const headers = given === undefined ? {} : { Authorization: given };
    const { status, headers: answered } = await raw.post(request(1, 'tools/list'), headers);
    assert.equal(status, 401, given);
    assert.equal(answered.get('WWW-Authenticate'), 'Bearer');
    assert.equal((await fetch(`${base}/metrics`, { headers })).status, 401);
  }
  assert.equal((await fetch(`${base}/healthz`)).status, 200, 'health needs no token');
  const headers = { Authorization: `Bearer ${token}` };
  assert.equal((await fetch(`${base}/metrics`, { headers })).status, 200);
  for (const kind of clients) {
    const client = await attach(t, kind, new kind.HTTP(new URL(url), { requestInit: { headers } }));
    success(await client.callTool(memory.consolidated('list')));
  }
});

test('health and metrics', async (t) => {
  const { url, base } = await httpFor(t, placeFor(t));
  const health = await fetch(`${base}/healthz`);
  assert.equal(health.status, 200);
  assert.deepEqual(await health.json(), { status: 'ok' });
  const raw = await new RawHTTP(url).initialize();
  await raw.exchange(call(1, 'memory', { action: 'list' }));
  await raw.exchange(call(2, 'memory_list', {}));
  await raw.exchange(call(3, 'memory', { action: 'store' }));
  const metrics = await (await fetch(`${base}/metrics`)).text();
  assert.match(metrics, /^toolfold_calls_total\{action="memory.list",code=""\} 2$/m);
  assert.match(metrics, /^toolfold_calls_total\{action="memory.store",code="INVALID_INPUT"\} 1$/m);
  assert.match(metrics, /^toolfold_legacy_calls_total\{client="raw",name="memory_list"\} 1$/m);
  assert.equal((await fetch(`${base}/elsewhere`)).status, 404);
});

test('a token file that others may read is refused at the start', async (t) => {
  const place = placeFor(t);
  const file = writeToken(place, token);
  chmodSync(file, 0o644);
  const { code, stderr } = await run(place.serve({ more: ['--http', '127.0.0.1:0', '--http-token-file', file] }));
  assert.ok(code > 0, `code ${code}`);
  assert.match(stderr, /chmod 600/);
});

test('a new token in the file applies within a second', async (t) => {
  const place = placeFor(t);
  const { base } = await httpFor(t, place, { more: ['--http-token-file', writeToken(place, token)] });
  const status = async (given) => (await fetch(`${base}/metrics`, { headers: { Authorization: `bearer ${given}` } })).status;
  assert.equal(await status(token), 200);
  writeToken(place, 'another-token-of-this-test');
  await new Promise((passed) => { setTimeout(passed, 1100); });
  assert.equal(await status(token), 401);
  assert.equal(await status('another-token-of-this-test'), 200);
});

test('a body that is too large is refused', async (t) => {
  const { url } = await httpFor(t, placeFor(t), { more: ['--max-body-bytes', '10000'] });
  const raw = await new RawHTTP(url).initialize();
  const { status, text } = await raw.post(call(1, 'memory', { action: 'get', key: 'k'.repeat(20_000) }));
  assert.equal(status, 413);
  assert.match(text, /10000 bytes/);
});

test('beyond the limit a new session ends the one that was idle longest', async (t) => {
  const { url } = await httpFor(t, placeFor(t), { more: ['--max-sessions', '2'] });
  const sessions = [];
  for (let i = 0; i < 3; i++) sessions.push(await new RawHTTP(url).initialize());
  const statuses = [];
  for (const session of sessions) statuses.push((await session.post(request(1, 'ping'))).status);
  assert.deepEqual(statuses, [404, 200, 200]);
});

test('a session ends when it is deleted', async (t) => {
  const { url } = await httpFor(t, placeFor(t));
  const [one, other] = [await new RawHTTP(url).initialize(), await new RawHTTP(url).initialize()];
  assert.equal((await one.post(request(1, 'tools/list'))).status, 200);
  assert.ok([200, 204].includes(await one.delete()));
  assert.equal((await one.post(request(2, 'tools/list'))).status, 404);
  assert.equal((await other.post(request(3, 'tools/list'))).status, 200, 'other sessions go on');
  assert.equal((await one.initialize().then(() => one.post(request(4, 'tools/list')))).status, 200, 'a new one can begin');
});

test('session ids that were never given are refused', async (t) => {
  const { url } = await httpFor(t, placeFor(t));
  const raw = await new RawHTTP(url).initialize();
  for (const id of ['made-up', 'mcp-session-00000000-0000-4000-8000-000000000000']) {
    const headers = { 'Mcp-Session-Id': id };
    assert.equal((await raw.post(request(1, 'tools/list'), headers)).status, 404, id);
    assert.equal((await fetch(url, { headers: { ...headers, Accept: 'text/event-stream' } })).status, 404, id);
    assert.equal(await raw.delete(headers), 404, id);
  }
});

test('a page of another site cannot reach the server', async (t) => {
  const { url } = await httpFor(t, placeFor(t));
  const raw = await new RawHTTP(url).initialize();
  assert.equal(await statusWithHost(url, 'elsewhere.example'), 403, 'by the Host a browser was tricked into');
  const { status } = await raw.post(request(1, 'tools/list'), { Origin: 'https://elsewhere.example' });
  assert.equal(status, 403, 'by its Origin');
  for (const path of ['/metrics', '/healthz', '/elsewhere']) {
    assert.equal(await statusWithHost(new URL(path, url), 'elsewhere.example'), 403, path);
  }
});

test('a host of the setting is served', async (t) => {
  const { url } = await httpFor(t, placeFor(t), { more: ['--allowed-hosts', 'tools.example, other.example'] });
  assert.equal(await statusWithHost(new URL('/healthz', url), 'tools.example'), 200);
  assert.equal(await statusWithHost(new URL('/healthz', url), 'other.example:8443'), 200);
  assert.equal(await statusWithHost(new URL('/healthz', url), 'elsewhere.example'), 403);
});

test('what is not MCP is refused', async (t) => {
  const { url } = await httpFor(t, placeFor(t));
  const raw = await new RawHTTP(url).initialize();
  const ping = request(1, 'ping');
  assert.ok((await fetch(url, { method: 'PUT', body: ping })).status >= 400);
  assert.ok((await raw.post(ping, { 'Content-Type': 'text/plain' })).status >= 400);
  assert.equal((await raw.post(ping, { 'Mcp-Protocol-Version': '1999-01-01' })).status, 400);
  assert.equal((await raw.post(ping)).status, 200);
});

test('SIGTERM ends the server soon, whatever clients keep open', async (t) => {
  const server = await httpFor(t, placeFor(t));
  const silent = connect(Number(new URL(server.url).port), '127.0.0.1');
  silent.on('error', () => {});
  atEnd(t, () => silent.destroy());
  const kind = clients[0];
  await attach(t, kind, new kind.HTTP(new URL(server.url))); // its stream stays open
  const before = performance.now();
  await server.stop();
  assert.equal(server.child.exitCode, 0);
  assert.ok(performance.now() - before < 3000, `it took ${Math.round(performance.now() - before)} ms`);
});

function writeToken(place, text) {
  const file = join(place.dir, 'token');
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

/** fetch sets Host itself, so this one goes without it. */
function statusWithHost(url, host) {
  return new Promise((found, failed) => {
    get(url, { headers: { Host: host, Accept: 'text/event-stream' } }, (response) => {
      response.destroy();
      found(response.statusCode);
    }).on('error', failed);
  });
}
