/**
 * Access to a component's own paths: health is public, other paths need the API server's authorization. Upstream:
 * DelegatingAuthenticationOptions and DelegatingAuthorizationOptions.
 */
import { SubjectAccessReviews } from '../../api/gen/resources.ts';
import { type StatusError, statusFailure, unauthorized } from '../../api/status-error.ts';
import type { Principal } from '../../api/transport.ts';
import { Lru } from '../../base/lru.ts';
import type { Client } from '../../client/client.ts';
import { createDelegatedAuth } from '../../kubelet/server/delegated-auth.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';

type AccessPlatform = Pick<Platform, 'crypto' | 'random' | 'clock' | 'log'>;

export interface ComponentAccess {
  readonly alwaysAllowPaths: readonly string[];
  readonly skipsLookup: boolean;
  /** Whether to serve although the clients' authorities could not be looked up at the start. */
  readonly toleratesLookupFailure: boolean;
  readonly tokenTtlMs: number;
  readonly allowedTtlMs: number;
  readonly deniedTtlMs: number;
  /** The client for TokenReviews. */
  readonly authentication?: Client;
  /** The client for SubjectAccessReviews. */
  readonly authorization?: Client;
}

const CACHE_SIZE = 256;

/** Authenticates and authorizes requests as upstream: a refusal names the user. */
export function guarded(handler: HttpHandler, platform: AccessPlatform, access: ComponentAccess): HttpHandler {
  const { authentication, authorization } = access;
  const { tokenTtlMs } = access;
  const { log } = platform;
  const who = createDelegatedAuth(
    { client: authentication as Client, platform },
    {
      nodeName: '',
      anonymous: true,
      tokenWebhook: authentication !== undefined,
      authorizationMode: 'AlwaysAllow',
      tokenTtlMs,
    },
  );
  const may = authorization === undefined ? async () => false : reviewed(authorization, platform, access);
  return async (request) => {
    if (access.alwaysAllowPaths.some((allowed) => covers(allowed, request.path))) return handler(request);
    const { path, method } = request;
    const principal = await who.authenticate(request).catch((err: unknown) => {
      log.error('Unable to authenticate the request', { err });
      return undefined;
    });
    if (principal === undefined) return statusResponse(unauthorized());
    let allowed = principal.groups.includes('system:masters');
    try {
      allowed ||= await may(principal, request);
    } catch (err) {
      log.error('Unable to authorize the request', { err, user: principal.name, path });
      return internalError(path, err as Error);
    }
    if (!allowed) {
      const what = `${method.toLowerCase()} path ${JSON.stringify(path)}`;
      return statusResponse(
        statusFailure(403, 'Forbidden', `forbidden: User ${JSON.stringify(principal.name)} cannot ${what}`),
      );
    }
    return handler(request);
  };
}

const covers = (allowed: string, path: string): boolean =>
  allowed.endsWith('*') ? path.startsWith(allowed.slice(0, -1)) : path === allowed;

type May = (principal: Principal, request: HttpRequest) => Promise<boolean>;

function reviewed(client: Client, { clock }: AccessPlatform, access: ComponentAccess): May {
  const decisions = new Lru<string, { readonly allowed: boolean; readonly untilMs: number }>(CACHE_SIZE);
  return async ({ name: user, groups, uid, extra }, { method, path }) => {
    const nonResourceAttributes = { verb: method.toLowerCase(), path };
    const key = JSON.stringify([user, groups, uid, extra, nonResourceAttributes]);
    const cached = decisions.get(key);
    if (cached !== undefined && clock.monotonicMs() < cached.untilMs) return cached.allowed;
    const spec = {
      user,
      groups: [...groups],
      nonResourceAttributes,
      uid,
      extra: extra && Object.fromEntries(Object.entries(extra).map(([at, values]) => [at, [...values]])),
    };
    const { status } = await client.resource(SubjectAccessReviews).create({ metadata: {}, spec });
    const allowed = status?.allowed === true;
    decisions.set(key, {
      allowed,
      untilMs: clock.monotonicMs() + (allowed ? access.allowedTtlMs : access.deniedTtlMs),
    });
    return allowed;
  };
}

function statusResponse({ status }: StatusError): HttpResponse {
  const headers = { 'content-type': 'application/json' };
  return { kind: 'bytes', status: status.code ?? 500, headers, chunks: [Buffer.from(JSON.stringify(status))] };
}

/** Upstream's words of a check that failed. */
function internalError(path: string, { message }: Error): HttpResponse {
  const text = `Internal Server Error: ${JSON.stringify(path)}: ${message}\n`;
  const headers = { 'content-type': 'text/plain; charset=utf-8' };
  return { kind: 'bytes', status: 500, headers, chunks: [Buffer.from(text)] };
}
