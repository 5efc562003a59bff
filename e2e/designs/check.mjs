// Holds what the design tool writes to the tools that read it: TypeScript's
// compiler with React's types, Vue's compiler, Zod, Drizzle, Prisma's validator,
// parsers of OpenAPI, AsyncAPI, YAML and Mermaid. Names and texts are hostile: they end comments, literals
// and labels somewhere.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import SwaggerParser from '@apidevtools/swagger-parser';
import { Parser } from '@asyncapi/parser';
import prisma from '@prisma/prisma-schema-wasm';
import { load as loadYAML } from 'js-yaml';
import { JSDOM } from 'jsdom';
import { compileScript, compileTemplate, parse as parseVue } from 'vue/compiler-sfc';

const bin = process.env.TOOLFOLD_BIN;
if (!bin) throw new Error('TOOLFOLD_BIN must name a built toolfold');

const here = fileURLToPath(new URL('.', import.meta.url));
// Inside this folder, so that the packages are found from there.
const scratch = mkdtempSync(join(here, 'node_modules', '.designs-'));
const workspace = mkdtempSync(join(tmpdir(), 'toolfold-designs-'));
after(() => { for (const dir of [scratch, workspace]) rmSync(dir, { recursive: true, force: true }); });

/** Calls an action of the design tool and returns its result. */
function design(action, args) {
  const run = spawnSync(bin, ['call', '--store', 'memory:', '--workspace', workspace, `design.${action}`, '-'], {
    input: JSON.stringify(args), encoding: 'utf8',
  });
  assert.equal(run.status, 0, `${action}: ${run.stdout}${run.stderr}`);
  return JSON.parse(run.stdout);
}

const hostile = [
  'plain words', '"; drop', '*/ alert(1) /*', 'line\nbreak\r\u2028\u0085next', '`${x}`', '#\u0000{}', "'''\\", '\u202egnihton',
  '日本語 🎉', '<script>x</script>', 'a: b #c', '- x', 'end', '%%{init: {}}%%', '$ref', '__proto__', 'constructor', '\\', 'x"',
];

const languages = ['typescript', 'javascript'];
const kinds = ['function', 'class', 'module', 'service', 'controller', 'repository', 'factory', 'adapter', 'hook', 'component', 'other'];
const reserved = ['class', 'default', 'await', 'string', 'Promise', 'Record', 'constructor', 'any', 'Object', 'Error', 'input'];

test('components in TypeScript and JavaScript compile', () => {
  const dir = join(scratch, 'components');
  mkdirSync(dir);
  let n = 0;
  for (const language of languages) {
    const ending = language === 'typescript' ? 'ts' : 'mjs';
    for (const [i, type] of kinds.entries()) {
      for (const name of ['place order', reserved[i]]) {
        const text = hostile[n % hostile.length];
        const made = design('component', {
          name, type, description: text, language, patterns: ['singleton', 'factory', ['decorator', 'saga'][n % 2]],
          inputs: [...reserved.map((word) => ({ name: word, type: 'string', description: text })),
            { name: 'many', type: 'map<boolean, list<Thing?>>', required: false }],
          outputs: [{ name: 'at', type: 'Date', description: text }, { name: 'raw', type: 'bytes' }, { name: 'own', type: 'Promise<Record<string, Thing[]>>' }],
          dependencies: [...reserved.filter((word) => !['input'].includes(word)), 'inner', 'execute'],
        });
        writeFileSync(join(dir, `c${n++}.${ending}`), `${made.interface}\n${made.implementation}`);
      }
    }
  }
  compile(dir);
});

/** Makes components of a framework, as files of a folder. */
function elements(framework, dir, endings) {
  mkdirSync(dir);
  return languages.flatMap((language) => [...hostile, ...reserved].map((text, n) => {
    const full = {
      inputs: [...reserved.map((word) => ({ name: word, type: 'string', description: text })),
        { name: 'many', type: 'map<boolean, list<Thing?>>', required: false }, { name: 'on click', type: 'callback' }, { name: 'at', type: 'Date?' }],
      outputs: [{ name: 'picked', type: 'Thing', description: text }, { name: 'cleared', type: 'string?' }],
      dependencies: ['inner', 'user store', 'many'],
    };
    const { interface: first, implementation: second } = design('component', {
      name: `n ${text.replaceAll(/[^ -~]/g, '-')}`, type: 'component', description: text, language, patterns: [framework, text], ...(n % 3 ? full : {}),
    });
    const file = join(dir, `${language}${n}.${endings[language]}`);
    writeFileSync(file, `${first}\n${second}`);
    return file;
  }));
}

