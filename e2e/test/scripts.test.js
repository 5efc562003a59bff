// A script whose server, engine, upstream and store are killed again and again: a process goes on, and every call that
// must not be repeated reaches its server once. TOOLFOLD_KILLS sets the number of kills; after that of a server, the test
// waits for the end of a lease.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { atEnd, placeFor, runCommand } from '../lib/server.js';
import { stores } from '../lib/stores.js';
import { RawStdio, call } from '../lib/wire.js';

const kills = Number(process.env.TOOLFOLD_KILLS ?? 1);
const till = fileURLToPath(new URL('../lib/till.js', import.meta.url));
const patience = 60_000;
const more = ['--max-interruptions', '1000'];

const rounds = Math.max(30, kills); // of three calls at once
const code = `
  const paid = [];
  for (let i = 0; i < ${rounds}; i++) {
    const three = await Promise.all(['a', 'b', 'c'].map((x) => till_pay({ id: x + i })));
    await memory.store({ key: 'round/' + i, value: three });
    paid.push(...three);
    await sleep(20);
  }
  return paid.length`;

/** What is killed, one after the other: processes, and the connections to PostgreSQL. */
const victims = {
  server: ({ server }) => server.child.kill('SIGKILL'),
  engine: ({ server }) => {
    for (const pid of children(server.child.pid)) if (commandOf(pid)[1] === 'toolfold: scripts') kill(pid);
  },
  upstream: ({ journal }) => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const [program, ...args] = commandOf(pid);
      if (program === process.execPath && args.includes(journal)) kill(pid);
    }
  },
  PostgreSQL: ({ name }) => {
    const statement = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '${name}'`;
    execFileSync('psql', ['-q', '-c', statement, process.env.TOOLFOLD_TEST_POSTGRES], { stdio: ['ignore', 'ignore', 'pipe'] });
  },
};

describe('scripts', { concurrency: true }, () => {
  for (const [kind, storeFor] of Object.entries(stores)) test(`a script is killed ${kills} times, ${kind}`, async (t) => {
    const place = placeFor(t);
    place.store = storeFor(place, t);
    const name = `scripts_${randomUUID().slice(0, 8)}`;
    if (kind === 'PostgreSQL') place.store += `&application_name=${name}`;
    const journal = join(place.dir, 'paid');
    const paid = () => (existsSync(journal) ? readFileSync(journal, 'utf8').split('\n').slice(0, -1) : []);
    mkdirSync(join(place.dir, 'toolfold'), { recursive: true });
    const upstreams = { till: { command: process.execPath, args: [till, journal] } };
    writeFileSync(join(place.dir, 'toolfold', 'config.json'), JSON.stringify({ upstreams }));
    const { code: failed, stderr } = await runCommand(place, 'upstream', 'check');
    assert.equal(failed, 0, stderr);

    const run = { id: undefined, unknown: 0 };
    const order = Object.keys(victims).filter((victim) => !(victim in stores) || victim === kind);
    let server;
    for (let n = 0; n < kills; n++) {
      const enough = () => paid().length >= ((n + 1) * 3 * rounds) / (kills + 2);
      server ??= await started(t, place);
      if (run.id === undefined) await begin(server, run, enough);
      else await reach(server, run, paid, enough);
      const victim = order[n % order.length];
      const closed = once(server.child, 'close');
      victims[victim]({ server, place, journal, name });
      if (victim !== 'server') continue;
      await closed;
      server = undefined;
    }
    const { output } = await reach(server ?? await started(t, place), run, paid, () => false);
    assert.equal(output.result, 3 * rounds);
    const all = paid();
    assert.equal(new Set(all).size, 3 * rounds, 'every call was made');
    assert.equal(all.length, 3 * rounds, 'no call was made twice');
    t.diagnostic(`${run.unknown} calls were unknown`);
  });
});

async function started(t, place) {
  const server = await new RawStdio(place.serve({ more })).initialize();
  atEnd(t, () => server.stop());
  return server;
}

async function begin(server, run, enough) {
  server.send(call('run', 'script', { action: 'run', code }));
  await until(enough);
  const { tasks } = await ask(server, 'task', { action: 'list' });
  run.id = tasks.find((task) => task.name === 'script.run').taskId;
}

/** The processes that a process started. */
function children(pid) {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    try {
      return readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean);
    } catch {
      return []; // the thread has ended
    }
  });
}

function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return []; // it has ended
  }
}

function kill(pid) {
  try {
    process.kill(Number(pid), 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/**
 * Waits until the run is completed or enough was paid. Where it stops at unknown calls, it states what
 * became of them, by looking at what was paid.
 */
async function reach(server, run, paid, enough) {
  let status;
  await until(async () => {
    status = await statusOf(server, run);
    if (status.status === 'failed') {
      assert.ok(status.output.unknown, JSON.stringify(status.output));
      const outcome = {};
      for (const { call: number, arguments: { id } } of status.output.unknown) {
        outcome[number] = paid().includes(id) ? 'done' : 'not done';
        run.unknown++;
      }
      server.send(call('go on', 'script', { action: 'run', id: run.id, outcome }));
      await until(async () => (await statusOf(server, run)).status !== 'failed');
    }
    return status.status === 'completed' || enough();
  });
  return status;
}

const statusOf = (server, run) => ask(server, 'task', { action: 'status', taskId: run.id, include_fields: ['status', 'output'] });

/** The content of the answer to a call; answers to others are left out. */
async function ask(server, name, args) {
  server.send(call('ask', name, args));
  for (;;) {
    const { id, result } = JSON.parse(await server.line());
    if (id === 'ask') return JSON.parse(result.content[0].text);
  }
}

/** Waits until a condition holds. */
async function until(holds) {
  for (const end = Date.now() + patience; !(await holds()); await pause(20)) {
    assert.ok(Date.now() < end, 'it took too long');
  }
}
