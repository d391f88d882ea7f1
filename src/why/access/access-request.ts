/** An access request (user, verb, resource), from a command's words or from a refusal. */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { Principal } from '../../api/transport.ts';
import type { AccessQuestion } from '../../component-helpers/rbac/rule-matching.ts';
import { impliedGroups, serviceAccountOf } from '../../component-helpers/user-names.ts';
import type { ObjectName } from '../explanation.ts';
import { findResource } from '../find-resource.ts';

/** A question to the authorizers. */
export interface AccessRequest extends AccessQuestion {
  readonly user: Principal;
  readonly apiVersion: string;
  /** '' for cluster-scoped resources, for all namespaces and for paths. */
  readonly namespace: string;
  /** What the asker may have meant otherwise. */
  readonly notes: readonly string[];
}

/** What `keelson why can` is given. */
export interface AccessWords {
  readonly user: string;
  readonly verb: string;
  /** `RESOURCE`, `RESOURCE/NAME` or a path that begins with `/`. */
  readonly resource: string;
  /** Absent or '' for all namespaces. */
  readonly namespace?: string;
  /** Groups beyond those that authentication gives every user of the name. */
  readonly groups?: readonly string[];
  readonly subresource?: string;
}

/** Resources that the server does not serve are taken as written, `RESOURCE.GROUP`: rules may name what nobody serves. */
export function accessRequestOf(words: AccessWords, served: readonly ResourceInfo<KubernetesObject>[]): AccessRequest {
  const { user, verb, resource: target, namespace = '', groups = [], subresource = '' } = words;
  const principal = { name: user, groups: [...new Set([...impliedGroups(user), ...groups])] };
  const none = { apiGroup: '', apiVersion: '', resource: '', subresource: '', name: '', namespace: '', path: '' };
  if (target.startsWith('/'))
    return { ...none, user: principal, verb, isResourceRequest: false, path: target, notes: [] };
  const [word = '', ...rest] = target.split('/');
  const name = rest.join('/');
  const info = findResource(word, served);
  const named = { ...none, user: principal, verb, isResourceRequest: true, subresource, name };
  if (info === undefined) {
    const [resource = '', ...group] = word.split('.');
    const notes = [`the server serves no resource ${word}: its name is taken as written`];
    return { ...named, apiGroup: group.join('.'), apiVersion: '*', resource, namespace, notes };
  }
  const { group, version, resource, namespaced, subresources } = info;
  const notes = subresources.some((one) => one.name === name)
    ? [`${name} is taken as a name: the sub-resource is asked for with --subresource ${name}`]
    : [];
  const place = namespaced ? namespace : '';
  return { ...named, apiGroup: group, apiVersion: version, resource, namespace: place, notes };
}

/** `get pods/log web-1 in namespace default`. */
export function actionText(request: AccessRequest): string {
  const { verb, isResourceRequest, path, name, namespace } = request;
  if (!isResourceRequest) return `${verb} ${path}`;
  const where = namespace === '' ? '' : ` in namespace ${namespace}`;
  return `${verb} ${resourceText(request)}${name === '' ? '' : ` ${name}`}${where}`;
}

/** `deployments.apps/scale`, as kubectl takes resources of roles. */
export function resourceText({ apiGroup, resource, subresource }: AccessQuestion): string {
  const group = apiGroup === '' ? '' : `.${apiGroup}`;
  return `${resource}${group}${subresource === '' ? '' : `/${subresource}`}`;
}

/** A user as the object of an answer. */
export function nameOfUser(userName: string): ObjectName {
  const account = serviceAccountOf(userName);
  return account === undefined ? { kind: 'user', name: userName } : { kind: 'serviceaccount', ...account };
}
