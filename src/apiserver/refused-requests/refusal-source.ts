/**
 * Who made an error that refuses a request. Noted at the error where it is thrown, so that requests that pass cost nothing. What
 * the innermost part notes stays.
 */
import type { GroupResource } from '../../api/status-error.ts';
import type { FaultDetail, Refuser } from '../../component-helpers/refused-request.ts';

/** The part that refused a request, and the object it refused it for. */
export interface RefusalSource extends Refuser {
  /** The controller of the object that was to be written. */
  readonly ownerUid?: string | undefined;
}

const sources = new WeakMap<object, Partial<RefusalSource>>();

/** Notes who throws `error`. */
export function noteRefusal<E>(error: E, source: Partial<RefusalSource>): E {
  if (typeof error === 'object' && error !== null) sources.set(error, { ...source, ...sources.get(error) });
  return error;
}

/** Notes on account of which object `error` refuses. */
export function noteFault<E>(
  error: E,
  { group, resource }: GroupResource,
  { namespace = '', name = '' }: { readonly namespace?: string; readonly name?: string | undefined },
  detail?: FaultDetail,
): E {
  return noteRefusal(error, { fault: { group, resource, namespace, name, detail } });
}

export function refusalSourceOf(error: unknown): Partial<RefusalSource> | undefined {
  return typeof error === 'object' && error !== null ? sources.get(error) : undefined;
}
