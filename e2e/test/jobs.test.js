// Twenty jobs of many calls over two servers of npm, once call by call and once as scripts: the results and
// the files afterwards are the same, and the model reads a tenth of the bytes or less.

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

import { jobs, prepare } from '../lib/jobs.js';
import { atEnd, placeFor, runCommand } from '../lib/server.js';
import { RawStdio, call } from '../lib/wire.js';

const { resolve } = createRequire(import.meta.url);
const program = (name) => join(resolve(`@modelcontextprotocol/${name}/package.json`), '..', 'dist', 'index.js');
const AsyncFunction = (async () => {}).constructor;

test('jobs as scripts', async (t) => {
  const one = await side(t);
  const two = await side(t);
  const totals = { calls: 0, read: 0, written: 0, scripts: 0, answers: 0 };
  for (const [name, code] of Object.entries(jobs)) {
    const single = { calls: 0, read: 0, written: 0 };
    const server = (key) => new Proxy({}, { get: (_, tool) => async (args) => {
      const request = { name: `${key}.${tool}`, arguments: args };
      const result = await one.ask('tool_call', request);
      single.calls++;
      single.written += Buffer.byteLength(JSON.stringify(request));
      single.read += textOf(result).length;
      return valueOf(result);
    } });
    const want = await new AsyncFunction('files', 'graph', 'input', code)(server('files'), server('graph'), { dir: one.dir });
    const args = { action: 'run', code, input: { dir: two.dir } };
    const answer = textOf(await two.ask('script', args)).toString();
    assert.deepEqual(JSON.parse(answer), { success: true, result: want }, name);
    const script = Buffer.byteLength(JSON.stringify(args));
    t.diagnostic(`${name}: ${single.calls} calls, ${single.read} bytes read; as a script ${Buffer.byteLength(answer)}`);
    totals.calls += single.calls;
    totals.read += single.read;
    totals.written += single.written;
    totals.scripts += script;
    totals.answers += Buffer.byteLength(answer);
  }
  assert.deepEqual(contents(two.dir), contents(one.dir));
  t.diagnostic(`${totals.calls} calls: the model reads ${totals.read} bytes and writes ${totals.written}; `
    + `of ${Object.keys(jobs).length} scripts it reads ${totals.answers} and writes ${totals.scripts}`);
  assert.ok(totals.answers <= totals.read / 10);
});

test('the script of examples', async (t) => {
  const { dir, ask } = await side(t);
  const code = readFileSync(new URL('../../examples/scripts/triage.js', import.meta.url), 'utf8');
  for (let i = 0; i < 2; i++) {
    const result = JSON.parse(textOf(await ask('script', { action: 'run', code, input: { dir: `${dir}/issues` } })));
    assert.deepEqual(result, { success: true, result: { read: 40, open: 27, people: ['ada', 'barbara', 'grace', 'ken', 'linus'] } });
  }
  const { structuredContent: graph } = await ask('tool_call', { name: 'graph.read_graph', arguments: {} });
  assert.deepEqual([graph.entities.length, graph.relations.length], [27 + 5, 27]);
});

/** A server over a folder of files and a graph of its own. */
async function side(t) {
  const place = placeFor(t);
  prepare(place.workspace);
  mkdirSync(join(place.dir, 'toolfold'));
  writeFileSync(join(place.dir, 'toolfold', 'config.json'), JSON.stringify({ upstreams: {
    files: { command: process.execPath, args: [program('server-filesystem'), place.workspace] },
    graph: { command: process.execPath, args: [program('server-memory')], env: { MEMORY_FILE_PATH: join(place.dir, 'graph.jsonl') } },
  } }));
  const checked = await runCommand(place, 'upstream', 'check');
  assert.equal(checked.code, 0, checked.stderr);
  const server = await new RawStdio(place.serve()).initialize();
  atEnd(t, () => server.stop());
  const pending = new Map();
  let last = 0;
  const ask = (name, args) => new Promise((done, failed) => {
    pending.set(++last, { done, failed });
    server.send(call(last, name, args));
    if (pending.size === 1) read();
  });
  async function read() {
    while (pending.size > 0) {
      const { id, result, error } = JSON.parse(await server.line());
      const waiting = pending.get(id);
      if (!waiting) continue; // a notification
      pending.delete(id);
      if (error || result.isError) waiting.failed(new Error(JSON.stringify(error ?? result)));
      else waiting.done(result);
    }
  }
  return { dir: place.workspace, ask };
}

/** The bytes of a result that reach the model. */
const textOf = (result) => Buffer.from(result.content.map((block) => block.text).join('\n'));

function valueOf(result) {
  if (result.structuredContent !== undefined) return result.structuredContent;
  const text = textOf(result).toString();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The files below a folder, by their path. */
function contents(dir) {
  return Object.fromEntries(readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name)).sort().map((path) => [path.slice(dir.length), readFileSync(path, 'utf8')]));
}
