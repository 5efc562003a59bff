// Bytes and messages that no honest client sends. Each gets a clear answer,
// and the server goes on: a good call follows every one.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { failure, success } from '../lib/answers.js';
import { maxRefusal, maxValueBytes } from '../lib/expected.js';
import { atEnd, collect, httpFor, placeFor, start, stop } from '../lib/server.js';
import { RawHTTP, RawStdio, call, request } from '../lib/wire.js';

const parseError = -32700;
const invalidRequest = -32600;
const methodNotFound = -32601;
const invalidParams = -32602;

const deep = '['.repeat(200_000) + ']'.repeat(200_000);
const tooBig = 3 << 20; // for a value; a message may have 4 MiB

// What is sent, and the codes that may answer it: of JSON-RPC where the
// message is at fault, of a result where the call is.
const probes = [
  ['garbage', 'garbage', [parseError]],
  ['half an object', '{"jsonrpc":"2.0","id":1', [parseError]],
  ['two objects', '{} {}', [parseError, invalidRequest]],
  ['a zero byte in a text', '{"jsonrpc":"2.0","id":1,"method":"pi\0ng"}', [parseError]],
  ['an empty list', '[]', [parseError, invalidRequest]],
  ['a batch', `[${request(1, 'ping')},${request(2, 'ping')}]`, [parseError, invalidRequest]],
  ['a number', '7', [parseError, invalidRequest]],
  ['a text', '"ping"', [parseError, invalidRequest]],
  ['no version', '{"id":1,"method":"ping"}', [invalidRequest]],
  ['another version', '{"jsonrpc":"1.0","id":1,"method":"ping"}', [invalidRequest]],
  ['no method', '{"jsonrpc":"2.0","id":1}', [invalidRequest, methodNotFound]],
  ['a number as method', '{"jsonrpc":"2.0","id":1,"method":7}', [parseError, invalidRequest]],
  ['an object as id', '{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', [parseError, invalidRequest]],
  ['a list as id', '{"jsonrpc":"2.0","id":[1],"method":"ping"}', [parseError, invalidRequest]],
  ['true as id', '{"jsonrpc":"2.0","id":true,"method":"ping"}', [parseError, invalidRequest]],
  ['null as id', '{"jsonrpc":"2.0","id":null,"method":"ping"}', [parseError, invalidRequest]],
  ['an unknown method', request(1, 'tools/fold'), [methodNotFound]],
  ['200,000 lists in each other', deep, [parseError]],
  ['200,000 lists in an argument', call(1, 'memory', `{"action":"store","key":"deep","value":{"a":${deep}}}`), [parseError]],
  ['an empty method', request(1, ''), [invalidRequest]],
  ['null as method', '{"jsonrpc":"2.0","id":1,"method":null}', [invalidRequest]],
  ['params that are a list', request(1, 'tools/call', '[]'), [invalidParams]],
  ['a cursor of tools/list that was never given out', request(1, 'tools/list', '{"cursor":"%%%"}'), [invalidParams]],
  ['no name', request(1, 'tools/call', '{"arguments":{}}'), [invalidRequest, invalidParams, 'UNKNOWN_TOOL']],
  ['a number as name', request(1, 'tools/call', '{"name":7}'), [invalidRequest, invalidParams, parseError]],
  ['a name of a megabyte', call(1, 'm'.repeat(1 << 20), {}), ['UNKNOWN_TOOL']],
  ['arguments that are a list', call(1, 'memory', '[]'), [invalidParams, 'INVALID_INPUT']],
  ['arguments that are a text', call(1, 'memory', '"list"'), [invalidParams, 'INVALID_INPUT']],
  ['no arguments', request(1, 'tools/call', '{"name":"memory"}'), ['INVALID_ACTION']],
  ['a number as action', call(1, 'memory', { action: 7 }), ['INVALID_ACTION']],
  ['a key of 3 MB', call(1, 'memory', { action: 'get', key: 'k'.repeat(tooBig) }), ['INVALID_INPUT']],
  ['a number with 100,000 digits', call(1, 'memory', `{"action":"list","limit":${'9'.repeat(100_000)}}`), ['INVALID_INPUT']],
  ['limit 1e999', call(1, 'memory', '{"action":"list","limit":1e999}'), ['INVALID_INPUT']],
  ['a parameter name of 100 KB', call(1, 'memory', { action: 'delete', key: 'k', ['p'.repeat(100_000)]: 1 }), ['INVALID_INPUT']],
  ['2,000 unknown parameters', call(1, 'memory', { action: 'list', ...unknownParameters(2000) }), ['INVALID_INPUT']],
  ['a cursor nobody gave out', call(1, 'memory', { action: 'list', cursor: '%%%' }), ['INVALID_INPUT']],
  ['a tool nobody has', call(1, 'quantum_teleport', {}), ['UNKNOWN_TOOL']],
];