test('components of React compile and can be rendered', () => {
  const dir = join(scratch, 'react');
  elements('react', dir, { typescript: 'tsx', javascript: 'jsx' });
  const made = design('component', {
    name: 'user card', type: 'component', description: 'd', patterns: ['React'],
    inputs: [{ name: 'name', type: 'string' }, { name: 'on close', type: 'function', required: false }],
    outputs: [{ name: 'selected', type: 'number' }, { name: 'cleared', type: 'string?' }],
  });
  writeFileSync(join(dir, 'card.tsx'), `${made.interface}\n${made.implementation}`);
  const use = (props) => `import { UserCard } from "./card.js";\nexport const use = <UserCard ${props} />;\n`;
  writeFileSync(join(dir, 'right.tsx'), use('name="a" onClose={() => 1} onSelected={(n) => n.toFixed()} onCleared={(s) => s?.length}'));
  compile(dir);
  writeFileSync(join(dir, 'wrong.tsx'), use('onSelected={(n) => n.length}'));
  assert.throws(() => compile(dir), /wrong\.tsx.*TS2741[^]*TS2339|wrong\.tsx[^]*TS2339[^]*TS2741/);
});

test('components of Vue compile', () => {
  for (const file of elements('vue', join(scratch, 'vue'), { typescript: 'vue', javascript: 'vue' })) {
    const source = readFileSync(file, 'utf8');
    const { descriptor, errors } = parseVue(source, { filename: file });
    assert.deepEqual(errors, [], source);
    const { content } = compileScript(descriptor, { id: 'a' });
    assert.deepEqual(compileTemplate({ source: descriptor.template.content, filename: file, id: 'a' }).errors, []);
    if (source.includes('defineProps')) assert.match(content, /props: [^]*emits: /);
  }
  const typed = design('component', {
    name: 'user card', type: 'component', description: 'd', patterns: ['vue'], inputs: [{ name: 'name', type: 'string' }, { name: 'tags', type: 'Tag[]?' }],
    outputs: [{ name: 'selected', type: 'number' }],
  });
  const { content } = compileScript(parseVue(`${typed.interface}\n${typed.implementation}`).descriptor, { id: 'a' });
  assert.match(content, /name: \{ type: String, required: true \},\s+tags: \{ type: Array, required: false \}/);
  assert.match(content, /emits: \["selected"\]/);
});

const fieldTypes = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'date', 'datetime', 'uuid', 'email', 'url'];

/** A schema whose texts are hostile; names are where the format takes any. */
function schemaOf(text, format, anyNames) {
  const fields = fieldTypes.flatMap((type, i) => [
    { name: `${type}Must`, type, required: true, description: text },
    { name: `${type}-may`, type, nullable: i % 2 === 0 },
  ]);
  fields.push(
    { name: 'choice', type: 'enum', enumValues: ['a', 'read-only', '2fa', text], required: true, description: text },
    { name: 'choices', type: 'array', enumValues: [text, 'b'] },
    { name: 'team', type: 'ref', refSchema: 'Team', required: true },
    { name: 'parent', type: 'ref', refSchema: 'class' },
    { name: 'orders', type: 'array', refSchema: 'order' },
    { name: 'code', type: 'string', min: 1, max: 20, pattern: '^[A-Z]{2}-\\d+$', unique: true, default: 'AB-1' },
    { name: 'words', type: 'string', index: true, default: text.replaceAll('\u0000', ' ') },
    { name: 'count', type: 'integer', min: 0, max: 9, default: 3, index: true },
    { name: 'share', type: 'number', min: 0.5, nullable: true, default: 0.75 },
    { name: 'state', type: 'enum', enumValues: ['new', 'in-use'], default: 'in-use', unique: true },
    { name: 'states', type: 'array', enumValues: ['new', 'in-use'], max: 2, default: ['in-use'] },
    { name: 'extra', type: 'object', default: { __proto__x: [1], [text.replaceAll('\u0000', ' ')]: "it's" } },
    { name: 'made', type: 'datetime', default: 'now' }, { name: 'due', type: 'datetime', default: '2026-01-02T03:04:05Z' },
    { name: 'madeOn', type: 'date', default: 'now' }, { name: 'dueOn', type: 'date', default: '2026-01-02' }, { name: 'on', type: 'boolean', default: false },
    { name: 'boss', type: 'ref', refSchema: 'class', onDelete: 'set null', unique: true },
    { name: 'club', type: 'ref', refSchema: 'Club', required: true, onDelete: 'cascade', index: true },
  );
  if (anyNames) {
    fields.push({ name: text, type: 'string', required: true }, { name: `${text}2`, type: 'enum', enumValues: ['x'] });
  }
  return design('schema', { name: 'class', description: text, fields, format }).content;
}

