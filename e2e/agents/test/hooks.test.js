// The loop of an agent under the hooks that setup writes: an edit is judged, a commit refused,
// mended and accepted.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test from 'node:test';

import { agents } from '../lib/agents.js';
import { installed, run } from '../lib/capture.js';
import { startModel } from '../lib/model.js';

if (!process.env.TOOLFOLD_BIN) throw new Error('TOOLFOLD_BIN must hold the path of a toolfold binary');
const binary = resolve(process.env.TOOLFOLD_BIN);

const secret = 'API_KEY = "kR4vXq9ZtW2mB7nJ5pL8sD1fG3hY6uC0eA1xQzMv"\n\n\ndef add(item, to=[]):\n    to.append(item)\n    return to\n';
const mended = 'import os\n\nAPI_KEY = os.environ["API_KEY"]\n\n\ndef add(item, to=None):\n    return [*(to or []), item]\n';

const version = installed({ agent: 'claude' });
if (!version) {
  console.log('# claude could not be installed: it is not run');
} else {
  test(`claude ${version}: an edit is judged, a commit refused, mended and accepted`, { timeout: 180_000 }, async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'toolfold-hooks-'));
    const file = join(dir, 'app.py');
    const commit = ['Bash', { command: 'git add app.py && git commit -qm "Add app"', description: 'Commit' }];
    const scan = ['bugfix', { action: 'scan', params: { since: 'uncommitted' } }];
    const check = ['guard', { action: 'check', params: { policyId: 'commit', since: 'uncommitted' } }];
    const model = await startModel([['Write', { file_path: file, content: secret }], scan, commit, ['Write', { file_path: file, content: mended }],
      scan, check, commit]);
    t.after(() => {
      model.close();
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    });
    const env = { PATH: process.env.PATH, HOME: dir };
    const git = (...args) => execFileSync('git', args, { cwd: dir, env, encoding: 'utf8' });
    git('init', '-q');
    git('config', 'user.name', 'Ann');
    git('config', 'user.email', 'ann@example.com');
    writeFileSync(join(dir, '.gitignore'), '*\n!app.py\n');
    git('add', '-f', '.gitignore');
    git('commit', '-qm', 'First');
    for (const name of ['git', 'claude-code']) execFileSync(binary, ['setup', '--hooks', '--write', name], { cwd: dir, env, stdio: 'pipe' });

    const agent = agents.claude;
    const server = [binary, 'serve', '--worker=false', '--workspace', dir, '--store', `sqlite://${join(dir, 't.db')}`];
    const start = agent.prepare(dir, model.url, server);
    const said = await run(agent, [...start.args, 'Write', 'Bash'], dir, start.env);
    const { requests, results } = model.seen;
    assert.equal(results.length, 7, `every call is answered; the agent said ${said.slice(-2000)}`);
    const [, found, refused, , clean, passed, committed] = results;
    const hint = /app\.py: line 1 looks like a secret/;
    assert.match(JSON.stringify(requests[1]), hint, 'the model is told after its edit what is wrong with it');
    assert.match(found.replaceAll('\\"', '"'), /hard-coded secret.*all calls share the default value/, 'the scan finds what the edit brought');
    assert.match(refused, hint, 'the commit is refused with the reason');
    assert.match(clean.replaceAll('\\"', '"'), /"count":0/);
    assert.match(passed.replaceAll('\\"', '"'), /"status":"PASS"/);
    assert.doesNotMatch(committed, /looks like/);
    assert.equal(git('log', '--format=%s').trim(), 'Add app\nFirst');
    assert.equal(git('show', 'HEAD:app.py'), mended);
  });
}
