// A model behind the APIs of four providers, which does what a script or a
// function of what it was sent says, and keeps the requests, the tools that it
// was shown and the results that it read.

import { createServer } from 'node:http';

const done = 'All calls are made.';

/** Starts a model on loopback whose script is a list of [tool, arguments]. */
export function startModel(script) {
  return startReader(({ tools, results }) => {
    if (tools.length === 0 || results.length >= script.length) return null;
    const [tool, args] = script[results.length];
    // A model that knows a name calls it though it is not listed.
    return { tool: tools.find((t) => [t.name, t.call].includes(tool) || named(t.name, tool)) ?? { name: tool, call: tool }, args };
  });
}

/**
 * Starts a model on loopback that decides on each request by itself: decide gets the tools that may be called, the results of the calls so
 * far and the request, and returns { tool, args } or null for the end. The first answer takes wait milliseconds, as that of a model does.
 */
export async function startReader(decide, wait = 0) {
  const seen = { tools: [], results: [], requests: [] };
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const path = new URL(request.url, 'http://localhost').pathname;
    const sent = Buffer.concat(chunks);
    const wire = Object.values(wires).find((w) => w.path.test(path));
    if (request.method !== 'POST' || !wire) {
      return send(response, path.endsWith('/models') ? { object: 'list', data: [{ id: 'fake', object: 'model' }], models: [] } : {});
    }
    const body = sent.length ? JSON.parse(sent) : {};
    const tools = wire.tools(body);
    const results = wire.results(body);
    if (ours(tools).length > seen.tools.length) seen.tools = ours(tools);
    if (results.length > seen.results.length) seen.results = results;
    if (tools.length > 0 && seen.requests.push(body) === 1) await new Promise((over) => { setTimeout(over, wait); });
    const call = decide({ tools, results, body });
    wire.answer(response, body, call && { id: `call_${results.length}`, ...call }, path);
  });
  await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });
  return { url: `http://127.0.0.1:${server.address().port}`, seen, close: () => server.close() };
}

/** Reports whether a host's name for a tool, such as mcp__toolfold__memory, means it. */
function named(hostName, tool) {
  return new RegExp(`toolfold[_\\-./]*${tool.replaceAll('.', '\\.')}$`).test(hostName);
}

const ours = (tools) => tools.filter((t) => t.name.includes('toolfold'));

function send(response, value) {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(value));
}

