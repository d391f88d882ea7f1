/** Contract of admission plugins. Upstream: apiserver/pkg/admission. */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { RequestContext } from '../request-context.ts';

/** The object lifecycle operation being admitted. */
export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/**
 * The passes of one request through the mutating plugins. A plugin whose object was changed by later plugins may ask
 * for a second pass; there is no third. Upstream: admission.ReinvocationContext.
 */
export interface Reinvocation {
  round: 0 | 1;
  wanted: boolean;
  /** What plugins remember from the first pass for the second, by plugin name. */
  readonly memory: Map<string, unknown>;
}

/** The state before the first pass. */
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
  /** Whether the plugin handles the operation on the resource; asked once for each combination. */
  handles(operation: AdmissionOperation, resource: ResourceInfo, subresource: string): boolean;
  /** Whether nothing is configured for the plugin at present, so that requests skip it. */
  isIdle?(): boolean;
  /** Whether its `mutate` only refuses requests before other plugins see them and changes nothing. */
  readonly onlyRefuses?: boolean;
  /** Changes the draft. */
  mutate?(attributes: AdmissionAttributes): void | Promise<void>;
  /** Runs after all mutation. */
  validate?(attributes: AdmissionAttributes): void | Promise<void>;
}
