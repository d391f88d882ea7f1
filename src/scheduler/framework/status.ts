/** Verdicts of plugins. Upstream: framework.Status. */
import { errorMessage } from '../../base/errors.ts';

/** Why a pod is not scheduled or bound. `undefined` in place of a Status means success. */
export interface Status {
  /**
   * `unresolvable`: preemption would not help either. `wait` comes from Permit, `pending` from PreEnqueue. `skip`:
   * the plugin has nothing to do for this pod.
   */
  readonly code: 'unschedulable' | 'unresolvable' | 'error' | 'wait' | 'skip' | 'pending';
  /** In upstream's words: they end up in the pod's condition. */
  readonly reasons: readonly string[];
  readonly plugin: string;
  readonly cause?: unknown;
}

/** A rejection that another node, or the removal of other pods, could resolve. */
export function unschedulable(plugin: string, ...reasons: readonly string[]): Status {
  return { code: 'unschedulable', reasons, plugin };
}

/** A rejection that only a change of node or pod could resolve. */
export function unresolvable(plugin: string, ...reasons: readonly string[]): Status {
  return { code: 'unresolvable', reasons, plugin };
}

/** A failure of the plugin itself. */
export function failed(plugin: string, cause: unknown): Status {
  return { code: 'error', reasons: [errorMessage(cause)], plugin, cause };
}
