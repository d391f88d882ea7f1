/** An access request (user, verb, resource), from the arguments of a command or from a refused request. */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { Principal } from '../../api/transport.ts';
import type { AccessQuestion } from '../../component-helpers/rbac/rule-matching.ts';
import { impliedGroups, serviceAccountOf } from '../../component-helpers/user-names.ts';
import type { ObjectName } from '../explanation.ts';
import { findResource } from '../find-resource.ts';

/** A request whose authorization is explained. */
export interface AccessRequest extends AccessQuestion {
  readonly user: Principal;
  readonly apiVersion: string;
  /** '' for cluster-scoped resources, for all namespaces and for paths. */
  readonly namespace: string;
  /** Other interpretations of the arguments that the user may have meant. */
  readonly notes: readonly string[];
}

/** The arguments of `keelson why can`. */
export interface AccessWords {
  readonly user: string;
  readonly verb: string;
  /** `RESOURCE`, `RESOURCE/NAME` or a path that begins with `/`. */
  readonly resource: string;
  /** Absent or '' for all namespaces. */
  readonly namespace?: string;
  /** Groups in addition to those that every authenticated user has. */
  readonly groups?: readonly string[];
  readonly subresource?: string;
}

/** Resources that the server does not serve are accepted in the form `RESOURCE.GROUP`, because rules may name them. */
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

/** The request in words: `get pods/log web-1 in namespace default`. */
export function actionText(request: AccessRequest): string {
  const { verb, isResourceRequest, path, name, namespace } = request;
  if (!isResourceRequest) return `${verb} ${path}`;
  const where = namespace === '' ? '' : ` in namespace ${namespace}`;
  return `${verb} ${resourceText(request)}${name === '' ? '' : ` ${name}`}${where}`;
}

/** The resource in the form of kubectl's role commands: `deployments.apps/scale`. */
export function resourceText({ apiGroup, resource, subresource }: AccessQuestion): string {
  const group = apiGroup === '' ? '' : `.${apiGroup}`;
  return `${resource}${group}${subresource === '' ? '' : `/${subresource}`}`;
}

/** A user as the object of an explanation. */
export function nameOfUser(userName: string): ObjectName {
  const account = serviceAccountOf(userName);
  return account === undefined ? { kind: 'user', name: userName } : { kind: 'serviceaccount', ...account };
}