// Ids come back as they were sent, digit by digit.
const ids = [
  '0', '-1', '22.5', '9007199254740993', '-9007199254740993', '1234567890123456789',
  '1.0', '1e400', '-0', '"\\u0061"', '"a text"', '"9007199254740993"', '"toolfold:id:7"', '""',
];

// Names that are nearly right are answered with the right one.
const nearMisses = {
  memroy: '"memory"',
  Memory: '"memory"',
  'memory.stor': 'call memory with action "store"',
  memory_stor: 'call memory with action "store"',
  session_creat: 'call session with action "create"',
};

// Answers are as long as values may be.
const large = ['--result-limit', '1048576'];

const transports = {
  stdio: async (t) => {
    const raw = new RawStdio(placeFor(t).serve({ more: large }));
    atEnd(t, () => raw.stop());
    return raw.initialize();
  },
  http: async (t) => new RawHTTP((await httpFor(t, placeFor(t), { more: large })).url).initialize(),
};

for (const [transport, open] of Object.entries(transports)) {
  test(`bad input, ${transport}`, async (t) => {
    const raw = await open(t);
    const probe = (what, check) => t.test(what, async () => {
      await check();
      await checkAlive(raw);
    });
    for (const [what, text, codes] of probes) {
      await probe(what, async () => checkRefused(await raw.exchange(text), codes));
    }
    for (const id of ids) {
      await probe(`id ${id}`, () => checkID(raw, id));
    }
    for (const [name, meant] of Object.entries(nearMisses)) {
      await probe(`the name ${name}`, () => checkSuggested(raw, name, meant));
    }
    await probe('900 unknown parameters under a legacy name', () => checkWarnings(raw, unknownParameters(900)));
    await probe('a parameter name of 100 KB under a legacy name', () => checkWarnings(raw, { ['p'.repeat(100_000)]: 1 }));
    await probe('a value of 3 MB', () => checkTooLarge(raw));
    await probe('a value near the limit comes back', () => checkLarge(raw));
    await probe('numbers come back digit by digit', () => checkDigits(raw));
    await probe('a deep value comes back or is refused', () => checkDeep(raw));
  });
}

test('the end of the input does not cut answers off', async (t) => {
  const child = start(placeFor(t).serve());
  atEnd(t, () => stop(child));
  const stdout = collect(child.stdout);
  const closed = new Promise((done) => { child.once('close', done); });
  const before = performance.now();
  for (let i = 0; i < 100; i++) child.stdin.write(call(i, 'memory', { action: 'store', key: `k${i}`, value: { i } }) + '\n');
  child.stdin.end();
  assert.equal(await closed, 0);
  assert.ok(performance.now() - before < 5000, 'it ends once everything is answered');
  const answered = stdout.text.trim().split('\n').map((line) => JSON.parse(line));
  answered.forEach(({ result }) => success(result));
  assert.equal(new Set(answered.map(({ id }) => id)).size, 100);
});

test('a line that is too long is refused, and the next is read', async (t) => {
  const raw = new RawStdio(placeFor(t).serve({ more: ['--max-body-bytes', '10000'] }));
  atEnd(t, () => raw.stop());
  await raw.initialize();
  const { answer } = await raw.exchange(call(1, 'memory', { action: 'get', key: 'k'.repeat(20_000) }));
  assert.equal(answer.error.code, invalidRequest);
  assert.match(answer.error.message, /10000 bytes/);
  await checkAlive(raw);
});