test('schemas in TypeScript, Zod and Drizzle compile', async () => {
  const dir = join(scratch, 'schemas');
  mkdirSync(dir);
  for (const [i, text] of hostile.entries()) {
    for (const format of ['typescript', 'zod', 'drizzle']) {
      writeFileSync(join(dir, `${format}${i}.ts`), schemaOf(text, format, true));
    }
  }
  writeFileSync(join(dir, 'plain.ts'), design('schema', { name: 'u', fields: fieldTypes.map((type) => ({ name: type, type })), format: 'zod' }).content);
  compile(dir, join(dir, 'out'));
});

/** Compiles a text with what uses it, and returns its module. */
async function moduleOf(name, content, use = '') {
  const dir = join(scratch, name);
  mkdirSync(dir);
  writeFileSync(join(dir, 'made.ts'), content);
  if (use) writeFileSync(join(dir, 'use.ts'), use);
  compile(dir, join(dir, 'out'));
  return import(join(dir, 'out', 'made.js'));
}

/** Values that a required field of a type takes, and some that it does not. */
const judged = {
  string: [['', 'a'], [1, null]], number: [[0, -1.5], ['1', null]], integer: [[0, -7], [1.5, '1', 1e300]], boolean: [[true, false], [0, 'true']],
  array: [[[], [1, 'a', null]], [{}, 'a']], object: [[{}, { a: [1] }], [[], 'a', null]], date: [['2026-02-28'], ['2026-02-30', '2026-1-2', 1]],
  datetime: [['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.5+02:00'], ['2026-01-02', 'yesterday', '2026-02-30T00:00:00Z']],
  uuid: [['0b7f7a3e-6f0c-4d3c-9a58-0d6c3f5f8b11'], ['0b7f7a3e', 'x']], email: [['a@example.com'], ['a', 'a@']], url: [['https://example.com/a?b'], ['example']],
};

