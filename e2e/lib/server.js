// Starts the server under test, each time with a store and a workspace of its
// own, and ends only the processes that it started.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const binary = findBinary(process.env.TOOLFOLD_BIN);

const startMillis = 10_000;
const stopMillis = 15_000; // the server gives requests under way some time

function findBinary(given) {
  const how = 'build it with: go build -o /tmp/toolfold ./cmd/toolfold';
  if (!given) {
    throw new Error(`TOOLFOLD_BIN is not set: it must hold the path of a toolfold binary; ${how}`);
  }
  const path = resolve(given);
  try {
    accessSync(path, constants.X_OK);
  } catch {
    throw new Error(`TOOLFOLD_BIN=${given} is no executable file; ${how}`);
  }
  return path;
}

/**
 * A temporary place with a workspace, a home and a database file. What is
 * started in it sees no settings of the machine it runs on.
 */
export class Place {
  constructor() {
    this.dir = mkdtempSync(join(tmpdir(), 'toolfold-e2e-'));
    this.workspace = join(this.dir, 'workspace');
    mkdirSync(this.workspace);
    this.store = `sqlite://${join(this.dir, 't.db')}`;
    this.env = { PATH: process.env.PATH, HOME: this.dir, XDG_CONFIG_HOME: this.dir, XDG_DATA_HOME: this.dir };
  }

  /** The command line of `toolfold serve` here; mode and level may be absent. */
  serve({ mode, level, more = [] } = {}) {
    const args = ['serve', '--trust', '--workspace', this.workspace, '--store', this.store, ...more];
    if (mode) args.push('--tool-mode', mode);
    if (level) args.push('--listing', level);
    return { command: binary, args, env: this.env };
  }

  remove() {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

const endings = new WeakMap();

/** Calls end when test t is over; what began last ends first. */
export function atEnd(t, end) {
  if (!endings.has(t)) {
    endings.set(t, []);
    t.after(async () => {
      for (const one of endings.get(t).reverse()) await one();
    });
  }
  endings.get(t).push(end);
}

/** A place that lasts as long as test t. */
export function placeFor(t) {
  const place = new Place();
  atEnd(t, () => place.remove());
  return place;
}

export function start({ command, args, env, cwd }) {
  return spawn(command, args, { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] });
}

/** Runs a command to its end and returns { code, stdout, stderr }. */
export async function run(command) {
  const child = start(command);
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  child.stdin.end();
  await once(child, 'close');
  return { code: child.exitCode, stdout: stdout.text, stderr: stderr.text };
}

/** Runs a subcommand of the server's binary, such as tools --json. */
export function runCommand(place, ...args) {
  return run({ command: binary, args, env: place.env });
}

/** Gathers what a stream says. */
export function collect(stream) {
  const collected = { text: '' };
  stream.setEncoding('utf8').on('data', (chunk) => { collected.text += chunk; });
  return collected;
}

/** Ends a process that was started here, and waits until it is gone. */
export async function stop(child, signal = 'SIGTERM') {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'close');
  child.kill(signal);
  const force = setTimeout(() => child.kill('SIGKILL'), stopMillis);
  await gone;
  clearTimeout(force);
}

/** Starts a server on a free port of 127.0.0.1. */
export async function startHTTP(place, options = {}) {
  const more = ['--http', '127.0.0.1:0', ...(options.more ?? [])];
  const child = start(place.serve({ ...options, more }));
  const stderr = collect(child.stderr);
  const url = await announced(child, stderr).catch(async (error) => {
    await stop(child);
    throw error;
  });
  return { url, base: url.slice(0, -'/mcp'.length), child, stderr, stop: () => stop(child) };
}

/** Waits for the line on standard error that says where the server is. */
function announced(child, stderr) {
  return new Promise((found, failed) => {
    const fail = (why) => failed(new Error(`${why}; it said: ${stderr.text}`));
    const late = setTimeout(() => fail('the server did not say its address'), startMillis);
    child.once('close', (code) => {
      clearTimeout(late);
      fail(`the server ended with code ${code}`);
    });
    child.stderr.on('data', () => {
      const line = /^serving MCP at (http:\S+)$/m.exec(stderr.text);
      if (!line) return;
      clearTimeout(late);
      found(line[1]);
    });
  });
}

/** A server on HTTP that lasts as long as test t. */
export async function httpFor(t, place, options) {
  const server = await startHTTP(place, options);
  atEnd(t, () => server.stop());
  return server;
}
