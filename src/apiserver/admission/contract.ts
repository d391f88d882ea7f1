/** Contract of admission plugins. Upstream: apiserver/pkg/admission. */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { RequestContext } from '../request-context.ts';

/** The object lifecycle operation being admitted. */
export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** One request before admission. */
export interface AdmissionAttributes<T extends KubernetesObject = KubernetesObject> {
  readonly operation: AdmissionOperation;
  readonly resource: ResourceInfo<T>;
  /** '' for the main resource. */
  readonly subresource: string;
  readonly namespace: string;
  /** '' on create with generateName. */
  readonly name: string;
  /** The new object: a private draft that mutating plugins may change in place. Absent on DELETE. For sub-resources such as binding or scale: that kind's object. */
  readonly object?: T;
  /** The stored object; never change it. Absent on CREATE. */
  readonly oldObject?: T;
  readonly options: object;
  readonly dryRun: boolean;
  readonly context: RequestContext;
}

/** One plugin. Rejection is a thrown StatusError (mostly `forbidden`). */
export interface AdmissionPlugin {
  /** Upstream's plugin name: NamespaceLifecycle, ServiceAccount … */
  readonly name: string;
  /** Fast check: which operations on which resources concern it. */
  handles(operation: AdmissionOperation, resource: ResourceInfo, subresource: string): boolean;
  /** Changes the draft. */
  mutate?(attributes: AdmissionAttributes): void | Promise<void>;
  /** Runs after all mutation. */
  validate?(attributes: AdmissionAttributes): void | Promise<void>;
}
