/**
 * The modes of impersonation. The constrained ones need two rights: `impersonate-on:MODE:VERB` for the request, and
 * `impersonate:MODE` for each attribute of the impersonated user. The legacy mode needs only `impersonate` and then permits every
 * request of that user. Upstream: endpoints/filters/impersonation/mode.go (ConstrainedImpersonation). Differs: decisions are not
 * cached for ten seconds.
 */
import { Field } from '../../../api/field-error.ts';
import { validateDomainPrefixedPath } from '../../../api/validation/common.ts';
import type { Principal } from '../../../api/transport.ts';
import { associatedNodeOf, nodeOf, serviceAccountOf } from '../../../component-helpers/user-names.ts';
import type { AuthorizationAttributes, Authorizer } from '../../authz/contract.ts';
import { SERVER_GROUP } from '../../bootstrap/server-join.ts';
import { decide, forbiddenError } from '../authorization.ts';
import type { WantedUser } from './wanted-user.ts';

export interface Mode {
  /** In its verbs; '': the one of old. */
  readonly name: '' | 'associated-node' | 'arbitrary-node' | 'serviceaccount' | 'user-info';
  /** Whether it is for this user, wanted by that one. */
  applies(wanted: WantedUser, by: Principal): boolean;
}

/** One attempt to impersonate a user. */
export interface Attempt {
  readonly wanted: WantedUser;
  /** The request to be made as that user. */
  readonly request: AuthorizationAttributes;
  readonly authorizers: readonly Authorizer[];
}

/** All, the strictest first. */
export const MODES: readonly Mode[] = [
  {
    name: 'associated-node',
    applies(wanted, by) {
      const node = nodeOf(wanted.name);
      return node !== undefined && onlyNamed(wanted) && associatedNodeOf(by) === node;
    },
  },
  { name: 'arbitrary-node', applies: (wanted) => onlyNamed(wanted) && nodeOf(wanted.name) !== undefined },
  { name: 'serviceaccount', applies: (wanted) => onlyNamed(wanted) && serviceAccountOf(wanted.name) !== undefined },
  {
    name: 'user-info',
    applies: ({ name }) => nodeOf(name) === undefined && serviceAccountOf(name) === undefined,
  },
  { name: '', applies: () => true },
];

/** The number of groups or extra values that are checked at once first. */
const MANY = 4;
const AUTHENTICATION = 'authentication.k8s.io';

/** The impersonated user. Rejects with 403 when this mode is not allowed. */
export async function tryMode(mode: Mode, { wanted, request, authorizers }: Attempt): Promise<Principal> {
  const user = mode.name === 'associated-node' ? withoutExtraValues(request.user) : request.user;
  const asking = { authorizers, user, mode };
  if (mode.name !== '')
    await requireAllowed(authorizers, { ...request, user, verb: `impersonate-on:${mode.name}:${request.verb}` });
  await requireAllowed(authorizers, nameAsked(asking, wanted.name));
  if (wanted.uid !== '') await requireAllowed(authorizers, { ...authentication(asking, 'uids'), name: wanted.uid });
  if (wanted.groups.length > 0) await demandGroups(asking, wanted.groups);
  if (Object.keys(wanted.extra).length > 0) await demandExtra(asking, wanted.extra);
  return actualUser(mode, wanted);
}

interface ImpersonationCheck {
  readonly authorizers: readonly Authorizer[];
  readonly user: Principal;
  readonly mode: Mode;
}

function onlyNamed({ uid, groups, extra }: WantedUser): boolean {
  return uid === '' && groups.length === 0 && Object.keys(extra).length === 0;
}

/** The same account asks alike from every node: which node is its own has been seen to, its name decides nothing more. */
function withoutExtraValues(user: Principal): Principal {
  const keys = Object.keys(user.extra ?? {}).toSorted();
  return { ...user, extra: { 'authentication.kubernetes.io/associated-node-keys': keys } };
}

function authentication({ user, mode }: ImpersonationCheck, resource: string): AuthorizationAttributes {
  return {
    user,
    verb: mode.name === '' ? 'impersonate' : `impersonate:${mode.name}`,
    isResourceRequest: true,
    apiGroup: AUTHENTICATION,
    apiVersion: 'v1',
    namespace: '',
    resource,
    subresource: '',
    name: '',
    path: '',
  };
}

/** Users and groups, which the way of old knows as resources of the core group. */
function identity(asking: ImpersonationCheck, resource: string): AuthorizationAttributes {
  const attributes = authentication(asking, resource);
  return asking.mode.name === '' ? { ...attributes, apiGroup: '' } : attributes;
}

