// The server in examples/notes, built and called as its author's users would.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, after, test } from 'node:test';

import { failure, success } from '../lib/answers.js';
import { attach, clients } from '../lib/clients.js';

const dir = mkdtempSync(join(tmpdir(), 'toolfold-example-'));
const binary = join(dir, 'notes');

before(() => execFileSync('go', ['build', '-o', binary, './examples/notes'], { cwd: join(import.meta.dirname, '../..') }));
after(() => rmSync(dir, { recursive: true, force: true }));

for (const kind of clients) {
  for (const mode of ['consolidated', 'legacy']) {
    test(`${kind.name}, ${mode}`, async (t) => {
      const client = await attach(t, kind, new kind.Stdio({ command: binary, args: ['-mode', mode], stderr: 'pipe' }));
      const names = (await client.listTools()).tools.map((tool) => tool.name);
      assert.deepEqual(names, mode === 'legacy' ? ['add_note', 'list_notes'] : ['note', 'tools', 'tool_call']);
      const add = mode === 'legacy'
        ? { name: 'add_note', arguments: { text: 'one' } } : { name: 'note', arguments: { action: 'add', text: 'one' } };
      assert.deepEqual(success(await client.callTool(add)), { notes: ['one'] });
      const found = success(await client.callTool({ name: 'tools', arguments: { action: 'find', query: 'remember something short' } }));
      assert.equal(found.results[0].name, mode === 'legacy' ? 'add_note' : 'note.add');
      const described = success(await client.callTool({ name: 'tools', arguments: { action: 'describe', name: 'note.list' } }));
      assert.match(JSON.stringify(described), /All notes, oldest first|notes/);
      assert.equal(failure(await client.callTool({ ...add, arguments: { ...add.arguments, text: '' } })).code, 'INVALID_INPUT');
    });
  }
}
