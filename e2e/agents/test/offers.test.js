// Prompts and resources as people use them in coding agents: a workflow called as a slash
// command, a note mentioned with @, and a note that the agent's own tool for resources reads.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test from 'node:test';

import { agents } from '../lib/agents.js';
import { installed, programOf, run } from '../lib/capture.js';
import { startModel } from '../lib/model.js';
import { Terminal, hasTerminal } from '../lib/terminal.js';

if (!process.env.TOOLFOLD_BIN) throw new Error('TOOLFOLD_BIN must hold the path of a toolfold binary');
const binary = resolve(process.env.TOOLFOLD_BIN);

const workflow = `name: Pick
description: Counts notes of a kind.
inputSchema: {type: object, properties: {kind: {enum: [red, green]}}, required: [kind]}
steps: [{stepId: count, type: tool, config: {tool: memory.list, arguments: {limit: 1}}}]
`;
const freeze = 'no release on Friday the 13th';
const note = 'toolfold://memory/demo/default/rules';

// What the prompt tells the model to call, and what it then calls.
const instruction = /Call workflow \{"action":"run","params":\{"workflowId":"pick","input":\{"kind":"red"\}\}\}/;
const runs = [['workflow', { action: 'run', params: { workflowId: 'pick', input: { kind: 'red' } } }]];

/** What a person gives each agent; the tools that the model then calls; what the model must have read before, and answered. */
const uses = [
  { agent: 'claude', what: 'a workflow as a command', say: ['/mcp__toolfold__run-pick red'], calls: runs, read: instruction, answer: /"success":true/ },
  { agent: 'gemini', what: 'a workflow as a command', say: ['/run-pick --kind=red'], calls: runs, read: instruction, answer: /"success":true/ },
  { agent: 'opencode', what: 'a workflow as a command', say: ['--command', 'toolfold:run-pick', 'red'], calls: runs, read: instruction, answer: /"success":true/ },
  { agent: 'gemini', what: 'a note by @', say: [`what do we do? @toolfold:${note}`], calls: [], read: new RegExp(freeze) },
  {
    agent: 'claude', what: 'a note by the tool for resources', say: ['what do we do?'],
    calls: [['ListMcpResourcesTool', { server: 'toolfold' }], ['ReadMcpResourceTool', { server: 'toolfold', uri: note }]], answer: new RegExp(freeze),
  },
];

/** A folder with a workflow and two notes, the address of a model that makes these calls, and how to start a server. */
async function prepare(t, calls) {
  const dir = mkdtempSync(join(tmpdir(), 'toolfold-offers-'));
  const model = await startModel(calls);
  t.after(() => {
    model.close();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });
  mkdirSync(join(dir, '.toolfold/workflows'), { recursive: true });
  writeFileSync(join(dir, '.toolfold/workflows/pick.yaml'), workflow);
  const place = ['--workspace', dir, '--workspace-name', 'demo', '--store', `sqlite://${join(dir, 't.db')}`];
  for (const key of ['rules', 'russet']) {
    await run({ program: binary }, ['call', ...place, 'memory.store', JSON.stringify({ key, value: { freeze } })], dir, {});
  }
  return { dir, model, server: [binary, 'serve', '--worker=false', '--trust', '--resources=all', ...place] };
}

for (const { agent: name, what, say, calls, read, answer } of uses) {
  const version = installed({ agent: name });
  if (!version) {
    console.log(`# ${name} could not be installed: it is not run`);
    continue;
  }
  test(`${name} ${version}, ${what}`, { timeout: 180_000 }, async (t) => {
    const agent = agents[name];
    const { dir, model, server } = await prepare(t, calls.map(([tool, args]) => [tool, { ...args, ...agent.adds }]));
    const { args, env } = agent.prepare(dir, model.url, server);
    const output = await run(agent, args.flatMap((arg) => (arg === 'use toolfold' ? say : [arg])), dir, env);
    const { requests, results } = model.seen;
    assert.ok(requests.length > 0, `the agent sends a request; it said ${output.slice(-2000)}`);
    if (read) assert.match(unescaped(requests[0]), read);
    assert.equal(results.length, calls.length, `every call is answered; the agent said ${output.slice(-2000)}`);
    if (answer) assert.match(results.at(-1).replaceAll('\\"', '"'), answer);
  });
}

const claude = installed({ agent: 'claude' });
if (!claude || !hasTerminal) {
  console.log('# without Claude Code and script, of util-linux, nothing is typed in a terminal');
} else {
  test(`claude ${claude} in a terminal: @ completes templates, and reads what it names`, { timeout: 120_000 }, async (t) => {
    const { dir, model, server } = await prepare(t, []);
    const { env } = agents.claude.prepare(dir, model.url, server);
    mkdirSync(env.CLAUDE_CONFIG_DIR, { recursive: true });
    writeFileSync(join(env.CLAUDE_CONFIG_DIR, '.claude.json'), JSON.stringify({ // what it asks a person at its first start
      hasCompletedOnboarding: true, theme: 'dark', customApiKeyResponses: { approved: [env.ANTHROPIC_API_KEY], rejected: [] },
      projects: { [dir]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
    }));
    const terminal = new Terminal([process.execPath, programOf(agents.claude), '--mcp-config', 'mcp.json', '--strict-mcp-config'], dir, env);
    try {
      await terminal.shows('? for shortcuts');
      await terminal.type('@toolfold:toolfold://memory/demo/d');
      await terminal.shows('default');
      await terminal.type('efault/r');
      await terminal.shows('russet');
      await terminal.type('ules says what? ');
      await terminal.type('\r');
      await terminal.shows('Read MCP resource rules from toolfold');
      await terminal.shows('All calls are made.');
    } finally {
      await terminal.close();
    }
    assert.match(unescaped(model.seen.requests[0]), new RegExp(freeze));
  });
}

/** A request as text in which JSON within JSON is readable. */
function unescaped(request) {
  return JSON.stringify(request).replaceAll(/\\+"/g, '"');
}
