// kill -9 in the middle of a stream of stores, again and again on one file:
// what was answered with success is there afterwards.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';

import { success } from '../lib/answers.js';
import { atEnd, placeFor } from '../lib/server.js';
import { RawStdio, call } from '../lib/wire.js';

const rounds = 50;
const stores = 200; // sent in each round, all at once

test(`nothing answered is lost in ${rounds} kills`, async (t) => {
  const place = placeFor(t);
  const answered = new Map();
  for (let round = 1; round <= rounds; round++) {
    await killAfter(round, place, answered);
  }
  t.diagnostic(`${answered.size} stores answered`);
  assert.ok(answered.size >= rounds, 'every round got something done');
  await checkStored(t, place, answered);
});

/** Stores until the server has answered as often as the round's number, then kills it. */
async function killAfter(round, place, answered) {
  const server = await new RawStdio(place.serve()).initialize();
  const closed = once(server.child, 'close');
  for (let n = 0; n < stores; n++) {
    server.send(call(`round/${round}/${n}`, 'memory', { action: 'store', key: `round/${round}/${n}`, value: { round, n } }));
  }
  const note = (line) => {
    const { id, result } = JSON.parse(line);
    answered.set(id, success(result).key);
  };
  for (let i = 0; i < round; i++) note(await server.line());
  server.child.kill('SIGKILL');
  await closed;
  // Answers that were already in the pipe were given too.
  server.rest().forEach(note);
}

async function checkStored(t, place, answered) {
  const server = new RawStdio(place.serve());
  atEnd(t, () => server.stop());
  await server.initialize();
  for (const [key] of answered) {
    const { answer } = await server.exchange(call(key, 'memory', { action: 'get', key }));
    const [, round, n] = key.split('/').map(Number);
    const { found, value } = success(answer.result);
    assert.ok(found, `${key} was answered and is lost`);
    assert.deepEqual(value, { round, n });
  }
  const { answer } = await server.exchange(call(1, 'memory', { action: 'list', prefix: 'round/', limit: 1 }));
  const { total } = success(answer.result);
  assert.ok(total >= answered.size && total <= rounds * stores, `${total} entries`);
}