function nameAsked(asking: ImpersonationCheck, userName: string): AuthorizationAttributes {
  const account = serviceAccountOf(userName);
  if (account !== undefined) return { ...identity(asking, 'serviceaccounts'), ...account };
  const node = asking.mode.name === '' ? undefined : nodeOf(userName);
  if (node === undefined) return { ...identity(asking, 'users'), name: userName };
  return { ...identity(asking, 'nodes'), name: asking.mode.name === 'associated-node' ? '*' : node };
}

async function demandGroups(asking: ImpersonationCheck, groups: readonly string[]): Promise<void> {
  const attributes = identity(asking, 'groups');
  // Not the way of old either: the group is the keys of the cluster, and only a token of it has it.
  if (groups.includes(SERVER_GROUP))
    throw forbiddenError(
      { ...attributes, name: SERVER_GROUP },
      `impersonating the ${SERVER_GROUP} group is not allowed`,
    );
  if (asking.mode.name !== '') {
    if (groups.includes('')) throw forbiddenError(attributes, 'impersonating the empty string group is not allowed');
    if (groups.includes('system:masters'))
      throw forbiddenError(
        { ...attributes, name: 'system:masters' },
        'impersonating the system:masters group is not allowed',
      );
    if (groups.length >= MANY && (await may(asking, { ...attributes, name: '*' }))) return;
  }
  for (const name of groups) await requireAllowed(asking.authorizers, { ...attributes, name });
}

async function demandExtra(asking: ImpersonationCheck, extra: WantedUser['extra']): Promise<void> {
  const attributes = authentication(asking, 'userextras');
  if (asking.mode.name !== '') {
    const fault = extraFault(extra);
    if (fault !== undefined) throw forbiddenError(attributes, fault);
    const isLarge = Object.keys(extra).length >= MANY || Object.values(extra).flat().length >= MANY;
    if (isLarge && (await may(asking, { ...attributes, subresource: '*', name: '*' }))) return;
  }
  for (const [subresource, values] of Object.entries(extra))
    for (const name of values) await requireAllowed(asking.authorizers, { ...attributes, subresource, name });
}

/** Why such extra values cannot be impersonated by constrained impersonation. */
function extraFault(extra: WantedUser['extra']): string | undefined {
  for (const [key, values] of Object.entries(extra)) {
    if (key === '') return 'impersonating the empty string key in extra is not allowed';
    const place = Field.named('extra').at('key');
    validateDomainPrefixedPath(key, place);
    const [fault] = place.errors;
    if (fault !== undefined)
      return `impersonating an invalid key in extra is not allowed: ${fault.field}: ${fault.text}`;
    if (key !== key.toLowerCase())
      return `impersonating a non-lowercase key in extra is not allowed: ${JSON.stringify(key)}`;
    if (values.length === 0) return 'impersonating empty values in extra is not allowed';
    if (values.includes('')) return 'impersonating the empty string value in extra is not allowed';
  }
  return undefined;
}

async function may({ authorizers }: ImpersonationCheck, attributes: AuthorizationAttributes): Promise<boolean> {
  return (await decide(authorizers, attributes)).decision === 'allow';
}

async function requireAllowed(authorizers: readonly Authorizer[], attributes: AuthorizationAttributes): Promise<void> {
  const { decision, reason } = await decide(authorizers, attributes);
  if (decision !== 'allow') throw forbiddenError(attributes, reason);
}

function actualUser(mode: Mode, { name, uid, groups, extra }: WantedUser): Principal {
  return {
    name,
    groups: withBaseGroup(name, groupsOf(mode, name, groups)),
    uid: uid === '' ? undefined : uid,
    extra: Object.keys(extra).length === 0 ? undefined : extra,
  };
}

function groupsOf(mode: Mode, name: string, wantedGroups: readonly string[]): readonly string[] {
  if (wantedGroups.length > 0) return wantedGroups;
  const account = serviceAccountOf(name);
  if (account !== undefined) return ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`];
  return mode.name !== '' && nodeOf(name) !== undefined ? ['system:nodes'] : [];
}

function withBaseGroup(name: string, groups: readonly string[]): readonly string[] {
  const anonymous = 'system:unauthenticated';
  if (name !== 'system:anonymous' && groups.includes(anonymous)) return groups;
  const base = name === 'system:anonymous' ? anonymous : 'system:authenticated';
  return groups.includes(base) ? groups : [...groups, base];
}
