// What an agent takes on one surface: rounds by task, what it was sent of toolfold
// before the first call and in all, and whether results are typed for its code.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { getEncoding } from 'js-tiktoken';

import { agents } from './agents.js';
import { startReader } from './model.js';
import { reader, tasks } from './reader.js';

const modules = join(dirname(fileURLToPath(import.meta.url)), '..', 'node_modules');
const encoding = getEncoding('o200k_base');
const tokens = (text) => encoding.encode(text, 'all').length;

/** Every listing and fold, and answers that are structured too on two of them. */
export const candidates = ['search', 'lazy', 'signature', 'full'].flatMap((listing) => ['family', 'effect', 'none'].map((fold) => [`--listing=${listing}`, `--fold=${fold}`]));
candidates.push(['--listing=lazy', '--fold=family', '--structured'], ['--listing=full', '--fold=none', '--structured']);

/** The hosts, by the names of --for; an agent that works in several ways stands there once for each. */
export const hosts = {
  'claude-code': { // it asks a model while servers start
    agent: 'claude', kind: 'deferring', env: { ENABLE_TOOL_SEARCH: 'true' }, wait: 1500,
    more: ['core', 'all'].flatMap((loads) => ['lazy', 'signature', 'full'].map((listing) => [`--listing=${listing}`, '--fold=family', `--always-load=${loads}`])),
  },
  'claude-code, tool search off': { agent: 'claude', kind: 'eager', env: { ENABLE_TOOL_SEARCH: 'false' } },
  codex: { agent: 'codex', kind: 'code', model: 'gpt-5.6-sol' },
  'codex, models that write no code': { agent: 'codex', kind: 'deferring', model: 'gpt-5.5' },
  opencode: { agent: 'opencode', kind: 'eager' },
  'opencode, code mode': { agent: 'opencode', kind: 'code', env: { OPENCODE_EXPERIMENTAL_CODE_MODE: '1' } },
  gemini: { agent: 'gemini', kind: 'eager' },
  qwen: { agent: 'qwen', kind: 'deferring' },
  copilot: { agent: 'copilot', kind: 'eager' },
  cline: { agent: 'cline', kind: 'eager' },
};

/** The path of an agent's program. */
export const programOf = ({ program }) => resolve(modules, program);

/** The version of a host's agent; undefined where it is not installed. */
export function installed({ agent }) {
  if (!existsSync(programOf(agents[agent]))) return undefined;
  return JSON.parse(readFileSync(join(modules, agents[agent].package, 'package.json'))).version;
}

/** Runs a host with a server of these options, or with none for null, and returns what it took; bare is what it took with none. */
export async function capture(host, options, bare) {
  const dir = mkdtempSync(join(tmpdir(), 'toolfold-host-'));
  const { decide, report } = reader();
  const model = await startReader(options ? decide : () => null, host.wait);
  try {
    const server = options && [resolve(process.env.TOOLFOLD_BIN), 'serve', '--worker=false', '--store', `sqlite://${join(dir, 't.db')}`, `--for=${host.kind}`, ...options];
    const agent = agents[host.agent];
    const { before, args, env } = agent.prepare(dir, model.url, server, host.model);
    if (before) await run(agent, before, dir, { ...env, ...host.env });
    const output = await run(agent, args, dir, { ...env, ...host.env });
    const { requests } = model.seen;
    if (requests.length === 0) throw new Error(`${host.agent} sent no request with tools; it said ${output.slice(-1000)}`);
    const [first, last] = [size(requests[0]), size(requests.at(-1))];
    if (!options) return first;
    if (process.env.STEPS) console.log(report.steps.join('\n'));
    const rounds = tasks.map((task) => (report.done.includes(task.name) ? report.rounds[task.name] : null));
    return {
      rounds, total: rounds.includes(null) ? null : rounds.reduce((sum, n) => sum + n, 0),
      start: less(first, bare), end: less(last, bare), ...(report.typed === undefined ? {} : { typed: report.typed }),
    };
  } finally {
    model.close();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A request in bytes and tokens. Long texts are counted as the model reads them, the rest as JSON. */
function size(body) {
  let sum = 0;
  const rest = JSON.stringify(body, (_, value) => {
    if (typeof value !== 'string' || value.length < 200) return value;
    sum += tokens(value);
    return '';
  });
  return { bytes: JSON.stringify(body).length, tokens: sum + tokens(rest) };
}

const less = (a, b) => ({ bytes: a.bytes - b.bytes, tokens: a.tokens - b.tokens });

const runMillis = 120_000;

/** Runs an agent, or the program of an absolute path, to its end, or stops it; returns what it printed. */
export async function run({ program }, args, dir, env) {
  const path = programOf({ program });
  const command = /\.c?js$/.test(path) ? [process.execPath, path] : [path];
  const child = spawn(command[0], [...command.slice(1), ...args], {
    cwd: dir, stdio: ['ignore', 'pipe', 'pipe'], detached: true,
    env: { PATH: process.env.PATH, HOME: dir, XDG_CONFIG_HOME: join(dir, 'config'), XDG_DATA_HOME: join(dir, 'data'), XDG_CACHE_HOME: join(dir, 'cache'), ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => { output += chunk; });
  const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), runMillis);
  await new Promise((ended) => { child.once('close', ended); child.once('error', ended); });
  clearTimeout(timer);
  return output;
}
