// Agents and workflows, run through the protocol: on a command, on an endpoint
// that speaks OpenAI's chat API, and on the connected client's own model.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';

import { success } from '../lib/answers.js';
import { clients, connect, transports } from '../lib/clients.js';
import { atEnd, placeFor } from '../lib/server.js';

const everyWay = clients.flatMap((kind) => transports.map((transport) => ({ kind, transport })));

for (const { kind, transport } of everyWay) {
  test(`agents, ${kind.name} (${kind.revision}), ${transport}`, async (t) => {
    const place = placeFor(t);
    configure(place, {
      shout: { type: 'command', command: [process.execPath, '-e', shouting] },
      chat: { type: 'openai', baseURL: await chatEndpoint(t), model: 'tiny', apiKeyEnv: 'CHAT_KEY' },
      client: { type: 'sampling' },
    });
    place.env.CHAT_KEY = 'secret-of-the-test';
    const client = await connect(t, kind, transport, place, { model: clientModel });
    await t.test('on a command', () => runsOn(client, 'shout', 'COMMAND: BE BRIEF. HELLO'));
    await t.test('on an OpenAI-compatible endpoint', () => runsOn(client, 'chat', 'chat with key: Be brief. Hello'));
    await t.test("on the client's model", () => runsOn(client, 'client', 'client: Be brief. Hello'));
    await t.test("several questions to the client's model", () => asksTwice(client));
    await t.test("the client's model calls tools", () => callsTools(client));
  });

  test(`a workflow of every kind of step, ${kind.name} (${kind.revision}), ${transport}`, async (t) => {
    const place = placeFor(t);
    writeWorkflow(place);
    const client = await connect(t, kind, transport, place, { model: clientModel });
    await t.test('from end to end', () => runsWorkflow(client));
    await t.test('an input that does not fit is refused', () => refusesInput(client));
  });
}

for (const { kind, transport } of everyWay) {
  test(`progress and cancellation, ${kind.name} (${kind.revision}), ${transport}`, async (t) => {
    const place = placeFor(t);
    const pidFile = join(place.dir, 'pid');
    configure(place, { slow: { type: 'command', command: [process.execPath, '-e', sleeper, pidFile] } });
    const client = await connect(t, kind, transport, place);
    await call(client, 'agent', 'register', {
      agentId: 'slow', description: 'Takes for ever.',
      workflow: [
        { stepId: 'quick', name: 'Quick', type: 'tool', config: { tool: 'memory.stats' } },
        { stepId: 'wait', name: 'Wait', type: 'prompt', config: { prompt: 'wait', provider: 'slow' } },
      ],
    });
    const reports = [];
    const abort = new AbortController();
    const running = runSlowly(client, kind, { signal: abort.signal, onprogress: (progress) => reports.push(progress) });
    const pid = Number(await contentOf(pidFile));
    abort.abort('enough');
    await assert.rejects(running);
    await gone(pid);
    assert.ok(reports.length > 0, 'no progress was reported');
    const { totalEntries } = await call(client, 'memory', 'stats', {});
    assert.equal(totalEntries, 0); // the server lives
  });
}

// The second argument of callTool is a result schema in v1, and gone in v2.
const runSlowly = (client, kind, options) => {
  const params = { name: 'agent', arguments: { action: 'run', agentId: 'slow' } };
  return kind.revision === '2025-11-25' && kind.name.includes('v1')
    ? client.callTool(params, undefined, options) : client.callTool(params, options);
};

// Writes its process id and then does nothing for a minute.
const sleeper = 'require("node:fs").writeFileSync(process.argv[1], String(process.pid)); setTimeout(() => {}, 60_000)';

/** Waits until a file has something in it. */
async function contentOf(path) {
  return eventually(() => existsSync(path) && readFileSync(path, 'utf8'));
}

/** Waits until a process is gone. */
async function gone(pid) {
  await eventually(() => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  });
}

