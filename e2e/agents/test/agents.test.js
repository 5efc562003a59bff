// Runs every coding agent that could be installed in every mode and level: what
// should pass passes, what should be refused is refused with its code, and the
// tokens of the tools, as the agent sends them, are printed.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { getEncoding } from 'js-tiktoken';

import { agents } from '../lib/agents.js';
import { startModel } from '../lib/model.js';

if (!process.env.TOOLFOLD_BIN) throw new Error('TOOLFOLD_BIN must hold the path of a toolfold binary');
const binary = resolve(process.env.TOOLFOLD_BIN);
const modules = join(dirname(fileURLToPath(import.meta.url)), '..', 'node_modules');
const tokens = (text) => getEncoding('o200k_base').encode(text).length;

const runMillis = 150_000;

const nested = (action, params) => ({ action, params });
const flat = (action, params) => ({ action, ...params });

/** What a model calls on a consolidated surface, and a part of what it must read. */
const consolidated = (form, limit = 2) => [
  ['memory', form('store', { key: 'team/rules', value: { freeze: 'Friday', n: 12345678901234567890n } }), '"stored"'],
  ['memory', form('get', { key: 'team/rules', include_fields: ['found', 'value.freeze'] }), '{"found":true,"value":{"freeze":"Friday"}}'],
  ['memory', form('list', { prefix: 'team/', limit, confirm: false }), '"total":1'],
  ['memory', form('store', { key: 'x', vlaue: {} }), 'INVALID_INPUT'],
  ['memory', form('stor', { key: 'x', value: {} }), /INVALID_ACTION|must be equal to one of/],
  ['memory', form('bulk_delete', { keys: ['team/rules', 'other'] }), '"deleted":1'],
  ['tools', form('find', { query: 'remember a decision', limit: 2 }), 'memory.store'],
  ['tool_call', { name: 'memory.stats', arguments: {} }, '"totalEntries"'],
  ['config', form('set', { path: 'store', value: 'memory:' }), 'PERMISSION_DENIED'],
];

const scripts = {
  lazy: { args: [], calls: consolidated(nested, '2') },
  search: {
    args: ['--listing=search'],
    calls: [...consolidated(nested), ['tool_call', { name: 'session.create', arguments: { initiator: 'planner', task: 'Ship' } }, '"sessionId"']].filter(([tool]) => tool !== 'config'),
  },
  signature: { args: ['--listing=signature'], calls: consolidated(nested) },
  full: { args: ['--listing=full'], calls: consolidated(flat) },
  legacy: {
    args: ['--tool-mode=legacy'],
    calls: [
      ['memory_store', { key: 'team/rules', value: { freeze: 'Friday' } }, '"stored"'],
      ['memory_retrieve', { key: 'team/rules' }, '"freeze":"Friday"'],
      ['memory_list', { prefix: 'team/', limit: 2 }, '"total":1'],
      ['memory_store', { key: 'x' }, /INVALID_INPUT|required|must have/],
      ['memory_bulk_delete', { keys: ['team/rules'] }, '"deleted":1'],
    ],
  },
};

// A server from npm, folded: its file stands where no agent works.
const memory = join(modules, '../../node_modules/@modelcontextprotocol/server-memory/dist/index.js');
if (existsSync(memory)) {
  const dir = mkdtempSync(join(tmpdir(), 'toolfold-upstream-'));
  test.after(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'mcp.json'), JSON.stringify({
    mcpServers: { notes: { command: process.execPath, args: [memory], env: { MEMORY_FILE_PATH: join(dir, 'notes.jsonl') } } },
  }));
  scripts.gateway = {
    args: ['--tier=none', '--upstreams', join(dir, 'mcp.json')],
    calls: [
      ['notes', nested('read_graph', {}), '"entities"'],
      ['notes', nested('search_nodes', { qeury: 'first' }), 'INVALID_INPUT'],
      ['tool_call', { name: 'notes.open_nodes', arguments: { names: ['Ada'] } }, '"relations"'],
      ['tools', nested('find', { query: 'knowledge graph search', limit: 2 }), 'search_nodes'],
      ['notes_write', nested('delete_entities', { entityNames: ['Ada'] }), 'deleted'],
    ],
  };
} else {
  console.log('# npm ci in e2e installs the server that is folded here: it is left out');
}

