/**
 * The form of a statement about what a controller alone writes. `exclusive-writes.ts` is the table, and a test checks
 * every write of a whole cluster against it: two controllers that write one field would overwrite each other for
 * ever. What several write upstream (pods' deletion, nodes' taints) is nobody's alone.
 */
import { controllerOf } from '../component-helpers/owner-references.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';

/** One statement: no other component creates such objects, or sets these fields. Users may. */
export interface ExclusiveWrite {
  readonly resource: ResourceInfo;
  /** Whether it alone creates such objects. */
  readonly creates?: true;
  /** Paths of fields that it alone sets, with everything below them. */
  readonly fields?: readonly (readonly string[])[];
  /** Restricts the statement to some objects of the resource. */
  readonly where?: (object: KubernetesObject) => boolean;
}

/**
 * What one controller alone writes, and its service account in kube-system (`manager`: the controller manager
 * itself).
 */
export interface ExclusiveWrites {
  readonly account: string;
  readonly writes: readonly ExclusiveWrite[];
}

/** Selects objects whose controller is of this kind. */
export function ownedBy(kind: string): (object: KubernetesObject) => boolean {
  return (object) => controllerOf(object)?.kind === kind;
}

/** Selects objects with this label. */
export function labelled(label: string, value: string): (object: KubernetesObject) => boolean {
  return ({ metadata }) => metadata.labels?.[label] === value;
}
