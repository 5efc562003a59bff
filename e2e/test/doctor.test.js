// What doctor counts, against another tokenizer and lists that no client read
// in between.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import { getEncoding } from 'js-tiktoken';

import { levels, listedTools, modes } from '../lib/expected.js';
import { atEnd, httpFor, placeFor, runCommand } from '../lib/server.js';
import { RawStdio, request } from '../lib/wire.js';

const encoding = getEncoding('o200k_base');
const count = (text) => encoding.encode(text, [], []).length;
const shown = ({ name, description, inputSchema }) => JSON.stringify({ name, description, inputSchema });

/** The program of a server from npm. */
function program(name) {
  const manifest = createRequire(import.meta.url).resolve(`@modelcontextprotocol/${name}/package.json`);
  return join(dirname(manifest), 'dist/index.js');
}

/** The tools that a server on stdio lists to a client which offers what doctor does, as it sends them. */
async function listOf(t, command) {
  const server = new RawStdio(command);
  atEnd(t, () => server.stop());
  await server.initialize({ sampling: {}, elicitation: { form: {}, url: {} } });
  server.send(request(1, 'tools/list'));
  for (;;) {
    const message = JSON.parse(await server.line());
    if (message.id === 1) return message.result.tools;
  }
}

/** What doctor reports; it succeeds where every list could be had. */
async function doctor(place, ...args) {
  const { code, stdout, stderr } = await runCommand(place, 'doctor', '--json', '--workspace', place.workspace, ...args);
  const report = JSON.parse(stdout);
  assert.equal(code, report.servers.some((server) => server.problem) ? 1 : 0, stderr);
  return report;
}

/** Holds the figures of a server's report against the list that it sent. */
function holds(server, tools) {
  assert.equal(server.tools, tools.length);
  for (const [i, tool] of tools.entries()) {
    const cost = server.list[i];
    assert.deepEqual(
      [cost.name, cost.tokens, cost.bytes, cost.parts],
      [tool.name, count(shown(tool)), Buffer.byteLength(shown(tool)), {
        name: count(tool.name), description: count(tool.description ?? ''), schema: count(JSON.stringify(tool.inputSchema)),
      }],
    );
  }
  assert.equal(server.tokens, tools.reduce((sum, tool) => sum + count(shown(tool)), 0));
  assert.ok(server.tokens > 0);
}

for (const name of ['server-filesystem', 'server-everything']) {
  test(`${name} from npm`, async (t) => {
    const place = placeFor(t);
    const args = [program(name), ...(name === 'server-filesystem' ? [place.workspace] : [])];
    const tools = await listOf(t, { command: process.execPath, args, env: place.env });
    const report = await doctor(place, '--command', process.execPath, '--', ...args);
    holds(report.servers[0], tools);
    assert.equal(report.sessions[0].claude, report.estimate.fixed + Math.round(report.estimate.factor * report.sessions[0].tokens));
    t.diagnostic(`${tools.length} tools, ${report.servers[0].tokens} tokens`);
  });
}

test('every surface of our own', async (t) => {
  const place = placeFor(t);
  const { surfaces } = await doctor(place);
  for (const mode of modes) {
    for (const level of levels) {
      const tools = await listOf(t, place.serve({ mode, level }));
      const { total } = surfaces.find((surface) => surface.mode === mode && surface.level === level);
      assert.deepEqual([total.tools, total.tokens], [listedTools(mode, level), tools.reduce((sum, tool) => sum + count(shown(tool)), 0)], `${mode} ${level}`);
    }
  }
});

test('a server on HTTP, with a token', async (t) => {
  const place = placeFor(t);
  const file = join(place.dir, 'token');
  writeFileSync(file, 'a-token-of-some-length\n', { mode: 0o600 });
  const server = await httpFor(t, place, { more: ['--http-token-file', file] });
  const report = await doctor(place, '--url', server.url, '--header', 'Authorization: Bearer a-token-of-some-length');
  holds(report.servers[0], await listOf(t, place.serve()));
  const refused = await runCommand(place, 'doctor', '--url', server.url, '--header', 'Authorization: Bearer wrong-token');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /Unauthorized/);
  assert.doesNotMatch(refused.stderr, /wrong-token/);
});

test('the settings of a client, with a server that does not start', async (t) => {
  const place = placeFor(t);
  const config = join(place.dir, 'servers.json');
  const files = [program('server-filesystem'), place.workspace];
  const own = place.serve();
  writeFileSync(config, JSON.stringify({
    mcpServers: {
      files: { command: process.execPath, args: files },
      own: { command: own.command, args: own.args },
      broken: { command: process.execPath, args: ['-e', 'console.error("no access with", process.env.API_KEY); process.exit(4)'], env: { API_KEY: 'a-secret-key' } },
    },
  }));
  const report = await doctor(place, '--config', config);
  const byName = Object.fromEntries(report.servers.map((server) => [server.name, server]));
  holds(byName.files, await listOf(t, { command: process.execPath, args: files, env: place.env }));
  holds(byName.own, await listOf(t, own));
  assert.equal(byName.broken.problem, 'it ended: exit status 4; it printed: no access with xxxxx');
  assert.equal(report.sessions[0].tokens, byName.files.tokens + byName.own.tokens);
});