async function eventually(check) {
  for (let tries = 0; tries < 200; tries += 1) {
    const result = check();
    if (result) return result;
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  throw new Error('it did not come about in time');
}

// Reads the prompt and answers in capitals, as a coding CLI would answer.
const shouting = `
  let prompt = '';
  process.stdin.setEncoding('utf8').on('data', (chunk) => { prompt += chunk; });
  process.stdin.on('end', () => process.stdout.write(('command: ' + prompt).toUpperCase().replace(/\\s+/g, ' ').trim()));
`;

const textOf = ({ content }) => (Array.isArray(content) ? content[0].text : content.text);

/** The model that the client offers. */
async function clientModel({ params }) {
  if (params.tools) return withTools(params);
  const text = `client: ${params.systemPrompt ?? ''} ${textOf(params.messages[0])}`;
  return { model: 'the-client', role: 'assistant', stopReason: 'endTurn', content: { type: 'text', text } };
}

/** An endpoint that answers chat completions with what it was asked. */
async function chatEndpoint(t) {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { messages, model } = JSON.parse(body);
    const key = request.headers.authorization === 'Bearer secret-of-the-test' ? 'with key' : 'without key';
    const content = `chat ${key}: ${messages.map((message) => message.content).join(' ')}`;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({
      id: 'x', object: 'chat.completion', created: 0, model,
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }));
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  atEnd(t, () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }));
  return `http://127.0.0.1:${server.address().port}/v1`;
}

/** Writes the user's settings: only these may name what runs. */
function configure(place, providers) {
  mkdirSync(join(place.dir, 'toolfold'), { recursive: true });
  writeFileSync(join(place.dir, 'toolfold', 'config.json'), JSON.stringify({ providers }));
}

const call = async (client, tool, action, args) =>
  success(await client.callTool({ name: tool, arguments: { action, ...args } }));

async function runsOn(client, provider, want) {
  const agentId = `greeter-${provider}`;
  await call(client, 'agent', 'register', {
    agentId, description: 'Greets.',
    workflow: [{ stepId: 'greet', name: 'Greet', type: 'prompt', config: { prompt: '{{ input.word }}', system: 'Be brief.', provider } }],
  });
  const ran = await call(client, 'agent', 'run', { agentId, input: { word: 'Hello' } });
  assert.equal(ran.success, true, JSON.stringify(ran));
  assert.equal(ran.output.greet.replace(/\s+/g, ' ').trim(), want);
  assert.ok(!JSON.stringify(ran).includes('secret-of-the-test'));
}

async function asksTwice(client) {
  const step = (stepId, prompt) => ({ stepId, name: stepId, type: 'prompt', config: { prompt, provider: 'client' } });
  await call(client, 'agent', 'register', {
    agentId: 'twice', description: 'Asks, then asks about the answer.',
    workflow: [step('first', 'one'), step('second', 'about {{ steps.first }}')],
  });
  const ran = await call(client, 'agent', 'run', { agentId: 'twice' });
  assert.match(ran.output.second, /client: .*about client: .*one/);
}

// The client's model answers a question by looking a note up and keeping what
// it found; both calls are in the results.
async function callsTools(client) {
  await call(client, 'memory', 'store', { key: 'team/rules', value: { freeze: 'Friday' } });
  await call(client, 'agent', 'register', {
    agentId: 'looker', description: 'Looks things up.',
    workflow: [{
      stepId: 'ask', name: 'Ask', type: 'prompt',
      config: { prompt: 'When is the freeze?', provider: 'client', tools: ['memory.search', 'memory.store'], maxTurns: 4 },
    }],
  });
  const ran = await call(client, 'agent', 'run', { agentId: 'looker' });
  assert.equal(ran.success, true, JSON.stringify(ran));
  assert.equal(ran.output.ask, 'On Friday.');
  assert.deepEqual(ran.stepResults.map(({ stepId, tool, success }) => [stepId, tool, success]), [
    ['ask/1', 'memory.search', true], ['ask/2', 'memory.store', true], ['ask', undefined, true],
  ]);
  const { value } = await call(client, 'memory', 'get', { key: 'answers/freeze' });
  assert.deepEqual(value, { day: 'Friday' });
}

