// What an agent has of MCP servers is taken over by `toolfold upstream import`, and the agent,
// as it is, calls the tools of that server by way of toolfold.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { agents } from '../lib/agents.js';
import { run } from '../lib/capture.js';
import { startModel } from '../lib/model.js';

if (!process.env.TOOLFOLD_BIN) throw new Error('TOOLFOLD_BIN must hold the path of a toolfold binary');
const binary = resolve(process.env.TOOLFOLD_BIN);
const modules = join(dirname(fileURLToPath(import.meta.url)), '..', 'node_modules');
const memory = join(modules, '../../node_modules/@modelcontextprotocol/server-memory/dist/index.js');

/** A tool that reads, one that writes, and the first again, which shows what was written. */
const calls = [
  ['notes', { action: 'read_graph', params: {} }, '"entities":[]'],
  ['notes_write', { action: 'create_entities', params: { entities: [{ name: 'Ada', entityType: 'person', observations: ['counts'] }] } }, 'Ada'],
  ['notes', { action: 'search_nodes', params: { query: 'counts' } }, 'Ada'],
];

/** How the entry of a server names a variable, which agents hand on in ways of their own: Codex and Gemini CLI keep it back otherwise. */
const named = { claude: '${NOTES_TOKEN}', gemini: '$NOTES_TOKEN', qwen: '$NOTES_TOKEN', opencode: '{env:NOTES_TOKEN}', copilot: '${NOTES_TOKEN}' };

function withToken(name, had) {
  if (name === 'codex') return had.replace('[mcp_servers.notes]', '[mcp_servers.notes]\nenv_vars = ["NOTES_TOKEN"]');
  const settings = JSON.parse(had);
  const { notes } = settings.mcpServers ?? settings.mcp;
  notes[name === 'opencode' ? 'environment' : 'env'] = { NOTES_TOKEN: named[name] };
  return JSON.stringify(settings);
}

for (const [name, agent] of Object.entries(agents)) {
  const program = join(modules, agent.program);
  if (!existsSync(program) || !existsSync(memory)) {
    console.log(`# ${name} or the server that it has could not be installed: it is not run`);
    continue;
  }
  test(`import of ${name}`, { timeout: 200_000 }, async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'toolfold-import-'));
    const script = [...(agent.search ? [[...agent.search(['notes', 'notes_write']), 'notes_write']] : []), ...calls];
    const model = await startModel(script.map(([tool, args]) => [tool, { ...args, ...agent.adds }]));
    t.after(() => {
      model.close();
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    });
    const keeping = ['/bin/sh', '-c', `test "$NOTES_TOKEN" = good && MEMORY_FILE_PATH='${join(dir, 'notes.jsonl')}' exec '${process.execPath}' '${memory}'`];
    const { before, args, env } = agent.prepare(dir, model.url, keeping);
    const file = join(dir, agent.settings);
    const had = withToken(name, readFileSync(file, 'utf8').replace('mcp_servers.toolfold', 'mcp_servers.notes').replace('"toolfold":', '"notes":'));
    writeFileSync(file, had);
    const imports = (...more) => {
      const done = spawnSync(binary, ['upstream', 'import', ...more], { cwd: dir, env: { PATH: process.env.PATH, HOME: dir, NOTES_TOKEN: 'good' }, encoding: 'utf8' });
      assert.equal(done.status, 0, done.stdout + done.stderr);
      return done.stdout;
    };
    const taking = [file, '--write', ...(agent.search ? ['--anyway'] : [])]; // an agent that defers tools pays less for these as they are
    assert.match(imports(...taking), /notes\s+notes\s+9\s+\d+\s+2\s+\d+/);
    imports('--undo');
    assert.equal(readFileSync(file, 'utf8'), had);
    imports(...taking);
    // Where the import has written to: agents do not hand every variable on to servers.
    const home = { NOTES_TOKEN: 'good', XDG_CONFIG_HOME: join(dir, '.config'), XDG_DATA_HOME: join(dir, '.local/share'), ...env };
    if (before) await run(agent, before, dir, home);
    const output = await run(agent, [...(agent.approve ?? []), ...args], dir, home);
    const { results } = model.seen;
    assert.equal(results.length, script.length, `every call is answered; the agent said ${output.slice(-2000)}`);
    script.forEach(([tool, , want], i) => {
      const read = results[i].replaceAll(/\\+n\s*/g, '').replaceAll(/\\+"/g, '"').replaceAll(/":\s+/g, '":');
      assert.ok(read.includes(want), `${i}: ${tool} answered ${read.slice(0, 600)}, want ${want}`);
    });
  });
}
