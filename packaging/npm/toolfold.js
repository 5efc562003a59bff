#!/usr/bin/env node
// Starts the toolfold of this system, which npm installed beside this package.

'use strict';

const { spawn } = require('node:child_process');
const { constants } = require('node:os');

const name = `@toolfold/${process.platform}-${process.arch}`;
const program = process.platform === 'win32' ? 'toolfold.exe' : 'toolfold';

let binary;
try {
  binary = require.resolve(`${name}/${program}`);
} catch {
  const all = Object.keys(require('./package.json').optionalDependencies).join(', ');
  console.error(`toolfold: ${name} is not installed. Install again without --omit=optional; there are ${all}.`);
  process.exit(1);
}

const child = spawn(binary, process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`toolfold: starting ${binary}: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
