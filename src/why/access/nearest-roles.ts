/** Which roles would allow something, and the command that grants it. Pure. */
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { ruleAllows } from '../../component-helpers/rbac/rule-matching.ts';
import { serviceAccountOf } from '../../component-helpers/user-names.ts';
import type { Cure } from '../explanation.ts';
import { shellWord } from '../shell-word.ts';
import { actionText, resourceText, type AccessRequest } from './access-request.ts';
import { nameOfRole, type AnyRole } from './policy.ts';

const MAX_NAMED = 3;

/** Existing roles that allow it, the narrowest first. Left out: roles of components, whose names have a colon, and those that allow everything. */
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

/** What would grant it: to bind a role that is there, else a role for this alone. */
export function cureOf(request: AccessRequest, roles: readonly AnyRole[]): Cure {
  const nearest = nearestRoles(request, roles);
  const [first] = nearest;
  if (first === undefined)
    return { text: `make a role that allows to ${actionText(request)}, and bind it`, command: ownRole(request) };
  const named = nearest.slice(0, MAX_NAMED).map((role) => `${nameOfRole(role).kind} ${role.metadata.name}`);
  const text = `bind ${named.join(', or ')}, or a role for this alone`;
  return { text, command: bindCommand(request, nameOfRole(first)) };
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

function ownRole(request: AccessRequest): string {
  const { verb, isResourceRequest, path, resource, subresource, name, namespace } = request;
  const kind = isInNamespace(request) ? 'role' : 'clusterrole';
  const target = isResourceRequest ? [resource, subresource] : [path];
  const role = wordOf([verb, ...target, name].filter((part) => part !== '').join('-'));
  const what = isResourceRequest
    ? `--resource=${shellWord(resourceText(request))}${name === '' ? '' : ` --resource-name=${shellWord(name)}`}`
    : `--non-resource-url=${shellWord(path)}`;
  const where = isInNamespace(request) ? ` -n ${namespace}` : '';
  return `kubectl create ${kind} ${role} --verb=${shellWord(verb)} ${what}${where} && ${bindCommand(request, { kind, name: role })}`;
}

function isInNamespace({ namespace }: AccessRequest): boolean {
  return namespace !== '';
}

/** A text as a part of an object's name. */
function wordOf(text: string): string {
  const word = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return word
    .split('-')
    .filter((part) => part !== '')
    .slice(-6)
    .join('-');
}
