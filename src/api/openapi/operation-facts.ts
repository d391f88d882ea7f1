// Operations and paths as facts, neutral to the OpenAPI version, and the names that ids and tags are made of.

import type { ResourceInfo } from '../resource-info.ts';
import type { ParameterFact } from './parameters.ts';

/** What an operation answers with: an object, a list or its watch, plain text, or anything. */
export type ProducedFact = 'object' | 'list' | 'text' | 'any' | 'json';

/** One operation; `body` and `result` are type names as the document's maker resolves them. */
export interface OperationFact {
  readonly method: 'get' | 'put' | 'post' | 'delete' | 'patch' | 'head' | 'options';
  readonly id: string;
  readonly tag: string;
  readonly description: string;
  /** Absent for paths that are no resource's. */
  readonly action?: string;
  readonly gvk?: { readonly group: string; readonly kind: string; readonly version: string };
  readonly parameters: readonly ParameterFact[];
  readonly body: string | undefined;
  readonly bodyTypes: readonly string[];
  readonly result: string | undefined;
  readonly produces: ProducedFact;
  /** Status codes of success. */
  readonly codes: readonly ('200' | '201' | '202')[];
}

/** A path with its operations and the parameters they share. */
export interface PathFact {
  readonly path: string;
  readonly parameters: readonly ParameterFact[];
  readonly operations: readonly OperationFact[];
}

/** `rbac.authorization.k8s.io` to `RbacAuthorization`; the core group is `Core`. */
function pascalGroup(group: string): string {
  const words = group
    .replace(/\.k8s\.io$/, '')
    .split(/[.-]/)
    .filter((w) => w !== '');
  return words.length === 0 ? 'Core' : words.map(pascal).join('');
}

/** `v1` to `V1`. */
export const pascal = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** What ids of a group version begin with, and its tag: `CoreV1` and `core_v1`. */
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

/** Root of a group version: `/api/v1` or `/apis/apps/v1`. */
export function groupVersionRoot(group: string, version: string): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

/** `Namespaced` in the ids of what lies in a namespace. */
export const scopeName = (info: ResourceInfo): string => (info.namespaced ? 'Namespaced' : '');
