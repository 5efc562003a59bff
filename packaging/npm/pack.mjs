// Makes the packages of npm out of what goreleaser left in a folder:
//
//   node packaging/npm/pack.mjs dist dist/npm
//
// One package for each system has its binary; the package toolfold has them as optional
// dependencies, of which npm installs the one for the system, and starts that one.

import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const npmSystem = { windows: 'win32' };
const npmMachine = { amd64: 'x64' };

const root = fileURLToPath(new URL('../..', import.meta.url));
const [dist, out] = process.argv.slice(2).map((path) => resolve(path));
if (!out) {
  console.error('pack.mjs needs the folder of goreleaser and one for the packages: node packaging/npm/pack.mjs dist dist/npm');
  process.exit(2);
}

const read = (path) => JSON.parse(readFileSync(path, 'utf8'));
const { version } = read(join(dist, 'metadata.json'));
const server = read(join(root, 'server.json'));
const shared = {
  version,
  license: 'MIT',
  homepage: server.repository.url,
  repository: { type: 'git', url: `git+${server.repository.url}.git` },
};

/** Writes the package whose program is at a path, with files beside it, and packs it. */
function pack(folder, manifest, program, files = []) {
  const dir = join(out, folder);
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  for (const path of [program, join(root, 'LICENSE'), join(root, 'NOTICE'), ...files]) {
    copyFileSync(path, join(dir, basename(path)));
  }
  chmodSync(join(dir, basename(program)), 0o755);
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ ...manifest, ...shared }, null, 2) + '\n');
  execFileSync('npm', ['pack', '--silent', '--pack-destination', out, dir], { stdio: ['ignore', 'inherit', 'inherit'] });
}

const optionalDependencies = {};
for (const { type, path, goos, goarch } of read(join(dist, 'artifacts.json'))) {
  if (type !== 'Binary') continue;
  const os = npmSystem[goos] ?? goos;
  const cpu = npmMachine[goarch] ?? goarch;
  const name = `@toolfold/${os}-${cpu}`;
  optionalDependencies[name] = version;
  pack(`${os}-${cpu}`, {
    name,
    description: `toolfold for ${goos}/${goarch}; install the package toolfold`,
    os: [os],
    cpu: [cpu],
  }, resolve(root, path));
}

pack('toolfold', {
  name: 'toolfold',
  description: server.description,
  mcpName: server.name,
  bin: { toolfold: 'toolfold.js' },
  engines: { node: '>=18' },
  optionalDependencies,
}, join(root, 'packaging/npm/toolfold.js'), [join(root, 'README.md')]);
