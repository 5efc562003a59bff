// The loop of an agent under the hooks that setup writes: an edit is judged, a commit refused,
// mended and accepted.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'node:test';

import { agents } from '../lib/agents.js';
import { installed, programOf, run } from '../lib/capture.js';
import { startModel } from '../lib/model.js';

if (!process.env.TOOLFOLD_BIN) throw new Error('TOOLFOLD_BIN must hold the path of a toolfold binary');
const binary = resolve(process.env.TOOLFOLD_BIN);

const secret = 'API_KEY = "kR4vXq9ZtW2mB7nJ5pL8sD1fG3hY6uC0eA1xQzMv"\n\n\ndef add(item, to=[]):\n    to.append(item)\n    return to\n';
const mended = 'import os\n\nAPI_KEY = os.environ["API_KEY"]\n\n\ndef add(item, to=None):\n    return [*(to or []), item]\n';
const hint = /app\.py: line 1 looks like a secret/;
const saveAll = 'git add app.py && git commit -qm "Add app"';

/** Makes a repository whose hooks setup has written, and says how git and a server run there. */
function repository(hooks) {
  const dir = mkdtempSync(join(tmpdir(), 'toolfold-hooks-'));
  const env = { PATH: process.env.PATH, HOME: dir };
  const git = (...args) => execFileSync('git', args, { cwd: dir, env, encoding: 'utf8' });
  git('init', '-q');
  git('config', 'user.name', 'Ann');
  git('config', 'user.email', 'ann@example.com');
  writeFileSync(join(dir, '.gitignore'), '*\n!app.py\n');
  git('add', '-f', '.gitignore');
  git('commit', '-qm', 'First');
  // Hooks name an installed toolfold by its path, as agents may have another PATH, and none in the folder of temporary files.
  const setup = { cwd: dir, env: { ...env, TMPDIR: dir }, stdio: 'pipe' };
  for (const name of hooks) execFileSync(binary, ['setup', '--hooks', '--write', name], setup);
  const server = [binary, 'serve', '--worker=false', '--workspace', dir, '--store', `sqlite://${join(dir, 't.db')}`];
  return { dir, git, server };
}

/** Tests an agent that is installed, and says of one that is not that it is not run. */
function testAgent(agent, name, body) {
  const version = installed({ agent });
  if (!version) console.log(`# ${agent} could not be installed: it is not run`);
  else test(`${agent} ${version}: ${name}`, { timeout: 180_000 }, body);
}

testAgent('claude', 'an edit is judged, a commit refused, mended and accepted', async (t) => {
  const { dir, git, server } = repository(['git', 'claude-code']);
  const file = join(dir, 'app.py');
  const commit = ['Bash', { command: saveAll, description: 'Commit' }];
  const scan = ['bugfix', { action: 'scan', params: { since: 'uncommitted' } }];
  const check = ['guard', { action: 'check', params: { policyId: 'commit', since: 'uncommitted' } }];
  const model = await startModel([['Write', { file_path: file, content: secret }], scan, commit, ['Write', { file_path: file, content: mended }],
    scan, check, commit]);
  t.after(() => {
    model.close();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });
  const agent = agents.claude;
  const start = agent.prepare(dir, model.url, server);
  const output = await run(agent, [...start.args, 'Write', 'Bash'], dir, start.env);
  const { requests, results } = model.seen;
  assert.equal(results.length, 7, `every call is answered; the agent said ${output.slice(-2000)}`);
  const [, found, refused, , clean, passed, committed] = results;
  assert.match(JSON.stringify(requests[1]), hint, 'the model is told after its edit what is wrong with it');
  assert.match(found.replaceAll('\\"', '"'), /all calls share the default value.*hard-coded secret/, 'the scan finds what the edit brought');
  assert.match(refused, hint, 'the commit is refused with the reason');
  assert.match(clean.replaceAll('\\"', '"'), /"count":0/);
  assert.match(passed.replaceAll('\\"', '"'), /"status":"PASS"/);
  assert.doesNotMatch(committed, /looks like/);
  assert.equal(git('log', '--format=%s').trim(), 'Add app\nFirst');
  assert.equal(git('show', 'HEAD:app.py'), mended);
});

