/**
 * The contract of evaluators, which measure objects for quotas with the help of other objects in the cluster.
 * Upstream: apiserver/pkg/quota/v1.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { DeviceClass, ResourceClaim } from '../../api/gen/resource-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { Quantities } from './resource-lists.ts';

/** Measures objects of one kind. */
export interface QuotaEvaluator {
  /** Whether the evaluator measures this name of a quota. */
  measures(name: string): boolean;
  /** All names that the evaluator measures; absent: `measures` decides by their form. */
  readonly names?: readonly string[];
  usage(object: KubernetesObject, nowMs: number): Quantities;
  /**
   * Whether the object is in the scope; for scopes of classes, the name of the object's class, empty where it has
   * none.
   */
  scope(name: string, object: KubernetesObject): boolean | string;
  /**
   * Upstream: Evaluator.Constraints. The error when the object does not set the fields that these names measure;
   * undefined when it sets all of them.
   */
  constraints(names: readonly string[], object: KubernetesObject): string | undefined;
}

/**
 * Other objects in the cluster: device claims are measured by what their classes stand for and by what their pods
 * count already.
 */
export interface QuotaLookups {
  readonly deviceClasses: () => readonly DeviceClass[];
  readonly pod: (namespace: string, name: string) => Pod | undefined;
  readonly resourceClaims: (namespace: string) => readonly ResourceClaim[];
}
