// Runs every agent that is installed on every candidate surface, with a model that
// reads what it is sent, and writes down what that took: see docs/hosts.md. Hosts
// that are not installed, or not named, keep what the file has.
//
//   TOOLFOLD_BIN=/tmp/toolfold node capture.js FILE.json [HOST…]

import { readFileSync, writeFileSync } from 'node:fs';

import { candidates, capture, hosts, installed } from './lib/capture.js';

const [file, ...only] = process.argv.slice(2);
if (!file) throw new Error('the file for the captures is missing: node capture.js FILE.json [HOST…]');
let captures = {};
try {
  captures = JSON.parse(readFileSync(file));
} catch (error) {
  if (error.code !== 'ENOENT') throw error;
}
for (const [name, host] of Object.entries(hosts)) {
  const version = installed(host);
  if (!version) console.log(`# ${name} is not installed: its captures stay as they are`);
  if (!version || (only.length > 0 && !only.includes(name))) continue;
  const bare = await capture(host, null);
  const rows = [];
  for (const options of [...candidates, ...(host.more ?? [])]) {
    const got = await capture(host, options, bare);
    console.log(name, options.join(' ') || 'defaults', JSON.stringify(got));
    rows.push({ options, ...got });
  }
  captures[name] = { version, kind: host.kind, surfaces: rows };
  writeFileSync(file, `${JSON.stringify(captures, null, 1).replaceAll(/\n {4,}([^\n]*)/g, ' $1').replaceAll(/\n {3}([}\]])/g, ' $1')}\n`);
}