const lines = (text) => text.trimEnd().split('\n');
const added = `*** Begin Patch\n*** Add File: app.py\n${lines(secret).map((line) => `+${line}\n`).join('')}*** End Patch`;
const changed = `*** Begin Patch\n*** Update File: app.py\n@@\n${lines(secret).map((line) => `-${line}\n`).join('')}${
  lines(mended).map((line) => `+${line}\n`).join('')}*** End Patch`;

// A model that calls tools, and one that writes code which calls them.
const writers = {
  'gpt-5.5': { edit: (patch) => ['apply_patch', patch], commit: ['exec_command', { cmd: saveAll }] },
  'gpt-5.6-sol': {
    edit: (patch) => ['exec', `text(JSON.stringify(await tools.apply_patch(${JSON.stringify(patch)})))`],
    commit: ['exec', `text(JSON.stringify(await tools.exec_command({ cmd: ${JSON.stringify(saveAll)} })))`],
  },
};

for (const [named, { edit, commit }] of Object.entries(writers)) {
  testAgent('codex', `${named}: an edit is judged once the hook is approved, a commit refused, mended and accepted`, async (t) => {
    const { dir, git, server } = repository(['git', 'codex']);
    const agent = agents.codex;
    t.after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
    const play = async (script) => {
      const model = await startModel(script);
      try {
        const start = agent.prepare(dir, model.url, server, named);
        if (approved) appendFileSync(join(dir, agent.settings), approved);
        const output = await run(agent, [...start.args, '--trust', '--dangerously-bypass-approvals-and-sandbox'], dir, start.env);
        assert.equal(model.seen.results.length, script.length, `every call is answered; the agent said ${output.slice(-2000)}`);
        return model.seen.results;
      } finally {
        model.close();
      }
    };
    let approved = '';
    const [unjudged] = await play([edit(added)]);
    assert.doesNotMatch(unjudged, hint, 'a hook that nobody approved does not run, as setup says');

    approved = await approval(agent, dir);
    rmSync(join(dir, 'app.py'));
    const [judged, refused, quiet, committed] = await play([edit(added), commit, edit(changed), commit]);
    assert.match(judged, hint, 'the model is told after its edit what is wrong with it');
    assert.match(judged, /the edit is written; mend it/);
    assert.match(refused, hint, 'the commit is refused with the reason');
    assert.doesNotMatch(quiet + committed, /looks like/);
    assert.equal(git('log', '--format=%s').trim(), 'Add app\nFirst');
    assert.equal(git('show', 'HEAD:app.py'), mended);
  });
}

/** What Codex writes into its settings where its user approves, by /hooks, of the hook that a folder has. */
async function approval(agent, dir) {
  const { env } = agent.prepare(dir, 'http://localhost', null);
  appendFileSync(join(dir, agent.settings), `\n[projects.${JSON.stringify(dir)}]\ntrust_level = "trusted"\n`);
  const child = spawn(process.execPath, [programOf(agent), 'app-server'], {
    cwd: dir, env: { PATH: process.env.PATH, HOME: dir, ...env }, stdio: ['pipe', 'pipe', 'ignore'],
  });
  const send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
  try {
    send({ id: 1, method: 'initialize', params: { clientInfo: { name: 'test', title: 'test', version: '1' } } });
    for await (const line of createInterface({ input: child.stdout })) {
      const { id, result } = JSON.parse(line);
      if (id === 1) {
        send({ method: 'initialized' });
        send({ id: 2, method: 'hooks/list', params: { cwds: [dir] } });
      } else if (id === 2) {
        const [{ hooks }] = result.data;
        assert.equal(hooks.length, 1, 'Codex finds the hook that setup wrote');
        assert.equal(hooks[0].trustStatus, 'untrusted');
        return `\n[hooks.state.${JSON.stringify(hooks[0].key)}]\ntrusted_hash = ${JSON.stringify(hooks[0].currentHash)}\n`;
      }
    }
    throw new Error('the app server ended before it listed the hooks');
  } finally {
    child.kill();
  }
}
