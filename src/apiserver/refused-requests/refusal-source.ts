/**
 * The plugin or filter that refused a request. Attached to the error where it is thrown, so that successful requests
 * cost nothing. The innermost part's note is kept.
 */
import type { GroupResource } from '../../api/status-error.ts';
import type { FaultDetail, Refuser } from '../../component-helpers/refused-request.ts';

/** The part that refused a request, and the object that caused it. */
export interface RefusalSource extends Refuser {
  /** The uid of the controller that owns the written object. */
  readonly ownerUid?: string | undefined;
}

const sources = new WeakMap<object, Partial<RefusalSource>>();

/** Records the plugin or filter that throws `error`. */
export function recordRefusal<E>(error: E, source: Partial<RefusalSource>): E {
  if (typeof error === 'object' && error !== null) sources.set(error, { ...source, ...sources.get(error) });
  return error;
}

/** Records the object that caused `error`. */
export function recordFault<E>(
  error: E,
  { group, resource }: GroupResource,
  { namespace = '', name = '' }: { readonly namespace?: string; readonly name?: string | undefined },
  detail?: FaultDetail,
): E {
  return recordRefusal(error, { fault: { group, resource, namespace, name, detail } });
}

export function refusalSourceOf(error: unknown): Partial<RefusalSource> | undefined {
  return typeof error === 'object' && error !== null ? sources.get(error) : undefined;
}
