// Scripts as agents run them: one whose user can be asked, and one whose user cannot.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test from 'node:test';

import { agents } from '../lib/agents.js';
import { installed, programOf, run } from '../lib/capture.js';
import { startReader } from '../lib/model.js';
import { Terminal, hasTerminal } from '../lib/terminal.js';

if (!process.env.TOOLFOLD_BIN) throw new Error('TOOLFOLD_BIN must hold the path of a toolfold binary');
const binary = resolve(process.env.TOOLFOLD_BIN);

const code = `const { total } = await memory.list({});
await scripts.confirm("Store three notes?");
for (const key of ["a", "b", "c"]) await memory.store({ key, value: total });
return "stored";`;

/** A folder, and a model that calls script with what next returns for the results so far, until it returns nothing. */
async function prepare(t, next) {
  const dir = mkdtempSync(join(tmpdir(), 'toolfold-scripts-'));
  const model = await startReader(({ tools, results }) => {
    const tool = tools.find((one) => /toolfold[_\-./]*script$/.test(one.name));
    const args = tool && next(results.map(unescaped));
    return args ? { tool, args } : null;
  });
  t.after(() => {
    model.close();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });
  const store = ['--store', `sqlite://${join(dir, 't.db')}`, '--workspace', dir];
  const server = [binary, 'serve', ...store];
  const notes = async () => {
    const output = await run({ program: binary }, ['call', ...store, 'memory.list', '--output=json'], dir, {});
    return Number(output.match(/"total":\s*(\d+)/)?.[1] ?? assert.fail(output));
  };
  return { dir, model, server, store, notes };
}

const begin = { action: 'run', params: { code } };

const opencode = installed({ agent: 'opencode' });
if (opencode) {
  test(`opencode ${opencode}: no user can be asked, and the model does not answer`, { timeout: 120_000 }, async (t) => {
    const { dir, model, server, store, notes } = await prepare(t, (results) => {
      const id = results.at(-1)?.match(/"id":"([0-9a-f-]{36})"/)?.[1];
      return [begin, { action: 'run', params: { id, outcome: { 2: 'yes' } } }][results.length];
    });
    const { args, env } = agents.opencode.prepare(dir, model.url, server);
    const output = await run(agents.opencode, args, dir, env);
    const results = model.seen.results.map(unescaped);
    assert.equal(results.length, 2, output.slice(-2000));
    assert.match(results[0], /Store three notes\?; nobody could be asked/);
    assert.match(results[1], /whom no argument answers for/);
    assert.equal(await notes(), 0);
    const [, line] = results[0].match(/toolfold (script run --id [0-9a-f-]{36} --outcome 2=yes)/);
    // The agent's server has ended: another process works on.
    const worker = spawn(binary, ['worker', ...store], { cwd: dir, stdio: 'ignore', env: { PATH: process.env.PATH, HOME: dir } });
    const ended = new Promise((end) => { worker.once('close', end); });
    const went = await run({ program: binary }, [...line.split(' '), ...store], dir, {});
    worker.kill();
    await ended;
    assert.match(went, /^"?stored/m);
    assert.equal(await notes(), 3);
  });
}

const claude = installed({ agent: 'claude' });
if (claude && hasTerminal) {
  test(`claude ${claude} in a terminal: the user is asked`, { timeout: 120_000 }, async (t) => {
    const { dir, model, server, notes } = await prepare(t, (results) => [begin][results.length]);
    const { env } = agents.claude.prepare(dir, model.url, server);
    mkdirSync(env.CLAUDE_CONFIG_DIR, { recursive: true });
    writeFileSync(join(env.CLAUDE_CONFIG_DIR, '.claude.json'), JSON.stringify({ // what it asks a person at its first start
      hasCompletedOnboarding: true, theme: 'dark', customApiKeyResponses: { approved: [env.ANTHROPIC_API_KEY], rejected: [] },
      projects: { [dir]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
    }));
    const flags = ['--mcp-config', 'mcp.json', '--strict-mcp-config', '--allowedTools', 'mcp__toolfold'];
    const terminal = new Terminal([process.execPath, programOf(agents.claude), ...flags], dir, env);
    try {
      await terminal.shows('? for shortcuts');
      await terminal.type('use toolfold\r');
      await terminal.shows('Store three notes?');
      await terminal.type('\r'); // accepts
      await terminal.shows('All calls are made.');
    } finally {
      await terminal.close();
    }
    assert.match(unescaped(model.seen.results[0]), /"result":"stored"/);
    assert.equal(await notes(), 3);
  });
}

/** Text in which JSON within JSON is readable. */
function unescaped(text) {
  return text.replaceAll(/\\+"/g, '"');
}
