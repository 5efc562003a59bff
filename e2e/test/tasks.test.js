// Workflows called as tasks by the official TypeScript client: the server is killed
// with -9 in the middle of each and started again, and the client, new as well, resumes
// the task by its reference and gets the answer.
//
// TASK_KILLS and TASK_SECONDS set how many workflows there are and how long each takes.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';

import { success } from '../lib/answers.js';
import { atEnd, httpFor, placeFor } from '../lib/server.js';
import { stores } from '../lib/stores.js';

const kills = Number(process.env.TASK_KILLS ?? 3);
const seconds = Number(process.env.TASK_SECONDS ?? 6);
const together = 10; // servers at a time

const revision = '2026-07-28';
const clientInfo = { name: 'toolfold-e2e', version: '1.0.0' };
const clientCapabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

// Each item takes a second; what it stored shows that no step was left out or done twice.
const slow = `
name: Slow
inputSchema: {type: object, properties: {task: {type: string}, seconds: {type: array, items: {type: integer}}}, required: [task, seconds]}
steps:
  - stepId: each
    type: loop
    config:
      items: input.seconds
      as: second
      steps:
        - {stepId: pause, type: tool, config: {tool: task.wait, arguments: {taskId: "{{ input.task }}", timeoutMs: 1000}}}
        - {stepId: done, type: tool, config: {tool: memory.store, arguments: {key: "slow/{{ second }}", value: {second: "{{ second }}"}}}}
  - {stepId: stored, type: tool, config: {tool: memory.list, arguments: {prefix: slow/, limit: 100}}}
`;

const options = { concurrency: together, timeout: 120_000 + kills * (30_000 + seconds * 1000) };

for (const [kind, storeFor] of Object.entries(stores)) {
  test(`${kills} workflows of ${seconds} s survive kill -9 as tasks, ${kind}`, options, async (t) => {
    const left = Array.from({ length: kills }, (_, i) => i);
    const took = [];
    const one = async () => {
      for (let i = left.shift(); i !== undefined; i = left.shift()) {
        await t.test(`workflow ${i + 1}`, async (t) => took.push(await surviveKill(t, storeFor)));
      }
    };
    await Promise.all(Array.from({ length: Math.min(together, kills) }, one));
    assert.equal(took.length, kills);
    t.diagnostic(`${took.length} of ${kills} answered; from call to answer ${Math.min(...took)} to ${Math.max(...took)} s`);
  });
}

async function surviveKill(t, storeFor) {
  const place = placeFor(t);
  place.store = storeFor(place, t);
  const workflows = join(place.workspace, '.toolfold', 'workflows');
  mkdirSync(workflows, { recursive: true });
  writeFileSync(join(workflows, 'slow.yaml'), slow);

  const began = Date.now();
  const { server, session } = await open(t, place);
  const later = await plain(session, 'task', { action: 'submit', name: 'later', type: 'wait', delayMs: 86_400_000 });
  const input = { task: later.taskId, seconds: Array.from({ length: seconds }, (_, i) => i) };
  const call = await session.callTool('workflow', { action: 'run', workflowId: 'slow', input });
  assert.equal(call.kind, 'task', 'the call is no task');
  const reference = call.serializeReference();
  await call.detach();
  await new Promise((done) => setTimeout(done, (seconds * 1000) / 2));
  const gone = once(server.child, 'close');
  server.child.kill('SIGKILL');
  await gone;

  const again = await open(t, place);
  const resumed = await again.session.resumeTask(reference);
  const { outcome } = await resumed.settle();
  const run = success(resultFromTaskOutcome(outcome));
  assert.ok(run.success, JSON.stringify(run));
  assert.equal(run.output.total, seconds);
  const status = await plain(again.session, 'task', { action: 'status', taskId: reference.taskId });
  assert.equal(status.status, 'completed');
  assert.equal(status.interruptions, 1, 'it was not killed in the middle');
  return Math.round((Date.now() - began) / 1000);
}

/** Calls an action and returns what it answers at once. */
async function plain(session, name, args) {
  const call = await session.callTool(name, args);
  const { outcome } = await call.settle();
  return success(resultFromTaskOutcome(outcome));
}

/** Starts a server in a place, and a session of tasks of a client of its own. */
async function open(t, place) {
  const server = await httpFor(t, place);
  const client = new Client(clientInfo, { versionNegotiation: { mode: { pin: revision } }, capabilities: clientCapabilities });
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
  const session = createTaskSessionFromClient(client, {
    endpointId: place.store,
    rawDispatch: (request, options) => post(server.url, request, options),
    v2RequestFraming: { protocolVersion: revision, clientInfo, clientCapabilities },
  });
  atEnd(t, () => session.close().catch(() => {})); // its server may be dead
  return { server, session };
}

let requests = 0;

/** Posts a request of tasks, which the wire codecs of the SDK do not know. */
async function post(url, request, { signal, context } = {}) {
  const { method, params } = request;
  const response = await fetch(url, {
    method: 'POST',
    signal,
    headers: {
      ...context?.headers,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'Mcp-Protocol-Version': revision,
      'Mcp-Method': method,
      'Mcp-Name': params.taskId ?? params.name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: ++requests, method, params }),
  });
  return response.json();
}