test('Zod 4 judges as the fields say', async () => {
  const fields = fieldTypes.map((type) => ({ name: type, type }));
  fields.push(
    { name: '__proto__', type: 'integer' }, { name: 'role', type: 'enum', enumValues: ['a', '"b"'] }, { name: 'none', type: 'null' },
    { name: 'roles', type: 'array', enumValues: ['a', 'b'] }, { name: 'at', type: 'datetime', nullable: true },
    { name: 'parent', type: 'ref', refSchema: 'user', nullable: true }, { name: 'children', type: 'array', refSchema: 'user' },
  );
  const { content } = design('schema', { name: 'user', format: 'zod', fields });
  const { UserSchema } = await moduleOf('judge', content, `import type { User } from "./made.js";
export const name = (u: User): string | undefined => u.parent?.children?.[0]?.parent?.string;
export const user: User = { parent: { children: [{}] }, role: "a" };
`);
  assert.deepEqual(Object.keys(UserSchema.shape), fields.map((f) => f.name));
  const own = (name, value) => JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`);
  const parses = (name, value) => UserSchema.safeParse(own(name, value)).success;
  const cases = { ...judged, role: [['a', '"b"'], ['c', null]], none: [[null], [0]], roles: [[[], ['b', 'a']], [['c'], 'a']],
    at: [[null, '2026-01-02T03:04:05Z'], ['yesterday']], parent: [[null, {}, { parent: { role: 'a' } }], [1, { parent: { role: 'c' } }]],
    children: [[[], [{ children: [{}] }]], [[1], [{ children: [{ boolean: 1 }] }], null]] };
  for (const [name, [good, bad]] of Object.entries(cases)) {
    for (const value of good) assert.ok(parses(name, value), `${name}: ${JSON.stringify(value)} is refused`);
    for (const value of bad) assert.ok(!parses(name, value), `${name}: ${JSON.stringify(value)} is taken`);
  }
  const detailed = await moduleOf('detailed', design('schema', {
    name: 'detailed', fields: [
      { name: 'code', type: 'string', required: true, min: 4, max: 6, pattern: '^[A-Z]+-\\d+$' }, { name: 'count', type: 'integer', min: 1, max: 3, default: 2 },
      { name: 'tags', type: 'array', min: 1, default: ['a', { b: 1 }] }, { name: 'at', type: 'datetime', default: 'now' }, { name: 'on', type: 'date', default: 'now' },
      { name: 'extra', type: 'object', nullable: true, default: JSON.parse('{"__proto__":1}') },
    ],
  }).content);
  const read = detailed.DetailedSchema.parse({ code: 'AB-1' });
  assert.deepEqual([read.count, read.tags, Object.keys(read.extra)], [2, ['a', { b: 1 }], ['__proto__']]);
  assert.ok(Date.parse(read.at) > Date.parse(read.on));
  for (const [more, good] of [[{ count: 3 }, true], [{ count: 4 }, false], [{ count: 0 }, false], [{ tags: [] }, false], [{ extra: null }, true],
    [{ code: 'A-1' }, false], [{ code: 'AB-12345' }, false], [{ code: 'AB12' }, false]]) {
    assert.equal(detailed.DetailedSchema.safeParse({ code: 'AB-1', ...more }).success, good, JSON.stringify(more));
  }
  const needed = await moduleOf('needed', design('schema', { name: 'needed', fields: fields.slice(0, fieldTypes.length).map((f) => ({ ...f, required: true })) }).content);
  const whole = Object.fromEntries(fieldTypes.map((type) => [type, judged[type][0][0]]));
  assert.ok(needed.NeededSchema.safeParse(whole).success);
  for (const type of fieldTypes) {
    const { [type]: _, ...rest } = whole;
    assert.ok(!needed.NeededSchema.safeParse(rest).success, `${type} may be missing`);
    assert.ok(!needed.NeededSchema.safeParse({ ...whole, [type]: null }).success, `${type} may be null`);
  }
});

test('Drizzle makes tables', async () => {
  const { content } = design('schema', {
    name: 'order', format: 'drizzle', fields: [
      { name: 'id', type: 'integer', required: true }, { name: 'team', type: 'ref', refSchema: 'Team', required: true },
      { name: 'role', type: 'enum', enumValues: ['a'] }, { name: 'read-only', type: 'boolean', required: true },
      { name: 'createdAt', type: 'datetime', default: 'now', index: true }, { name: 'code', type: 'string', unique: true },
    ],
  });
  const { order } = await moduleOf('tables', content);
  const { getTableConfig } = await import('drizzle-orm/pg-core');
  const table = getTableConfig(order);
  assert.equal(table.name, 'order');
  assert.deepEqual(table.columns.map((c) => [c.name, c.notNull, c.primary]), [
    ['id', true, true], ['team', true, false], ['role', false, false], ['read_only', true, false], ['created_at', true, false],
    ['code', false, false],
  ]);
  assert.equal(table.foreignKeys.length, 1);
  assert.deepEqual(table.indexes.map((i) => [i.config.name, i.config.columns.map((c) => c.name)]), [['order_created_at_idx', ['created_at']]]);
  assert.deepEqual(table.columns.filter((c) => c.isUnique || c.hasDefault).map((c) => c.name), ['id', 'created_at', 'code']);
});

test('schemas in Prisma are valid', () => {
  const head = 'datasource db {\n  provider = "postgresql"\n}\n\n';
  for (const text of hostile) {
    const content = schemaOf(text, 'prisma', false);
    const check = () => prisma.validate(JSON.stringify({ prismaSchema: [['schema.prisma', head + content]], noColor: true }));
    assert.doesNotThrow(check, new Error(`${JSON.stringify(text)}: ${message(check)}\n${content}`));
  }
  assert.throws(() => prisma.validate(JSON.stringify({ prismaSchema: [['schema.prisma', `${head}model A {\n  b C\n}\n`]], noColor: true })));
});

function message(check) {
  try { check(); } catch (err) { return err.message; }
  return '';
}

/** Writes an API into a file, and returns what it holds. */
function written(args) {
  const { content, file } = design('api', args);
  assert.equal(content, undefined, 'what is in the file is not in the answer');
  const text = readFileSync(join(workspace, file.path), 'utf8');
  assert.equal(Buffer.byteLength(text), file.bytes);
  return text;
}

/** Arguments of an API whose texts are hostile. */
function apiOf(text, format) {
  // A property called $ref would be a reference, and the parser of AsyncAPI itself loses a __proto__.
  const key = text.replace('$ref', 'ref').replace('__proto__', 'proto');
  const body = { type: 'object', description: text, properties: { [key]: { type: ['string', 'null'], enum: [text, null] } } };
  const parameters = [{ name: 'X-Trace', in: 'header', description: text, required: true }, { name: 'page', type: 'integer', description: text }];
  return {
    name: `n ${text}`, version: `v ${text}`, description: text, baseUrl: 'https://api.example.com/v1', format,
    schemas: { Thing: body }, security: ['bearer', 'apiKey'],
    endpoints: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method, i) => ({
      path: `/things-${i % 2}/{id}/:part`, method, summary: text, description: text, tags: [text, 'plain'], parameters, public: i === 0,
      requestBody: method === 'GET' ? undefined : body, responseBody: i % 2 ? { $ref: '#/components/schemas/Thing' } : body,
      responses: format === 'openapi' ? { 404: { $ref: '#/components/schemas/Thing' }, '5XX': {} } : undefined,
    })),
  };
}

for (const ending of ['json', 'yaml']) {
  test(`OpenAPI documents are valid, ${ending}`, async () => {
    for (const [i, text] of hostile.entries()) {
      const content = written({ ...apiOf(text, 'openapi'), outputPath: `openapi-${i}.${ending}` });
      const document = ending === 'json' ? JSON.parse(content) : loadYAML(content);
      assert.deepEqual(document, JSON.parse(design('api', apiOf(text, 'openapi')).content));
      await SwaggerParser.validate(document);
    }
  });

  test(`AsyncAPI documents are valid, ${ending}`, async () => {
    const parser = new Parser();
    for (const [i, text] of hostile.entries()) {
      const content = written({ ...apiOf(text, 'asyncapi'), outputPath: `asyncapi-${i}.${ending}` });
      const { document, diagnostics } = await parser.parse(content);
      const errors = diagnostics.filter((d) => d.severity === 0);
      assert.deepEqual(errors, [], `${JSON.stringify(text)}: ${JSON.stringify(errors.map((e) => [e.code, e.message, e.path]))}`);
      assert.equal(document.operations().all().length, 5);
    }
  });
}

test('Mermaid reads architectures', async () => {
  const { window } = new JSDOM('<!DOCTYPE html><body></body>');
  Object.assign(globalThis, { window, document: window.document });
  const { default: mermaid } = await import('mermaid');
  for (const pattern of ['layered', 'event-driven']) {
    for (const text of hostile) {
      const types = ['domain', 'application', 'infrastructure', 'presentation', 'adapter', 'port', 'service', 'database', 'queue', 'cache', 'external'];
      const { diagram, documentation } = design('architecture', {
        name: `n ${text}`, description: text, pattern, format: 'markdown',
        components: types.map((type, i) => ({ id: text + i, name: `n ${text}`, type, description: text, dependencies: [`${text}0`] })),
      });
      assert.equal((await mermaid.parse(diagram)).diagramType, 'flowchart-v2', diagram);
      assert.ok(documentation.includes(diagram));
    }
  }
  await assert.rejects(mermaid.parse('flowchart TB\n  a["b"c"]'));
});

/** Compiles all of a folder's TypeScript and JavaScript, as strictly as can be. */
function compile(dir, out) {
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({
    compilerOptions: {
      strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, isolatedModules: true, skipLibCheck: true, allowJs: true, checkJs: true,
      target: 'es2022', module: 'nodenext', moduleResolution: 'nodenext', types: [], lib: ['es2022'], jsx: 'react-jsx',
      ...(out ? { outDir: out, rootDir: dir } : { noEmit: true }),
    },
    include: ['*.ts', '*.tsx', '*.jsx', '*.mjs'],
  }));
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  const tsc = join(here, 'node_modules', '.bin', 'tsc');
  const run = spawnSync(tsc, ['-p', dir], { encoding: 'utf8' });
  assert.equal(run.status, 0, `${run.stdout}${run.stderr}`.slice(0, 6000));
}

/** The errors of TypeScript's compiler, by code, with how often each comes. */
function errorsOf(name, text) {
  const dir = join(scratch, name);
  mkdirSync(dir);
  writeFileSync(join(dir, 'a.ts'), text);
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions: { noEmit: true, strict: false, target: 'es2022', module: 'esnext', types: [], lib: ['es2022', 'dom'] }, include: ['a.ts'] }));
  const run = spawnSync(join(here, 'node_modules', '.bin', 'tsc'), ['-p', dir], { encoding: 'utf8' });
  const counts = {};
  for (const [code] of run.stdout.matchAll(/TS\d+/g)) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

test('what bugfix and refactor write compiles no worse than what they found', () => {
  const data = join(here, '..', '..', 'internal', 'code', 'scan', 'testdata');
  for (const name of ['bugs', 'refactor']) {
    const before = errorsOf(`${name}-before`, readFileSync(join(data, 'scripts', `${name}.ts`), 'utf8'));
    const after = errorsOf(`${name}-after`, readFileSync(join(data, 'fixed', `${name}.ts.golden`), 'utf8'));
    for (const [code, count] of Object.entries(after)) {
      assert.ok(count <= (before[code] ?? 0), `${name}.ts: ${count} times ${code}, ${before[code] ?? 0} before the fixes`);
    }
  }
});
