/** Contract of admission plugins. Upstream: apiserver/pkg/admission. */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { RequestContext } from '../request-context.ts';

/** The object lifecycle operation being admitted. */
export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/**
 * The passes of one request over the mutating plugins. A plugin that changed the object after others had seen it asks
 * for a second pass; there is no third. Upstream: admission.ReinvocationContext.
 */
export interface Reinvocation {
  round: 0 | 1;
  wanted: boolean;
  /** What plugins remember from the first pass for the second, by their names. */
  readonly memory: Map<string, unknown>;
}

/** Before the first pass. */
export function newReinvocation(): Reinvocation {
  return { round: 0, wanted: false, memory: new Map() };
}

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
  readonly reinvocation: Reinvocation;
}

/** One plugin. Rejection is a thrown StatusError (mostly `forbidden`). */
export interface AdmissionPlugin {
  /** Upstream's plugin name: NamespaceLifecycle, ServiceAccount … */
  readonly name: string;
  /** Which operations on which resources concern it; asked once for each. */
  handles(operation: AdmissionOperation, resource: ResourceInfo, subresource: string): boolean;
  /** Nothing is set up for it now: requests pass it by. */
  isIdle?(): boolean;
  /** Its `mutate` refuses requests before other plugins see them, but changes nothing. */
  readonly onlyRefuses?: boolean;
  /** Changes the draft. */
  mutate?(attributes: AdmissionAttributes): void | Promise<void>;
  /** Runs after all mutation. */
  validate?(attributes: AdmissionAttributes): void | Promise<void>;
}
