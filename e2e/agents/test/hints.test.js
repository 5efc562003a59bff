// The words in _meta by which Claude Code's own search finds tools that it does not show.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test from 'node:test';

import { agents } from '../lib/agents.js';
import { installed, run } from '../lib/capture.js';
import { startReader } from '../lib/model.js';

const client = { agent: 'claude' };

/** Searches by words that stand in no name and no description, with the tool that is meant. */
const searches = [['halt stopwatch', 'timer'], ['runbook', 'workflow'], ['overnight batch', 'task'], ['crashed another go', 'task']];

test('searchHint', { skip: installed(client) ? false : 'Claude Code could not be installed', timeout: 150_000 }, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'toolfold-hint-'));
  const found = [];
  const model = await startReader(({ tools, body }) => {
    const search = tools.find((t) => t.name === 'ToolSearch');
    if (!search) return null;
    const results = body.messages.flatMap((m) => (Array.isArray(m.content) ? m.content : [])).filter((part) => part.type === 'tool_result');
    if (results.length > 0) found[results.length - 1] = JSON.stringify(results.at(-1).content);
    const [query] = searches[results.length] ?? [];
    return query ? { tool: search, args: { query, max_results: 5 } } : null;
  }, 2500); // servers start meanwhile
  try {
    const server = [resolve(process.env.TOOLFOLD_BIN), 'serve', '--worker=false', '--store', `sqlite://${join(dir, 't.db')}`, '--for=deferring', '--listing=signature'];
    const { args, env } = agents.claude.prepare(dir, model.url, server);
    const output = await run(agents.claude, args, dir, { ...env, ENABLE_TOOL_SEARCH: 'true' });
    for (const [i, [query, tool]] of searches.entries()) assert.match(found[i] ?? output.slice(-500), new RegExp(`"mcp__toolfold__${tool}"`), query);
    assert.ok(!JSON.stringify(model.seen.requests.at(-1)).includes('searchHint'), 'models are sent the words');
  } finally {
    model.close();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  }
});
