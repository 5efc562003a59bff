// What the Go test TestRandomAnswersFitOutputSchemas was answered, held against the
// listed output schemas by another validator; and TypeScript made of the list.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { compile } from 'json-schema-to-typescript';

import { clients, connect } from '../lib/clients.js';
import { placeFor } from '../lib/server.js';

const answers = process.env.TOOLFOLD_TYPED_ANSWERS;

test('answers of random calls fit the listed output schemas', { skip: !answers && 'TOOLFOLD_TYPED_ANSWERS names no file of answers' }, () => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true });
  addFormats.default(ajv);
  const validators = new Map();
  const held = new Set();
  let count = 0;
  for (const line of readFileSync(answers, 'utf8').trimEnd().split('\n')) {
    const { surface, tool, schema, answer } = JSON.parse(line);
    const name = `${surface} ${tool}`;
    if (schema) {
      validators.set(name, ajv.compile(schema));
      continue;
    }
    const validate = validators.get(name);
    assert.ok(validate(answer), `${name} answers ${JSON.stringify(answer).slice(0, 500)}: ${ajv.errorsText(validate.errors)}`);
    held.add(name);
    count++;
  }
  assert.ok(count >= 300 && held.size >= validators.size * 0.75, `${count} answers of ${held.size} tools in ${validators.size}`);
});

/** Members that hold what callers stored or gave, what a run answered, what has a schema of its own, or schemas. */
const anything = ['value', 'oldValue', 'newValue', 'metadata', 'details', 'input', 'output', 'answer', 'config', 'inputSchema', 'tools', 'definitions',
  'requestBody', 'responseBody', 'responses', 'schemas', 'arguments', 'definition', 'got', 'default', 'records', 'result', 'outcome'];

/** Lists of steps within steps, whose shape is that of the list around them. */
const nested = ['workflow_runOut steps?: {', 'workflow_runOut then?: {', 'workflow_runOut else?: {'];

test('TypeScript made of the list compiles, and says what each value is', async (t) => {
  const client = await connect(t, clients[0], 'stdio', placeFor(t), { mode: 'consolidated', more: ['--fold=none', '--listing=full'] });
  const { tools } = await client.listTools();
  const parts = [];
  const vague = [];
  for (const { name, inputSchema, outputSchema } of tools) {
    for (const [kind, schema] of [['In', inputSchema], ['Out', outputSchema]]) {
      if (!schema) continue;
      const text = await compile(schema, name + kind, { additionalProperties: false, bannerComment: '', format: false, unknownAny: true });
      parts.push(`export namespace ${name}${kind} {\n${text}\n}`);
      text.split('\n').forEach((line, i, lines) => {
        if (!/[:<|(]\s*(unknown|any)\b/.test(line.replace(/^\s*\*.*/, ''))) return;
        const member = /^\s*\[k: string\]/.test(line) ? lines[i - 1] : line; // of an open object: the member that it is the value of
        if (!anything.some((open) => new RegExp(`\\b${open}\\??:`).test(member))) vague.push(`${name}${kind} ${member.trim()}`);
      });
    }
  }
  assert.deepEqual(vague.filter((name) => !nested.includes(name)), [], 'values without a shape');
  assert.ok(parts.length > 160, `only ${parts.length} types`);

  compiles(t, parts);
});

const signatures = process.env.TOOLFOLD_SIGNATURES;

test('signatures for scripts are TypeScript', async (t) => {
  const client = await connect(t, clients[0], 'stdio', placeFor(t), { mode: 'consolidated', more: ['--fold=none'] });
  const { tools } = await client.listTools();
  const list = [];
  for (const { name } of tools) {
    const { content } = await client.callTool({ name: 'tools_describe', arguments: { name, as: 'ts' } });
    list.push(JSON.parse(content[0].text).tools[0].signature);
  }
  assert.ok(list.length > 80 && list.every(Boolean), `only ${list.length} signatures`);
  if (signatures) list.push(...readFileSync(signatures, 'utf8').trimEnd().split('\n')); // those of the Go tests
  compiles(t, list.map((signature, i) => signature.replace(/^[^(]*/, `export declare function f${i}`) + ';'));
});

/** Fails unless the parts of a module compile. */
function compiles(t, parts) {
  const dir = mkdtempSync(join(tmpdir(), 'toolfold-types-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'tools.ts'), parts.join('\n'));
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
  const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, '--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', join(dir, 'tools.ts')], { encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
}
