// JSON-RPC without any client: what is sent goes out byte for byte.

import { start, stop } from './server.js';

const answerMillis = 15_000;
const revision = '2025-11-25';

/** The text of a request; params may be text that is already JSON. */
export function request(id, method, params) {
  const text = typeof params === 'string' ? params : JSON.stringify(params ?? {});
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"${method}","params":${text}}`;
}

/** The text of a tools/call request; args may be text that is already JSON. */
export function call(id, name, args) {
  const text = typeof args === 'string' ? args : JSON.stringify(args ?? {});
  return request(id, 'tools/call', `{"name":${JSON.stringify(name)},"arguments":${text}}`);
}

const initialize = (capabilities = {}) => request('initialize', 'initialize', {
  protocolVersion: revision, capabilities, clientInfo: { name: 'raw', version: '1' },
});
const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

/** A server on stdio and the lines it answers. */
export class RawStdio {
  #partial = '';
  #lines = [];
  #takers = [];

  constructor(serve) {
    this.child = start(serve);
    this.child.stdin.on('error', () => {}); // it is a test's business to end the server
    this.child.stderr.resume();
    this.child.stdout.setEncoding('utf8').on('data', (chunk) => this.#read(chunk));
  }

  #read(chunk) {
    const lines = (this.#partial + chunk).split('\n');
    this.#partial = lines.pop();
    for (const line of lines) this.#take(line);
  }

  #take(line) {
    const taker = this.#takers.shift();
    if (taker) taker(line);
    else this.#lines.push(line);
  }

  async initialize(capabilities) {
    await this.exchange(initialize(capabilities));
    this.send(initialized);
    return this;
  }

  send(text) {
    this.child.stdin.write(text + '\n');
  }

  /** The next line of the server. */
  line() {
    if (this.#lines.length > 0) return Promise.resolve(this.#lines.shift());
    return new Promise((found, failed) => {
      const take = (line) => {
        clearTimeout(late);
        found(line);
      };
      const late = setTimeout(() => {
        this.#takers = this.#takers.filter((other) => other !== take);
        failed(new Error('no answer'));
      }, answerMillis);
      this.#takers.push(take);
    });
  }

  /** The lines that were not read yet, without the cut-off line of a killed server. */
  rest() {
    return this.#lines.splice(0);
  }

  /** Sends a message and returns the next answer, parsed and as it came. */
  async exchange(text) {
    this.send(text);
    const line = await this.line();
    return { text: line, answer: JSON.parse(line) };
  }

  stop() {
    return stop(this.child);
  }
}

/** A session with a server on HTTP. */
export class RawHTTP {
  constructor(url) {
    this.url = url;
    this.headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  }

  async initialize() {
    const { headers } = await this.post(initialize());
    this.headers['Mcp-Session-Id'] = headers.get('Mcp-Session-Id');
    this.headers['Mcp-Protocol-Version'] = revision;
    await this.post(initialized);
    return this;
  }

  /** Posts a message; more headers replace those of the session. */
  async post(text, more = {}) {
    const response = await fetch(this.url, {
      method: 'POST', body: text, headers: { ...this.headers, ...more }, signal: AbortSignal.timeout(answerMillis),
    });
    return { status: response.status, headers: response.headers, text: dataOf(await response.text()) };
  }

  async exchange(text) {
    const response = await this.post(text);
    if (response.text === '') throw new Error(`no answer, only status ${response.status}`);
    return { ...response, answer: JSON.parse(response.text) };
  }

  /** Ends the session, or another with the headers of more. */
  async delete(more = {}) {
    const { status } = await fetch(this.url, { method: 'DELETE', headers: { ...this.headers, ...more } });
    return status;
  }
}

/** The one message of an answer, be it plain or an event stream. */
function dataOf(body) {
  const event = /^data: ?(.*)$/m.exec(body);
  return event && !body.startsWith('{') ? event[1] : body;
}
