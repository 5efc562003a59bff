// Every host that is installed, with the list that --for gives it: a model that uses
// only what it was sent does all tasks, in no more rounds than were captured.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { capture, hosts, installed } from '../lib/capture.js';

const captures = JSON.parse(readFileSync(new URL('../../../internal/cli/docs/captures.json', import.meta.url)));

for (const [name, host] of Object.entries(hosts)) {
  const version = installed(host);
  if (!version) {
    console.log(`# ${name} could not be installed: it is not run`);
    continue;
  }
  test(`--for ${name}, ${version}`, { timeout: 300_000 }, async (t) => {
    const target = /^[\w-]+$/.test(name) ? name : host.kind;
    const bare = await capture(host, null);
    const got = await capture(host, [`--for=${target}`], bare);
    const fewest = Math.min(...captures[name].surfaces.filter((s) => s.total !== null).map((s) => s.total));
    assert.ok(got.total !== null && got.total <= fewest, `the tasks took ${got.rounds} rounds; ${fewest} were captured`);
    t.diagnostic(`${name}: rounds ${got.rounds}, before the first call ${got.start.tokens} tokens, in all ${got.end.tokens}`);
  });
}
