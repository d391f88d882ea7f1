/** Finds the roles that would allow a request, and the command that grants it. Pure. */
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { ruleAllows } from '../../component-helpers/rbac/rule-matching.ts';
import { serviceAccountOf } from '../../component-helpers/user-names.ts';
import type { Cure } from '../explanation.ts';
import { shellWord } from '../shell-word.ts';
import { actionText, resourceText, type AccessRequest } from './access-request.ts';
import { nameOfRole, type AnyRole } from './policy.ts';

const MAX_NAMED = 3;

/**
 * Existing roles that allow the request, the narrowest first. Roles of components, whose names contain a colon, and roles that
 * allow everything are left out.
 */
function nearestRoles(request: AccessRequest, roles: readonly AnyRole[]): readonly AnyRole[] {
  return roles
    .filter(({ metadata, rules = [] }) => {
      const isForPeople = metadata.name?.includes(':') !== true;
      return isForPeople && rules.some((rule) => ruleAllows(rule, request)) && !rules.some(isUnlimited);
    })
    .map((role) => ({ role, breadth: breadthOf(role) }))
    .toSorted((a, b) => a.breadth - b.breadth)
    .map(({ role }) => role);
}

function isUnlimited({ verbs, resources = [], nonResourceURLs = [] }: PolicyRule): boolean {
  return verbs.includes('*') && (resources.includes('*') || nonResourceURLs.includes('*'));
}

function breadthOf({ rules = [] }: AnyRole): number {
  return rules.reduce((sum, { verbs, resources = [], nonResourceURLs = [] }) => {
    return sum + verbs.length * (resources.length + nonResourceURLs.length);
  }, 0);
}

/** Verbs that readers of a resource usually have together. */
const READING = ['get', 'list', 'watch'];

/** Whether the role grants little more: only this object, resource or path, with this verb or all verbs of reading. */
function isForThisAlone({ rules = [] }: AnyRole, request: AccessRequest): boolean {
  const { verb, isResourceRequest, path, apiGroup, resource, subresource, name } = request;
  const verbsAlike = READING.includes(verb) ? READING : [verb];
  const target = subresource === '' ? resource : `${resource}/${subresource}`;
  return rules.every(({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }) => {
    const isSameTarget = isResourceRequest
      ? nonResourceURLs.length === 0 &&
        apiGroups.every((one) => one === apiGroup) &&
        resources.every((one) => one === target)
      : resources.length === 0 && nonResourceURLs.every((one) => one === path);
    const isSameName = name === '' || (resourceNames.length === 1 && resourceNames[0] === name);
    return isSameTarget && isSameName && verbs.every((one) => verbsAlike.includes(one));
  });
}

/**
 * A cure that grants the request and little else: binding an existing narrow role, or creating one. Wider roles are mentioned.
 */
export function cureOf(request: AccessRequest, roles: readonly AnyRole[]): Cure {
  const nearest = nearestRoles(request, roles);
  const narrow = nearest.find((role) => isForThisAlone(role, request));
  if (narrow !== undefined) {
    const { kind, name } = nameOfRole(narrow);
    return { text: `bind ${kind} ${name}`, command: bindCommand(request, { kind, name }) };
  }
  const wider = nearest.slice(0, MAX_NAMED).map((role) => `${nameOfRole(role).kind} ${role.metadata.name}`);
  const text = `make a role that allows to ${actionText(request)} and nothing else, and bind it`;
  return {
    text: wider.length === 0 ? text : `${text}; ${wider.join(', or ')}, would allow much more as well`,
    command: ownRole(request, roles),
  };
}

function bindCommand(request: AccessRequest, role: { readonly kind: string; readonly name: string }): string {
  const account = serviceAccountOf(request.user.name);
  const who =
    account === undefined
      ? `--user=${shellWord(request.user.name)}`
      : `--serviceaccount=${account.namespace}:${account.name}`;
  const name = shellWord(`${role.name}-${wordOf(account?.name ?? request.user.name)}`);
  const what = `--${role.kind}=${shellWord(role.name)} ${who}`;
  return isInNamespace(request)
    ? `kubectl create rolebinding ${name} ${what} -n ${request.namespace}`
    : `kubectl create clusterrolebinding ${name} ${what}`;
}

function ownRole(request: AccessRequest, roles: readonly AnyRole[]): string {
  const { verb, isResourceRequest, path, resource, subresource, name, namespace } = request;
  const kind = isInNamespace(request) ? 'role' : 'clusterrole';
  const target = isResourceRequest ? [resource, subresource] : [path];
  const role = freeName(wordOf([verb, ...target, name].filter((part) => part !== '').join('-')), kind, roles);
  const what = isResourceRequest
    ? `--resource=${shellWord(resourceText(request))}${name === '' ? '' : ` --resource-name=${shellWord(name)}`}`
    : `--non-resource-url=${shellWord(path)}`;
  const where = isInNamespace(request) ? ` -n ${namespace}` : '';
  return `kubectl create ${kind} ${role} --verb=${shellWord(verb)} ${what}${where} && ${bindCommand(request, { kind, name: role })}`;
}

/** The name, with a number appended when a role that grants something else has it. */
function freeName(name: string, kind: string, roles: readonly AnyRole[]): string {
  const taken = new Set(roles.map(nameOfRole).map((role) => `${role.kind}/${role.name}`));
  let free = name;
  for (let count = 2; taken.has(`${kind}/${free}`); count++) free = `${name}-${count}`;
  return free;
}

function isInNamespace({ namespace }: AccessRequest): boolean {
  return namespace !== '';
}

/** A text made valid as a part of an object's name. */
function wordOf(text: string): string {
  const word = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return word
    .split('-')
    .filter((part) => part !== '')
    .slice(-6)
    .join('-');
}
