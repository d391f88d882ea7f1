/** What measures objects for quotas, and what it is given to look at beside them. Upstream: apiserver/pkg/quota/v1. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { DeviceClass, ResourceClaim } from '../../api/gen/resource-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { Quantities } from './resource-lists.ts';

/** Measures objects of one kind. */
export interface QuotaEvaluator {
  /** Whether it measures this name of a quota. */
  measures(name: string): boolean;
  usage(object: KubernetesObject, nowMs: number): Quantities;
  /** Whether the object is in the scope; of scopes of classes, the name of the object's class, empty where it has none. */
  scope(name: string, object: KubernetesObject): boolean | string;
  /** What the object must say for these names to be measured, as upstream's text; undefined when it says all. */
  unsaid(names: readonly string[], object: KubernetesObject): string | undefined;
}

/** Other objects of the cluster: claims are measured by what their device classes stand for, and what their pods count already. */
export interface QuotaLookups {
  readonly deviceClasses: () => readonly DeviceClass[];
  readonly pod: (namespace: string, name: string) => Pod | undefined;
  readonly resourceClaims: (namespace: string) => readonly ResourceClaim[];
}
