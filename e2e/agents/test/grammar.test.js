// Hosts that decode under a grammar let a model write only what the schema of a
// tool admits. Every example of every action must be writable under every
// listing, with xgrammar's strict mode, which closes what a schema leaves open.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

const { Grammar, Testings } = loadXgrammar();

if (!process.env.TOOLFOLD_BIN) throw new Error('TOOLFOLD_BIN must hold the path of a toolfold binary');
const toolfold = (...args) => JSON.parse(`[${execFileSync(process.env.TOOLFOLD_BIN, args, { encoding: 'utf8' }).trim().replaceAll('\n', ',')}]`);
const list = (...flags) => toolfold('tools', '--json', ...flags)[0].tools;

/** Every action with the arguments of its example, the action itself aside. */
const examples = list('--listing=full').flatMap((tool) => {
  const actions = tool.inputSchema.properties.action?.enum;
  if (!actions) return [];
  return toolfold('describe', '--json', ...actions.map((action) => `${tool.name}.${action}`)).map((account, i) => {
    const { action, params, ...rest } = account.example;
    return { tool: tool.name, action: actions[i], args: { ...rest, ...params } };
  });
});

const nested = ({ action, args }) => ({ action, params: args });
const flat = ({ action, args }) => ({ action, ...args });
const text = ({ action, args }) => ({ action, params: JSON.stringify(args) });
const listings = [
  [nested, '--listing=search'],
  [nested, '--listing=lazy'],
  [nested, '--listing=signature'],
  [flat, '--listing=signature', '--params=flat'],
  [flat, '--listing=full'],
  [text, '--for=strict'],
];

for (const [form, ...flags] of listings) {
  test(['every example under', ...flags].join(' '), async () => {
    const tools = new Map(list(...flags).map((tool) => [tool.name, tool.inputSchema]));
    let checked = 0;
    for (const example of examples.filter(({ tool }) => tools.has(tool))) {
      const schema = tools.get(example.tool);
      const grammar = await Grammar.fromJSONSchema(JSON.stringify(schema), true, undefined, undefined, true);
      // A grammar fixes the order of the members.
      const call = JSON.stringify(inOrder(form(example), schema));
      assert.ok(await Testings.isGrammarAcceptString(grammar, call), `${call} cannot be written for ${JSON.stringify(schema)}`);
      checked++;
    }
    assert.ok(checked >= 10, `only ${checked} examples`);
  });
}

/** A value with its members in the order that a schema declares them. */
function inOrder(value, schema) {
  if (Array.isArray(value)) return value.map((item) => inOrder(item, schema?.items));
  if (value === null || typeof value !== 'object') return value;
  const declared = Object.keys(schema?.properties ?? {});
  const names = [...declared.filter((name) => name in value), ...Object.keys(value).filter((name) => !declared.includes(name))];
  return Object.fromEntries(names.map((name) => [name, inOrder(value[name], schema?.properties?.[name])]));
}

/** Loads a package that is CommonJS and says that it is not. */
function loadXgrammar() {
  const path = fileURLToPath(import.meta.resolve('@mlc-ai/web-xgrammar'));
  const module = { exports: {} };
  new Function('module', 'exports', 'require', '__filename', readFileSync(path, 'utf8'))(module, module.exports, createRequire(path), path);
  return module.exports;
}
