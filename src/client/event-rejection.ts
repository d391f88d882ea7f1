/** Logs that the server refused an event. Upstream logs it at debug level where the event's namespace is terminating. */
import { isReason, type StatusError } from '../api/status-error.ts';
import type { Log } from '../platform/log.ts';

/** Logs the refusal, except where it ends with its namespace. */
export function logRejectedEvent(log: Log, event: string | undefined, error: StatusError): void {
  const causes = error.status.details?.causes ?? [];
  const namespaceGone = isReason(error, 'Forbidden') && causes.some(({ reason }) => reason === 'NamespaceTerminating');
  if (namespaceGone) log.debug('server rejected event', { event, err: error });
  else log.warn('server rejected event', { event, err: error });
}
