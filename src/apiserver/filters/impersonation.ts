/** Acting as somebody else, where the authorizers allow it. Upstream: endpoints/filters.WithImpersonation. */
import { badRequest } from '../../api/status-error.ts';
import { type ApiRequest, headerLines, type Principal } from '../../api/transport.ts';
import type { AuthorizationAttributes, Authorizer } from '../authz/contract.ts';
import { decide, forbiddenError } from './authorization.ts';

const prefix = 'impersonate-';
const extraPrefix = 'impersonate-extra-';
const traits = new Set(['impersonate-user', 'impersonate-group', 'impersonate-uid']);
const accountPrefix = 'system:serviceaccount:';

interface Wanted {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** Whether the request carries impersonation headers. */
export function wantsImpersonation(request: ApiRequest): boolean {
  for (const name in request.headers)
    if (name.startsWith(prefix) && (traits.has(name) || name.startsWith(extraPrefix))) return true;
  return false;
}

/** A key that is no valid percent encoding stands for itself, as upstream. */
function extraKey(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function core(resource: string, name: string, namespace = ''): Wanted {
  return { group: '', resource, subresource: '', namespace, name };
}

function authentication(resource: string, name: string, subresource = ''): Wanted {
  return { group: 'authentication.k8s.io', resource, subresource, namespace: '', name };
}

function groupsOf(user: string, asked: readonly string[]): string[] {
  const groups = [...asked];
  if (asked.length === 0 && user.startsWith(accountPrefix)) {
    const [namespace = ''] = user.slice(accountPrefix.length).split(':');
    groups.push('system:serviceaccounts', `system:serviceaccounts:${namespace}`);
  }
  const base = user === 'system:anonymous' ? 'system:unauthenticated' : 'system:authenticated';
  if (!groups.includes('system:authenticated') && !groups.includes('system:unauthenticated')) groups.push(base);
  return groups;
}

function userWanted(user: string): Wanted {
  const [namespace, name, ...more] = user.startsWith(accountPrefix) ? user.slice(accountPrefix.length).split(':') : [];
  if (namespace && name && more.length === 0) return core('serviceaccounts', name, namespace);
  return core('users', user);
}

/** The principal the request is served for. Throws 403 when one of the wanted traits may not be taken on. */
export async function impersonate(
  request: ApiRequest,
  user: Principal,
  authorizers: readonly Authorizer[],
): Promise<Principal> {
  const { headers } = request;
  const name = headers['impersonate-user'] ?? '';
  const groups = headerLines(request, 'impersonate-group');
  const uid = headers['impersonate-uid'];
  if (name === '') throw badRequest('requested groups, a uid or extra values without impersonating a user');
  const wanted: Wanted[] = [userWanted(name), ...groups.map((group) => core('groups', group))];
  if (uid !== undefined) wanted.push(authentication('uids', uid));
  const extra: Record<string, readonly string[]> = {};
  for (const header of Object.keys(headers)) {
    if (!header.startsWith(extraPrefix)) continue;
    const key = extraKey(header.slice(extraPrefix.length));
    extra[key] = headerLines(request, header);
    for (const value of extra[key]) wanted.push(authentication('userextras', value, key));
  }
  for (const one of wanted) await check(one, user, authorizers);
  return {
    name,
    groups: groupsOf(name, groups),
    ...(uid === undefined ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

async function check(wanted: Wanted, user: Principal, authorizers: readonly Authorizer[]): Promise<void> {
  const { group, ...rest } = wanted;
  const attributes: AuthorizationAttributes = {
    user,
    verb: 'impersonate',
    isResourceRequest: true,
    apiGroup: group,
    apiVersion: 'v1',
    path: '',
    ...rest,
  };
  const verdict = await decide(authorizers, attributes);
  if (verdict.decision !== 'allow') throw forbiddenError(attributes, verdict.reason);
}
