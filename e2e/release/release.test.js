// What `make snapshot` made, used as people will: the archive unpacked, the packages of npm
// installed from a registry on loopback, and the cask of Homebrew read.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { test } from 'node:test';

import { listedTools } from '../lib/expected.js';
import { atEnd, collect, placeFor, run, start, stop } from '../lib/server.js';
import { RawStdio, request } from '../lib/wire.js';

const dist = resolve(process.env.TOOLFOLD_DIST);
const read = (...path) => readFileSync(join(dist, ...path), 'utf8');
const { version } = JSON.parse(read('metadata.json'));
const artifacts = JSON.parse(read('artifacts.json'));
const sums = new Map(read('checksums.txt').trim().split('\n').map((line) => line.split(/\s+/).reverse()));
const packages = readdirSync(join(dist, 'npm'), { withFileTypes: true }).filter((entry) => entry.isDirectory()).map((entry) => entry.name);

const machines = { x64: 'amd64', arm64: 'arm64' };
const archive = artifacts.find(({ type, goos, goarch }) =>
  type === 'Archive' && goos === process.platform && goarch === machines[process.arch]);

const digest = (bytes, algorithm, encoding) => createHash(algorithm).update(bytes).digest(encoding);

test('six archives and their SBOMs have the checksums that are told', () => {
  assert.equal(artifacts.filter(({ type }) => type === 'Archive').length, 6);
  const boms = artifacts.filter(({ type }) => type === 'SBOM');
  assert.equal(boms.length, 6);
  assert.equal(sums.size, 12);
  for (const [name, sum] of sums) assert.equal(digest(readFileSync(join(dist, name)), 'sha256', 'hex'), sum, name);
  for (const { name } of boms) {
    const modules = JSON.parse(read(name)).components.map((component) => component.name);
    for (const wanted of ['std', 'modernc.org/sqlite', 'github.com/jackc/pgx/v5']) assert.ok(modules.includes(wanted), `${name} lacks ${wanted}`);
  }
});

test('the archive of this system starts', async (t) => {
  const place = placeFor(t);
  const { code, stderr } = await run({ command: 'tar', args: ['-xzf', join(dist, archive.name), '-C', place.workspace], env: place.env });
  assert.equal(code, 0, stderr);
  for (const name of ['LICENSE', 'NOTICE', 'README.md', 'SECURITY.md']) assert.ok(existsSync(join(place.workspace, name)), name);
  await serves(t, place, join(place.workspace, 'toolfold'), []);
});

test('npx starts what npm installs from a registry', async (t) => {
  const place = await registryFor(t);
  await serves(t, place, 'npx', ['--yes', 'toolfold']);
});

test('npm install of a tarball has the binary of this system, and no other', async (t) => {
  const place = await registryFor(t);
  await npm(place, 'install', join(dist, 'npm', `toolfold-${version}.tgz`));
  assert.deepEqual(readdirSync(join(place.dir, 'node_modules/@toolfold')), [`${process.platform}-${process.arch}`]);
  await serves(t, place, 'npx', ['--no', 'toolfold']);
  await ends(t, place);
});

test('without its binary the package says what to do', async (t) => {
  const place = await registryFor(t);
  await npm(place, 'install', '--omit=optional', 'toolfold');
  const { code, stderr } = await run({ command: join(place.dir, 'node_modules/.bin/toolfold'), args: ['version'], env: place.env });
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`^toolfold: @toolfold/${process.platform}-${process.arch} is not installed\\. Install again without --omit=optional`));
});

test('setup from npx writes no path that npx removes', async (t) => {
  const place = await registryFor(t);
  const { code, stderr } = await run({ ...inside(place), command: 'npx', args: ['--yes', 'toolfold', 'setup', 'gemini'] });
  assert.equal(code, 1);
  assert.match(stderr, /npm install -g toolfold/);
});

test('the cask has the digest of each archive', async (t) => {
  const path = join(dist, 'homebrew/Casks/toolfold.rb');
  const { code, stdout, stderr } = await run({ command: 'ruby', args: ['-c', path], env: process.env });
  assert.equal(code, 0, stdout + stderr);
  const text = readFileSync(path, 'utf8');
  const entries = [...text.matchAll(/sha256 "(\w+)"\s+url "([^"]+)"/g)];
  assert.equal(entries.length, 4);
  for (const [, sum, url] of entries) {
    const name = url.replaceAll('#{version}', version).split('/').at(-1);
    assert.equal(sum, sums.get(name), name);
  }
  assert.match(text, /^  binary "toolfold"$/m);
});

/** Holds a command to what the binary of a release does. */
async function serves(t, place, command, args) {
  const result = await run({ ...inside(place), command, args: [...args, 'version'] });
  assert.equal(result.code, 0, result.stderr);
  assert.match(result.stdout, /^toolfold \S+\n$/);
  const server = new RawStdio({ ...inside(place), command, args: [...args, 'serve'] });
  atEnd(t, () => server.stop());
  await server.initialize();
  const { answer } = await server.exchange(request(1, 'tools/list'));
  assert.equal(answer.result.tools.length, listedTools('consolidated'));
}

/** A signal to the program of npm reaches the binary. */
async function ends(t, place) {
  const child = start({ command: join(place.dir, 'node_modules/.bin/toolfold'), args: ['serve', '--http', '127.0.0.1:0'], env: place.env });
  atEnd(t, () => stop(child));
  const stderr = collect(child.stderr);
  while (!stderr.text.includes('/mcp')) await once(child.stderr, 'data');
  const [, url] = /(http:\/\/\S+)\/mcp/.exec(stderr.text);
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
  await assert.rejects(fetch(url));
}

/** How to start a command in a place. */
function inside(place) {
  return { env: place.env, cwd: place.dir };
}

async function npm(place, ...args) {
  const { code, stdout, stderr } = await run({ ...inside(place), command: 'npm', args });
  assert.equal(code, 0, stdout + stderr);
}

/** A place whose npm knows a registry with the packages of the snapshot, and no other. */
async function registryFor(t) {
  const place = placeFor(t);
  const server = createServer((incoming, answer) => {
    const path = decodeURIComponent(incoming.url).slice(1);
    if (path.endsWith('.tgz')) {
      answer.end(readFileSync(join(dist, 'npm', path)));
      return;
    }
    const folder = packages.find((name) => manifest(name).name === path);
    if (!folder) {
      answer.writeHead(404).end('{}');
      return;
    }
    const of = manifest(folder);
    const file = `${of.name.replace('@', '').replace('/', '-')}-${version}.tgz`;
    const integrity = `sha512-${digest(readFileSync(join(dist, 'npm', file)), 'sha512', 'base64')}`;
    const one = { ...of, dist: { tarball: `http://${incoming.headers.host}/${file}`, integrity } };
    answer.end(JSON.stringify({ name: of.name, 'dist-tags': { latest: version }, versions: { [version]: one } }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(t, () => server.close());
  writeFileSync(join(place.dir, '.npmrc'), `registry=http://127.0.0.1:${server.address().port}/\naudit=false\nfund=false\nupdate-notifier=false\n`);
  writeFileSync(join(place.dir, 'package.json'), '{"private":true}\n');
  return place;
}

const manifest = (folder) => JSON.parse(read('npm', folder, 'package.json'));
