/**
 * `/console/session`: POST signs in by a bearer token or a one-time code, GET returns the user, DELETE signs out.
 * `/console/link`: POST gives the caller a one-time code for the console.
 */
import { badRequest, conflict, forbidden, unauthorized } from '../../api/status-error.ts';
import type { ApiRequest, ApiResponse, Principal } from '../../api/transport.ts';
import { formatTime } from '../../api/time.ts';
import { deepEqual } from '../../base/equal.ts';
import { AUTHENTICATED_GROUP } from '../authn/client-certificate.ts';
import { bearerTokenOf } from '../authn/bearer-token.ts';
import { userInfoOf } from '../authn/user-info.ts';
import type { RequestScope } from '../request-scope.ts';
import { objectResponse } from '../responses.ts';
import { securityHeaders } from './headers.ts';
import { CONSOLE_HEADER, cookieNameOf, isFromConsole, sessionIdOf } from './request-origin.ts';
import { CODE_MS, type Session, type SessionCredential, type Sessions } from './sessions.ts';

const MAX_BODY_BYTES = 4096;
const CODE = /^[\w-]{43}$/;

export interface SessionRouteDeps {
  readonly sessions: Sessions;
  readonly nowMs: () => number;
}

/** Throws or rejects with 400, 401 and 403. */
export async function serveSession(deps: SessionRouteDeps, scope: RequestScope): Promise<ApiResponse> {
  const { request, user } = scope;
  switch (request.method) {
    case 'POST':
      requireConsole(request);
      return signIn(deps, scope);
    case 'DELETE':
      requireConsole(request);
      return signOut(deps.sessions, request);
    default: {
      requireUser(user);
      const id = sessionIdOf(request);
      const session = id === undefined || !isFromConsole(request) ? undefined : deps.sessions.find(id);
      return sessionResponse(request, { user, session });
    }
  }
}

/** A code for the caller's session. */
export async function serveLink({ sessions }: SessionRouteDeps, scope: RequestScope): Promise<ApiResponse> {
  const { request } = scope;
  const code = sessions.issueCode(credentialOf(scope));
  const body = { code, path: `/console/#code=${code}`, expiresInSeconds: CODE_MS / 1000 };
  return objectResponse(request, { status: 201, object: body, headers: securityHeaders });
}

async function signIn(deps: SessionRouteDeps, scope: RequestScope): Promise<ApiResponse> {
  const { sessions } = deps;
  const { request } = scope;
  const asked = await codeIn(request);
  const before = sessionIdOf(request);
  if (asked !== undefined && !asked.replace) requireNoOther(sessions, before, asked.code);
  const credential = asked === undefined ? credentialOf(scope) : sessions.redeemCode(asked.code);
  if (credential === undefined) throw unauthorized('the code is unknown, was used, or is older than a minute');
  const { session, cookie } = openSession(deps, request, { credential, before });
  return sessionResponse(request, { user: credential.user, session, status: 201, cookie: [cookie] });
}

interface SessionToOpen {
  readonly credential: SessionCredential;
  /** The session that it replaces. */
  readonly before: string | undefined;
}

/** Opens a session, and the line that sets its cookie. */
export function openSession(
  { sessions, nowMs }: SessionRouteDeps,
  request: ApiRequest,
  { credential, before }: SessionToOpen,
): { readonly session: Session; readonly cookie: string } {
  if (before !== undefined) sessions.close(before);
  const { id, session } = sessions.open(credential);
  const seconds = Math.max(1, Math.floor((session.expiresAtMs - nowMs()) / 1000));
  return { session, cookie: cookieLine(request, id, seconds) };
}

/**
 * Throws 409 when the code would end another user's session. Otherwise an attacker could make a user follow a link with the
 * attacker's code, and the user would unknowingly continue in the attacker's account.
 */
function requireNoOther(sessions: Sessions, before: string | undefined, code: string): void {
  const present = before === undefined ? undefined : sessions.find(before)?.credential.user;
  const next = sessions.findCode(code)?.user;
  if (present === undefined || next === undefined || deepEqual(present, next)) return;
  const why = 'the code would end this session and open one of another user; send "replace": true to do so';
  throw conflict({ group: '', resource: 'session' }, present.name, why);
}

function signOut(sessions: Sessions, request: ApiRequest): ApiResponse {
  const id = sessionIdOf(request);
  if (id !== undefined) sessions.close(id);
  const headers = { ...securityHeaders, 'cache-control': 'no-store', 'set-cookie': cookieLine(request, '', 0) };
  return { kind: 'bytes', status: 204, headers, chunks: [] };
}

function cookieLine(request: ApiRequest, value: string, maxAgeSeconds: number): string {
  const attributes = `Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}`;
  return `${cookieNameOf(request)}=${value}; ${attributes}`;
}

/** The credential of the request itself. A session proves nothing further: else it could outlive its end. */
function credentialOf({ request, user }: RequestScope): SessionCredential {
  requireUser(user);
  if (Object.keys(request.headers).some((name) => name.startsWith('impersonate-')))
    throw sessionForbidden('impersonated users cannot sign in to the console');
  const certificate = request.peerCertificate;
  if (request.principal !== undefined) return { kind: 'user', user };
  if (certificate !== undefined && certificate.commonName !== '')
    return { kind: 'user', user, expiresAtMs: certificate.expiresAtMs, isTrusted: certificate.isTrusted };
  const token = bearerTokenOf(request.headers['authorization']);
  if (token === undefined) throw sessionForbidden('a bearer token, a client certificate or a one-time code is needed');
  return { kind: 'token', user, token };
}

function requireUser({ groups }: Principal): void {
  if (!groups.includes(AUTHENTICATED_GROUP)) throw unauthorized();
}

function requireConsole(request: ApiRequest): void {
  if (!isFromConsole(request))
    throw sessionForbidden(`header ${CONSOLE_HEADER} is missing, or the request is another site's`);
}

function sessionForbidden(why: string): Error {
  return forbidden({ group: '', resource: '' }, '', why);
}

interface AskedByCode {
  readonly code: string;
  /** The session that is open may end. */
  readonly replace: boolean;
}

/** The one-time code in the body; undefined when the body is empty. Rejects with 400 for anything else. */
async function codeIn({ body }: ApiRequest): Promise<AskedByCode | undefined> {
  const text = body.kind === 'bytes' ? Buffer.from(await body.read(MAX_BODY_BYTES)).toString() : '';
  if (text === '') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badRequest('the body is not JSON');
  }
  const code = typeof value === 'object' && value !== null && 'code' in value ? value.code : undefined;
  if (typeof code !== 'string' || !CODE.test(code)) throw badRequest('the body is neither empty nor {"code": "…"}');
  const replace = 'replace' in (value as object) && (value as { readonly replace: unknown }).replace === true;
  return { code, replace };
}

interface SessionAnswer {
  readonly user: Principal;
  readonly session?: Session | undefined;
  readonly status?: number;
  /** Lines of `Set-Cookie`. */
  readonly cookie?: readonly string[];
}

function sessionResponse(
  request: ApiRequest,
  { user, session, status = 200, cookie = [] }: SessionAnswer,
): ApiResponse {
  const object = { user: userInfoOf(user), expires: session && formatTime(session.expiresAtMs) };
  const headers = { ...securityHeaders, 'cache-control': 'no-store', 'set-cookie': cookie };
  return objectResponse(request, { status, object, headers });
}
