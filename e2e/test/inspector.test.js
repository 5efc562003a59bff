// The Inspector's linter on every listing. It drops a tool it cannot read
// without a word and still exits with 0: only the count shows it.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { levels, listedTools, modes } from '../lib/expected.js';
import { httpFor, placeFor, run } from '../lib/server.js';

const inspector = fileURLToPath(new URL('../node_modules/.bin/mcp-inspector', import.meta.url));

for (const mode of modes) {
  for (const level of levels) {
    for (const era of ['legacy', 'modern']) {
      test(`Inspector --strict, stdio, ${mode}, ${level}, ${era}`, async (t) => {
        const place = placeFor(t);
        await inspect(place, listedTools(mode, level), era, ...stdioTarget(place, { mode, level }));
      });
      test(`Inspector --strict, http, ${mode}, ${level}, ${era}`, async (t) => {
        const place = placeFor(t);
        const { url } = await httpFor(t, place, { mode, level });
        await inspect(place, listedTools(mode, level), era, '--server-url', url);
      });
    }
  }
}

/** The server on stdio, in a file: its flags would be taken for the Inspector's. */
function stdioTarget(place, options) {
  const { command, args, env } = place.serve(options);
  const config = join(place.dir, 'servers.json');
  writeFileSync(config, JSON.stringify({ mcpServers: { toolfold: { type: 'stdio', command, args, env } } }));
  return ['--config', config, '--server', 'toolfold'];
}

async function inspect(place, count, era, ...target) {
  const { code, stdout, stderr } = await run({
    command: process.execPath,
    args: [inspector, '--cli', ...target, '--protocol-era', era, '--method', 'tools/list', '--strict', '--format', 'json'],
    env: { ...place.env, MCP_INSPECTOR_SECRET_STORE: 'memory' },
  });
  assert.equal(code, 0, stderr);
  const { tools } = JSON.parse(stdout).result;
  assert.equal(tools.length, count, tools.map((tool) => tool.name).join(' '));
}