test('lines may end in CR LF, and blank ones are nothing', async (t) => {
  const raw = new RawStdio(placeFor(t).serve());
  atEnd(t, () => raw.stop());
  await raw.initialize();
  raw.send('\n\r\n   ');
  const { answer } = await raw.exchange(call(1, 'memory', { action: 'list' }) + '\r');
  success(answer.result);
});

function unknownParameters(n) {
  return Object.fromEntries(Array.from({ length: n }, (_, i) => [`unknown${i}`, i]));
}

async function checkAlive(raw) {
  const { answer } = await raw.exchange(call('alive', 'memory', { action: 'list', prefix: 'none' }));
  assert.equal(answer.id, 'alive');
  assert.equal(success(answer.result).total, 0);
}

function checkRefused({ text, answer }, codes) {
  assert.equal(answer.jsonrpc, '2.0');
  assert.ok(answer.error || answer.result.isError, `a refusal, not ${text.slice(0, 300)}`);
  const error = answer.error ?? failure(answer.result);
  assert.ok(codes.includes(error.code), `one of ${codes}, not ${text.slice(0, 300)}`);
  assert.ok(error.message.length > 0, 'a message');
  assert.ok(text.length < maxRefusal, `a short answer, not ${text.length} characters`);
  assert.doesNotMatch(text, /goroutine|panic|\.go:\d|\/tmp\/|Go struct|into Go/, 'nothing of the inside');
}

async function checkID(raw, id) {
  const { text } = await raw.exchange(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
  assert.ok(text.includes(`"id":${id},`) || text.includes(`"id":${id}}`), `id ${id} in ${text}`);
}

async function checkSuggested(raw, name, meant) {
  const { answer } = await raw.exchange(call(1, name, {}));
  const error = failure(answer.result);
  assert.equal(error.code, 'UNKNOWN_TOOL');
  assert.ok(error.message.includes(meant), error.message);
}

/** Old callers' unknown parameters are ignored, and the warnings are few. */
async function checkWarnings(raw, parameters) {
  const { text, answer } = await raw.exchange(call(1, 'memory_list', { prefix: 'none', ...parameters }));
  assert.ok(success(answer.result).warnings.length > 0);
  assert.ok(text.length < maxRefusal, `a short answer, not ${text.length} characters`);
}

async function checkTooLarge(raw) {
  const value = JSON.stringify({ text: 'x'.repeat(tooBig) });
  const { answer } = await raw.exchange(call(1, 'memory', `{"action":"store","key":"big","value":${value}}`));
  const error = failure(answer.result);
  assert.equal(error.code, 'VALUE_TOO_LARGE');
  const figures = error.message.replaceAll(',', '');
  assert.ok(figures.includes(String(value.length)), `its size in ${error.message}`);
}

async function checkLarge(raw) {
  const value = { text: 'word '.repeat(maxValueBytes * 0.9 / 5) };
  success((await raw.exchange(call(1, 'memory', { action: 'store', key: 'large', value }))).answer.result);
  const { answer } = await raw.exchange(call(2, 'memory', { action: 'get', key: 'large' }));
  assert.deepEqual(success(answer.result).value, value);
}

async function checkDigits(raw) {
  const value = '{"big":9007199254740993,"small":1.000000000000000000001,"negative":-0.0,"exponent":1E+2}';
  success((await raw.exchange(call(1, 'memory', `{"action":"store","key":"digits","value":${value}}`))).answer.result);
  const { text } = await raw.exchange(call(2, 'memory', { action: 'get', key: 'digits' }));
  for (const digits of ['9007199254740993', '1.000000000000000000001']) assert.ok(text.includes(digits), text);
}

/** Just below what a JSON reader takes: what was stored must be readable. */
async function checkDeep(raw) {
  for (const depth of [1000, 9_990, 9_994, 9_996, 9_998]) {
    const value = `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    const key = `deep/${depth}`;
    const { answer } = await raw.exchange(call(1, 'memory', `{"action":"store","key":"${key}","value":${value}}`));
    if (answer.error || answer.result.isError) continue;
    const { text } = await raw.exchange(call(2, 'memory', { action: 'get', key }));
    assert.ok(text.includes(value), `${depth} deep: ${text.slice(0, 300)}`);
  }
}
