// An MCP server on loopback, for tests: it takes access tokens of an issuer only, and keeps a journal of the caller of
// each request.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

import { atEnd } from './server.js';

const tool = {
  name: 'whoami', description: 'Name the caller of a record.', annotations: { readOnlyHint: true },
  inputSchema: { type: 'object', properties: { as: { type: 'string' }, n: { type: 'integer' } }, required: ['as', 'n'] },
};

export class Records {
  journal = []; // { sub, session, method, params } of each request with a valid token
  refused = 0;
  #sessions = new Map();

  static async start(t, issuer) {
    const records = new Records();
    const server = createServer((request, response) => records.#serve(issuer, request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(t, () => server.close());
    atEnd(t, () => server.closeAllConnections());
    records.url = `http://127.0.0.1:${server.address().port}/mcp`;
    return records;
  }

  /** The calls, with the caller of their tokens. */
  get calls() {
    return this.journal.filter(({ method }) => method === 'tools/call').map(({ sub, params }) => ({ sub, ...params.arguments }));
  }

  /** The sessions that requests of more than one caller used. */
  get mixed() {
    return this.journal.filter(({ sub, session }) => session && this.#sessions.get(session) !== sub);
  }

  async #serve(issuer, request, response) {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (request.url.startsWith('/.well-known/oauth-protected-resource')) {
      const metadata = { resource: this.url, authorization_servers: [issuer.url] };
      return response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(metadata));
    }
    const claims = issuer.claims(request.headers.authorization?.replace(/^Bearer /, ''), this.url);
    if (!claims) {
      this.refused++;
      return response.writeHead(401, {
        'WWW-Authenticate': `Bearer error="invalid_token", resource_metadata="${new URL('/.well-known/oauth-protected-resource', this.url)}"`,
      }).end();
    }
    const { id, method, params } = body ? JSON.parse(body) : {};
    let session = request.headers['mcp-session-id'];
    this.journal.push({ sub: claims.sub, session, method: method ?? request.method, params });
    if (request.method !== 'POST') return response.writeHead(request.method === 'DELETE' ? 200 : 405).end();
    if (id === undefined) return response.writeHead(202).end();
    const answer = (result) => response.writeHead(200, { 'Content-Type': 'application/json', ...(session && { 'Mcp-Session-Id': session }) })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...result }));
    switch (method) {
      case 'initialize':
        session = randomUUID();
        this.#sessions.set(session, claims.sub);
        return answer({ result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'records', version: '1' } } });
      case 'tools/list':
        return answer({ result: { tools: [tool] } });
      case 'tools/call':
        return answer({ result: { content: [{ type: 'text', text: `${claims.sub} ${params.arguments.n}` }] } });
      case 'ping':
        return answer({ result: {} });
      default:
        return answer({ error: { code: -32601, message: 'no such method' } });
    }
  }
}