/** Those whose models are shown all tools at once; hosts.test.js runs the others too. */
const eager = ['claude', 'codex', 'gemini', 'opencode'];

for (const [name, agent] of Object.entries(agents).filter(([name]) => eager.includes(name))) {
  const program = join(modules, agent.program);
  if (!existsSync(program)) {
    console.log(`# ${name} could not be installed: it is not run`);
    continue;
  }
  const { version } = JSON.parse(readFileSync(join(modules, agent.package, 'package.json')));
  for (const [surface, { args, calls }] of Object.entries(scripts)) {
    test(`${name} ${version}, ${surface}`, { timeout: runMillis + 30_000 }, async (t) => {
      const dir = mkdtempSync(join(tmpdir(), 'toolfold-agent-'));
      const model = await startModel(calls.map(([tool, args]) => [tool, { ...plain(args), ...agent.adds }]));
      t.after(() => {
        model.close();
        rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
      });
      const server = [binary, 'serve', '--worker=false', '--store', `sqlite://${join(dir, 't.db')}`, ...args];
      const { args: flags, env } = agent.prepare(dir, model.url, server);
      if (surface === 'gateway') await learn(server, dir);
      const output = await run(program, flags, dir, env);
      const { results, tools } = model.seen;
      assert.equal(results.length, calls.length, `every call is answered; the agent said ${output.slice(-2000)}`);
      calls.forEach(([tool, , want], i) => {
        const read = unescaped(results[i]);
        assert.ok(want instanceof RegExp ? want.test(read) : read.includes(want), `${i}: ${tool} answered ${read.slice(0, 600)}, want ${want}`);
      });
      const shown = tokens(tools.map((tool) => JSON.stringify(tool.shown)).join(''));
      t.diagnostic(`${name} ${surface}: ${tools.length} tools, ${shown} tokens; answers ${tokens(results.join(''))} tokens`);
    });
  }
}

/** Big integers as numbers that JavaScript can hold: what an agent sends on. */
function plain(value) {
  return JSON.parse(JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? Number(v) : v)));
}

/** Text in which JSON within JSON is readable, however often it was wrapped. */
function unescaped(text) {
  return text.replaceAll(/\\+"/g, '"');
}

/**
 * Serves until the list of the upstream is kept: a first start waits for none, and many agents take the list once.
 * Only HOME says where: Codex hands its servers no other place.
 */
async function learn([command, ...args], dir) {
  const child = spawn(command, args, { cwd: dir, stdio: ['pipe', 'ignore', 'ignore'], env: { PATH: process.env.PATH, HOME: dir } });
  const ended = new Promise((end) => { child.once('close', end); });
  const lists = join(dir, '.local', 'share', 'toolfold', 'upstreams');
  const deadline = Date.now() + runMillis;
  while (!(existsSync(lists) && readdirSync(lists).some((file) => file.endsWith('.json')))) {
    assert.ok(child.exitCode === null && Date.now() < deadline, 'the upstream lists its tools');
    await new Promise((later) => { setTimeout(later, 100); });
  }
  child.stdin.end();
  await ended;
}

/** Runs a program to its end, or stops it; returns what it printed. */
async function run(program, args, dir, env) {
  const command = /\.c?js$/.test(program) ? [process.execPath, program] : [program];
  const child = spawn(command[0], [...command.slice(1), ...args], {
    cwd: dir, stdio: ['ignore', 'pipe', 'pipe'], detached: true,
    env: { PATH: process.env.PATH, HOME: dir, ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => { output += chunk; });
  const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), runMillis);
  await new Promise((ended) => { child.once('close', ended); child.once('error', ended); });
  clearTimeout(timer);
  return output;
}