/** The client's model where it is offered tools. */
function withTools({ messages, tools }) {
  const { content, role } = messages.at(-1);
  const uses = (id, name, input) => ({
    model: 'the-client', role: 'assistant', stopReason: 'toolUse', content: [{ type: 'tool_use', id, name, input }],
  });
  if (messages.length === 1) {
    const search = tools.find(({ name }) => name === 'memory_search');
    assert.equal(search.inputSchema.properties.query.type, 'string');
    return uses('1', 'memory_search', { query: 'freeze' });
  }
  const [result] = [content].flat();
  assert.equal(role, 'user');
  assert.equal(result.type, 'tool_result');
  const answer = JSON.parse(result.content[0].text);
  if (result.toolUseId === '1') {
    assert.equal(answer.results[0].key, 'team/rules');
    return uses('2', 'memory_store', { key: 'answers/freeze', value: { day: 'Friday' } });
  }
  assert.equal(answer.success, true);
  return { model: 'the-client', role: 'assistant', stopReason: 'endTurn', content: { type: 'text', text: 'On Friday.' } };
}

function writeWorkflow(place) {
  const folder = join(place.workspace, '.toolfold', 'workflows');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'everything.yaml'), everything);
}

const everything = `
name: Everything
version: 1.0.0
inputSchema:
  type: object
  properties:
    words: {type: array, items: {type: string}}
  required: [words]
steps:
  - stepId: ask
    name: Ask
    type: prompt
    config: {prompt: "How many are {{ len(input.words) }} words?"}
  - stepId: keep
    name: Keep
    type: tool
    config:
      tool: memory.store
      arguments: {key: asked, value: {answer: "{{ steps.ask }}"}}
  - stepId: judge
    name: Judge
    type: conditional
    config:
      condition: len(input.words) > 1
      then:
        - stepId: many
          name: Many
          type: tool
          config: {tool: memory.store, arguments: {key: many, value: {yes: true}}}
      else:
        - stepId: few
          name: Few
          type: tool
          config: {tool: memory.store, arguments: {key: few, value: {yes: true}}}
  - stepId: each
    name: Each
    type: loop
    config:
      items: input.words
      steps:
        - stepId: word
          name: Word
          type: tool
          config: {tool: memory.store, arguments: {key: "word/{{ item }}", value: {index: "{{ index }}"}}}
  - stepId: both
    name: Both
    type: parallel
    config:
      steps:
        - stepId: left
          name: Left
          type: tool
          config: {tool: memory.get, arguments: {key: asked}}
        - stepId: right
          name: Right
          type: tool
          config: {tool: memory.list, arguments: {prefix: word/}}
`;

async function runsWorkflow(client) {
  const ran = await call(client, 'workflow', 'run', { workflowId: 'everything', input: { words: ['a', 'b', 'c'] } });
  assert.equal(ran.success, true, JSON.stringify(ran));
  assert.equal(ran.stepsCompleted, 5, JSON.stringify(ran));
  const list = await call(client, 'memory', 'list', {});
  assert.deepEqual(list.keys.map(({ key }) => key), ['asked', 'many', 'word/a', 'word/b', 'word/c']);
  const { value } = await call(client, 'memory', 'get', { key: 'word/c' });
  assert.deepEqual(value, { index: 2 });
  const entry = await call(client, 'memory', 'get', { key: 'asked' });
  assert.match(entry.value.answer, /client: .*How many are 3 words\?/);
}

async function refusesInput(client) {
  const answer = await client.callTool({ name: 'workflow', arguments: { action: 'run', workflowId: 'everything', input: { words: 7 } } });
  assert.equal(answer.isError, true);
  const { problems } = JSON.parse(answer.content[0].text).error;
  assert.deepEqual([problems[0].path, problems[0].kind, problems[0].want], ['/input/words', 'type', 'array']);
}
