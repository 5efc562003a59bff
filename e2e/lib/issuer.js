// An issuer of OAuth on loopback, for tests: it registers clients, agrees to every login at once, signs tokens for
// the resource that a client names, and exchanges them (RFC 8693) for the client `gateway`. Users and what their tokens
// say are its own.

import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

import { atEnd } from './server.js';

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

export class Issuer {
  #keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  #grants = new Map(); // codes and refresh tokens
  seconds = 3600; // of a token
  refreshed = 0;
  exchanged = 0;
  invalid = 0; // codes and refresh tokens that were used before, or are unknown
  #signed = new Map(); // claims by token
  user = { sub: 'u1', preferred_username: 'ada', groups: ['support'] }; // who logs in next

  static async start(t) {
    const issuer = new Issuer();
    const server = createServer((request, response) => issuer.#serve(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(t, () => server.close());
    issuer.url = `http://127.0.0.1:${server.address().port}`;
    return issuer;
  }

  /** A token for a user. */
  token(user, audience, changes = {}) {
    const claims = { iss: this.url, aud: audience, exp: Math.floor(Date.now() / 1000) + this.seconds, ...user, ...changes };
    const text = `${encode({ alg: 'RS256', kid: 'one', typ: 'at+jwt' })}.${encode(claims)}`;
    const token = `${text}.${sign('sha256', Buffer.from(text), this.#keys.privateKey).toString('base64url')}`;
    this.#signed.set(token, claims);
    return token;
  }

  /** The claims of a token that is good now; audience may be absent. */
  claims(token, audience) {
    const claims = this.#signed.get(token);
    if (claims && claims.exp * 1000 > Date.now() && (!audience || claims.aud === audience)) return claims;
  }

  /** Waits until all tokens have ended. */
  async ended() {
    const last = Math.max(...[...this.#signed.values()].map(({ exp }) => exp * 1000));
    await new Promise((over) => setTimeout(over, last - Date.now() + 1));
  }

  #exchange(form, authorization) {
    const expected = `Basic ${Buffer.from('gateway:secret').toString('base64')}`;
    const accessToken = 'urn:ietf:params:oauth:token-type:access_token';
    const claims = this.claims(form.get('subject_token'));
    if (authorization !== expected) return [{ error: 'invalid_client' }, 401];
    if (!claims || form.get('subject_token_type') !== accessToken) return [{ error: 'invalid_request' }, 400];
    if (claims.sub === this.refused) return [{ error: 'invalid_target', error_description: 'not for this user' }, 400];
    this.exchanged++;
    const token = this.token({ sub: claims.sub }, form.get('audience'));
    return [{ access_token: token, issued_token_type: accessToken, token_type: 'Bearer', expires_in: this.seconds }, 200];
  }

  async #serve(request, response) {
    const at = new URL(request.url, this.url);
    let body = '';
    for await (const chunk of request) body += chunk;
    const answer = (value, status = 200) => response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
    switch (at.pathname) {
      case '/.well-known/openid-configuration':
      case '/.well-known/oauth-authorization-server':
        return answer({
          issuer: this.url, authorization_endpoint: `${this.url}/authorize`, token_endpoint: `${this.url}/token`,
          registration_endpoint: `${this.url}/register`, jwks_uri: `${this.url}/keys`, response_types_supported: ['code'],
          subject_types_supported: ['public'], id_token_signing_alg_values_supported: ['RS256'], code_challenge_methods_supported: ['S256'],
        });
      case '/keys':
        return answer({ keys: [{ ...this.#keys.publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }] });
      case '/register':
        return answer({ ...JSON.parse(body), client_id: randomUUID() }, 201);
      case '/authorize': {
        const asked = at.searchParams;
        const code = randomUUID();
        this.#grants.set(code, { user: this.user, audience: asked.get('resource'), challenge: asked.get('code_challenge') });
        const back = new URL(asked.get('redirect_uri'));
        back.searchParams.set('code', code);
        if (asked.has('state')) back.searchParams.set('state', asked.get('state'));
        return response.writeHead(302, { Location: back.href }).end();
      }
      case '/token': {
        const form = new URLSearchParams(body);
        if (form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:token-exchange') {
          return answer(...this.#exchange(form, request.headers.authorization));
        }
        const key = form.get('code') ?? form.get('refresh_token');
        const grant = this.#grants.get(key);
        this.#grants.delete(key);
        const verifier = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url');
        if (!grant) this.invalid++;
        if (!grant || (grant.challenge && grant.challenge !== verifier)) return answer({ error: 'invalid_grant' }, 400);
        if (!grant.challenge) this.refreshed++;
        const refresh = randomUUID();
        this.#grants.set(refresh, { user: grant.user, audience: grant.audience });
        return answer({
          access_token: this.token(grant.user, grant.audience), token_type: 'Bearer', expires_in: this.seconds, refresh_token: refresh,
          scope: 'tools',
        });
      }
      default:
        return answer({ error: 'not_found' }, 404);
    }
  }
}
