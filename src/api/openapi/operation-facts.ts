// Operations and paths independent of the OpenAPI version, and the names from which ids and tags are built.

import type { ResourceInfo } from '../resource-info.ts';
import type { ParameterFact } from './parameters.ts';

/** The kind of an operation's response: an object, a list or its watch, plain text, any of these, JSON or its form of keys. */
export type ProducedFact = 'object' | 'list' | 'text' | 'any' | 'json' | 'keys';

/** One operation. The builder of a document resolves `body` and `result`, which are type names. */
export interface OperationFact {
  readonly method: 'get' | 'put' | 'post' | 'delete' | 'patch' | 'head' | 'options';
  readonly id: string;
  readonly tag: string;
  readonly description: string;
  /** Absent for paths that belong to no resource. */
  readonly action?: string;
  readonly gvk?: { readonly group: string; readonly kind: string; readonly version: string };
  readonly parameters: readonly ParameterFact[];
  readonly body: string | undefined;
  readonly bodyTypes: readonly string[];
  readonly result: string | undefined;
  readonly produces: ProducedFact;
  /** The status codes of success. */
  readonly codes: readonly ('200' | '201' | '202')[];
}

/** A path with its operations and the parameters they share. */
export interface PathFact {
  readonly path: string;
  readonly parameters: readonly ParameterFact[];
  readonly operations: readonly OperationFact[];
}

/** `rbac.authorization.k8s.io` becomes `RbacAuthorization`; the core group is `Core`. */
function pascalGroup(group: string): string {
  const words = group
    .replace(/\.k8s\.io$/, '')
    .split(/[.-]/)
    .filter((w) => w !== '');
  return words.length === 0 ? 'Core' : words.map(pascal).join('');
}

/** `v1` becomes `V1`. */
export const pascal = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** The prefix of a group version's operation ids, and its tag: `CoreV1` and `core_v1`. */
export function namesOf({ group, version }: { readonly group: string; readonly version: string }): {
  readonly id: string;
  readonly tag: string;
  readonly groupId: string;
  readonly groupTag: string;
} {
  const groupId = pascalGroup(group);
  const groupTag = `${groupId.charAt(0).toLowerCase()}${groupId.slice(1)}`;
  return { id: `${groupId}${pascal(version)}`, tag: `${groupTag}_${version}`, groupId, groupTag };
}

/** The root path of a group version: `/api/v1` or `/apis/apps/v1`. */
export function groupVersionRoot(group: string, version: string): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

/** `Namespaced` in the ids of namespaced operations, else empty. */
export const scopeName = (info: ResourceInfo): string => (info.namespaced ? 'Namespaced' : '');