/** Sends server-sent events: [type, data], the type empty for none. */
function stream(response, events) {
  response.setHeader('content-type', 'text/event-stream');
  response.end(events.map(([type, data]) =>
    `${type ? `event: ${type}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`).join(''));
}

const text = (content) => (typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join(''));

/** The definitions of tools that a host's own search has answered with, as text. */
function definitions(body) {
  return (body.messages ?? []).flatMap((m) => (m.role === 'tool' ? [m] : Array.isArray(m.content) ? m.content : []))
    .filter((part) => part.role === 'tool' || part.type === 'tool_result')
    .flatMap((part) => [...text(part.content).matchAll(/<function>(.*?)<\/function>/gs)].map(([, json]) => JSON.parse(json)));
}

const wires = {
  responses: {
    path: /\/responses$/,
    // Tools come with the request, and in its input where they were searched for or are given to a model that runs code.
    tools: (body) => [body, ...(body.input ?? [])].flatMap((from) => from.tools ?? []).flatMap((t) => {
      if (t.type === 'namespace') {
        return t.tools.map((inner) => ({ name: `${t.name}__${inner.name}`, space: t.name, call: inner.name, kind: inner.type, shown: inner }));
      }
      const name = t.name ?? (t.type === 'tool_search' ? t.type : null);
      return name ? [{ name, call: name, kind: t.type, shown: t }] : [];
    }),
    results: (body) => (body.input ?? []).filter((i) => i.type?.endsWith('_call_output') || i.type === 'tool_search_output')
      .map((i) => text(i.output)),
    answer(response, body, call) {
      let item = { type: 'message', role: 'assistant', id: 'msg', content: [{ type: 'output_text', text: done }] };
      if (call?.tool.kind === 'custom') {
        item = { type: 'custom_tool_call', id: `ctc_${call.id}`, call_id: call.id, name: call.tool.call, input: call.args };
      } else if (call?.tool.kind === 'tool_search') {
        item = { type: 'tool_search_call', id: `tsc_${call.id}`, call_id: call.id, status: 'completed', execution: 'client', arguments: call.args };
      } else if (call) {
        item = { type: 'function_call', id: `fc_${call.id}`, call_id: call.id, name: call.tool.call, arguments: JSON.stringify(call.args) };
      }
      if (call?.tool.space) item.namespace = call.tool.space;
      const usage = {
        input_tokens: 1, input_tokens_details: { cached_tokens: 0 }, output_tokens: 1, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 2,
      };
      stream(response, [
        ['response.created', { type: 'response.created', response: { id: 'r' } }],
        ['response.output_item.done', { type: 'response.output_item.done', output_index: 0, item }],
        ['response.completed', { type: 'response.completed', response: { id: 'r', status: 'completed', output: [item], usage } }],
      ]);
    },
  },

  chat: {
    path: /\/chat\/completions$/,
    tools: (body) => [...(body.tools ?? []).map((t) => t.function), ...definitions(body)].map((t) => ({ name: t.name, call: t.name, shown: t })),
    results: (body) => (body.messages ?? []).filter((m) => m.role === 'tool').map((m) => text(m.content)),
    answer(response, body, call) {
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      const base = { id: 'c', object: 'chat.completion.chunk', created: 1, model: body.model };
      const message = { role: 'assistant', content: call ? null : done };
      if (call) {
        message.tool_calls = [{ index: 0, id: call.id, type: 'function', function: { name: call.tool.call, arguments: JSON.stringify(call.args) } }];
      }
      const reason = call ? 'tool_calls' : 'stop';
      if (!body.stream) {
        return send(response, { ...base, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: reason }], usage });
      }
      stream(response, [
        ['', { ...base, choices: [{ index: 0, delta: message, finish_reason: null }] }],
        ['', { ...base, choices: [{ index: 0, delta: {}, finish_reason: reason }] }],
        ['', { ...base, choices: [], usage }],
        ['', '[DONE]'],
      ]);
    },
  },

  gemini: {
    path: /:(stream)?[gG]enerateContent$/,
    tools: (body) => (body.tools ?? []).flatMap((t) => t.functionDeclarations ?? [])
      .map((f) => ({ name: f.name, call: f.name, shown: f })),
    results: (body) => (body.contents ?? []).flatMap((c) => c.parts ?? []).filter((p) => p.functionResponse)
      .map((p) => JSON.stringify(p.functionResponse.response)),
    answer(response, body, call, path) {
      let part = { text: done };
      if (call) part = { functionCall: { id: call.id, name: call.tool.call, args: call.args } };
      else if (body.generationConfig?.responseMimeType === 'application/json') {
        part = { text: JSON.stringify({ reasoning: done, next_speaker: 'user', model_choice: 'flash', complexity_score: 1, complexity_reasoning: done }) };
      }
      const answer = {
        candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      };
      if (path.includes('stream')) stream(response, [['', answer]]);
      else send(response, answer);
    },
  },

  messages: {
    path: /\/messages$/,
    tools: (body) => [...(body.tools ?? []).filter((t) => t.name), ...definitions(body)].map((t) => ({ name: t.name, call: t.name, shown: t })),
    results: (body) => (body.messages ?? []).flatMap((m) => (Array.isArray(m.content) ? m.content : []))
      .filter((b) => b.type === 'tool_result').map((b) => text(b.content)),
    answer(response, body, call) {
      const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
      const block = call ? { type: 'tool_use', id: `toolu_${call.id}`, name: call.tool.call, input: call.args } : { type: 'text', text: done };
      const reason = call ? 'tool_use' : 'end_turn';
      const message = { id: 'm', type: 'message', role: 'assistant', model: body.model, content: [block], stop_reason: reason, stop_sequence: null, usage };
      if (!body.stream) return send(response, message);
      const [empty, delta] = call
        ? [{ ...block, input: {} }, { type: 'input_json_delta', partial_json: JSON.stringify(call.args) }]
        : [{ ...block, text: '' }, { type: 'text_delta', text: done }];
      stream(response, [
        ['message_start', { type: 'message_start', message: { ...message, content: [], stop_reason: null } }],
        ['content_block_start', { type: 'content_block_start', index: 0, content_block: empty }],
        ['content_block_delta', { type: 'content_block_delta', index: 0, delta }],
        ['content_block_stop', { type: 'content_block_stop', index: 0 }],
        ['message_delta', { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage }],
        ['message_stop', { type: 'message_stop' }],
      ]);
    },
  },
};
