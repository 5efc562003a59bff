// Users log in at an issuer, by the SDK as a host does it: the server says where, the token says who, and the file of
// rights what they may.

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';

import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { memory } from '../lib/calls.js';
import { Issuer } from '../lib/issuer.js';
import { atEnd, httpFor, placeFor, runCommand } from '../lib/server.js';
import { RawHTTP, request } from '../lib/wire.js';

const rights = `- group: platform
- group: support
  readOnly: true
`;

/** A server whose callers log in at an issuer. */
async function loginServer(t, login = {}) {
  const issuer = await Issuer.start(t);
  const place = placeFor(t);
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  const url = `http://127.0.0.1:${port}/mcp`;
  const folder = join(place.dir, 'toolfold');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ httpLogin: { issuer: issuer.url, url, ...login } }));
  writeFileSync(join(folder, 'rights.yaml'), rights, { mode: 0o600 });
  await httpFor(t, place, { more: ['--http', `127.0.0.1:${port}`] });
  return { issuer, place, url };
}

/** A user at a host: it keeps what the SDK gives it, and follows the link to the issuer. */
class Host {
  redirectUrl = 'http://127.0.0.1:1/callback';
  clientMetadata = { client_name: 'host', redirect_uris: [this.redirectUrl] };
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.kept; }
  saveTokens(tokens) { this.kept = tokens; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
  async redirectToAuthorization(url) {
    const { headers } = await fetch(url, { redirect: 'manual' });
    this.code = new URL(headers.get('location')).searchParams.get('code');
  }
}

/** A client of a user who logs in. */
async function logIn(t, url) {
  const host = new Host();
  const first = new StreamableHTTPClientTransport(new URL(url), { authProvider: host });
  await assert.rejects(new Client({ name: 'host', version: '1' }).connect(first), UnauthorizedError);
  await first.finishAuth(host.code);
  const client = new Client({ name: 'host', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider: host }));
  atEnd(t, () => client.close());
  return client;
}

test('users log in, and have the rights of their groups', async (t) => {
  const { issuer, place, url } = await loginServer(t);
  const reader = await logIn(t, url);
  assert.ok(!(await reader.callTool(memory.consolidated('list'))).isError);
  const refused = await reader.callTool(memory.consolidated('store', { key: 'a', value: 1 }));
  assert.match(refused.content[0].text, /PERMISSION_DENIED|UNKNOWN_TOOL|rights/);
  issuer.user = { sub: 'u2', email: 'bob@example.com', groups: ['platform'] };
  const writer = await logIn(t, url);
  assert.ok(!(await writer.callTool(memory.consolidated('store', { key: 'a', value: 1 }))).isError);
  issuer.user = { sub: 'u3', groups: ['nobody'] };
  await assert.rejects(logIn(t, url), /none of your groups has rights here/);
  const { stdout } = await runCommand(place, 'audit', '--store', place.store, '--json');
  const calls = stdout.trim().split('\n').map((line) => JSON.parse(line));
  for (const [caller, action] of [['ada (u1)', 'memory.list'], ['bob@example.com (u2)', 'memory.store']]) {
    assert.ok(calls.some((one) => one.caller === caller && one.action === action), `${caller} ${action}: ${stdout}`);
  }
});

test('a token that ends is renewed without a visible refusal', async (t) => {
  const { issuer, url } = await loginServer(t);
  issuer.seconds = 2;
  const client = await logIn(t, url);
  let calls = 0;
  for (; issuer.refreshed < 3; calls++) assert.ok(!(await client.callTool(memory.consolidated('list'))).isError);
  t.diagnostic(`${calls} calls, ${issuer.refreshed} renewals`);
});

test('a token for another server, or without a scope, is refused with the way to another', async (t) => {
  const { issuer, url } = await loginServer(t, { scopes: ['tools'], audiences: ['tools', 'more'] });
  const raw = new RawHTTP(url);
  const hello = request(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } });
  for (const [audience, changes, status, error] of [
    [url, { scope: 'tools' }, 401, 'invalid_token'], ['more', {}, 403, 'insufficient_scope'],
    ['more', { scope: 'tools', exp: 1 }, 401, 'invalid_token'], ['more', { scope: 'tools', iss: 'x' }, 401, 'invalid_token'],
    [['x', 'more'], { scope: 'openid tools' }, 200],
  ]) {
    const answer = await raw.post(hello, { Authorization: `Bearer ${issuer.token(issuer.user, audience, changes)}` });
    assert.equal(answer.status, status, JSON.stringify([audience, changes]));
    if (!error) continue;
    const challenge = answer.headers.get('WWW-Authenticate');
    assert.match(challenge, new RegExp(`scope="tools", error="${error}"$`));
    const { resource, authorization_servers: issuers } = await (await fetch(/resource_metadata="([^"]+)"/.exec(challenge)[1])).json();
    assert.deepEqual([resource, issuers], [url, [issuer.url]]);
  }
});
