// The databases that a test may use: SQLite, and PostgreSQL if TOOLFOLD_TEST_POSTGRES names one,
// where psql makes a schema for each store.

import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';

import { atEnd } from './server.js';

/** By kind of database: makes an empty store that lasts as long as test t, and returns its URL. */
export const stores = { SQLite: file };
if (process.env.TOOLFOLD_TEST_POSTGRES) stores.PostgreSQL = schema;
else console.log('# TOOLFOLD_TEST_POSTGRES is not set: only SQLite is tested');

function file(place) {
  return `sqlite://${join(place.dir, `${randomUUID().slice(0, 8)}.db`)}`;
}

function schema(place, t) {
  const url = new URL(process.env.TOOLFOLD_TEST_POSTGRES);
  const name = `toolfold_e2e_${randomUUID().slice(0, 8)}`;
  const psql = (statement) => execFileSync('psql', ['-q', '-c', statement, url.href], { stdio: ['ignore', 'ignore', 'pipe'] });
  psql(`CREATE SCHEMA ${name}`);
  atEnd(t, () => psql(`SET client_min_messages = error; DROP SCHEMA ${name} CASCADE`));
  const within = new URL(url);
  within.searchParams.set('search_path', name);
  return within.href;
}
