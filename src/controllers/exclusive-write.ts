/**
 * What a controller alone writes. `exclusive-writes.ts` is the table of all, and a test holds every write of a whole
 * cluster against it: two controllers that write one field fight over it for ever. What upstream lets several write (pods' deletion, nodes' taints) is nobody's alone.
 */
import { controllerOf } from '../component-helpers/owner-references.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';

/** One statement: no other component creates such objects, or sets these fields of them. Users may. */
export interface ExclusiveWrite {
  readonly resource: ResourceInfo;
  /** Whether it alone creates them. */
  readonly creates?: true;
  /** Paths of fields that it alone sets, with all that is below them. */
  readonly fields?: readonly (readonly string[])[];
  /** Only of objects for which this holds; of all of the resource when absent. */
  readonly where?: (object: KubernetesObject) => boolean;
}

/** What one controller alone writes, and under which service account of kube-system (`manager`: as the controller manager itself). */
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
