// The official TypeScript clients, each under one small interface.

import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HTTPV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientV2, StreamableHTTPClientTransport as HTTPV2, fromJsonSchema } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';

import { atEnd, httpFor } from './server.js';

const self = (name = 'toolfold-e2e') => ({ name, version: '1.0.0' });

const anyObject = fromJsonSchema({ type: 'object' });
const v2 = (mode) => (options, name) => new ClientV2(self(name), { versionNegotiation: { mode }, ...options });

// How a client is told to let a server use its model.
const offerV1 = (client, model) => client.setRequestHandler(CreateMessageRequestSchema, model);
const offerV2 = (client, model) => client.setRequestHandler('sampling/createMessage', model);

/** The clients: what each is, and the protocol revision it must agree on. */
export const clients = [
  {
    name: 'TypeScript v1', revision: '2025-11-25',
    client: (options, name) => new ClientV1(self(name), options), offer: offerV1, Stdio: StdioV1, HTTP: HTTPV1, anyResult: ResultSchema,
  },
  {
    name: 'TypeScript v2, pinned', revision: '2026-07-28',
    client: v2({ pin: '2026-07-28' }), offer: offerV2, Stdio: StdioV2, HTTP: HTTPV2, anyResult: anyObject,
  },
  {
    name: 'TypeScript v2, legacy', revision: '2025-11-25',
    client: v2('legacy'), offer: offerV2, Stdio: StdioV2, HTTP: HTTPV2, anyResult: anyObject,
  },
  {
    name: 'TypeScript v2, auto', revision: '2026-07-28',
    client: v2('auto'), offer: offerV2, Stdio: StdioV2, HTTP: HTTPV2, anyResult: anyObject,
  },
];

export const transports = ['stdio', 'http'];

/** For requests that must reach the server, not the client's cache. */
export const fresh = { cacheMode: 'refresh' };

/**
 * Connects a client of the given kind to a server of its own, until test t
 * ends. With options.model the client offers a model: a function that answers
 * sampling requests, with tools too.
 */
export async function connect(t, kind, transport, place, options) {
  if (transport === 'http') {
    const { url } = await httpFor(t, place, options);
    return attach(t, kind, new kind.HTTP(new URL(url)), options);
  }
  return attach(t, kind, new kind.Stdio({ ...place.serve(options), stderr: 'pipe' }), options);
}

/** Connects over a transport, until test t ends; name is the client's. */
export async function attach(t, kind, transport, { model, name } = {}) {
  const client = kind.client(model ? { capabilities: { sampling: { tools: {} } } } : {}, name);
  if (model) kind.offer(client, model);
  atEnd(t, () => client.close());
  const revision = noteRevision(transport);
  await client.connect(transport);
  client.revision = revision.agreed;
  return client;
}

/** Notes the revision that a client tells its transport it agreed on. */
function noteRevision(transport) {
  const revision = {};
  const tell = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (agreed) => {
    revision.agreed = agreed;
    tell?.(agreed);
  };
  return revision;
}
