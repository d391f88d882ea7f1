/** Records requests whose user is known, before anything else is done for them. Upstream: endpoints/filters.WithAudit. */
import { internalError } from '../../api/status-error.ts';
import type { Auditor } from '../audit/auditor.ts';
import type { Filter } from './filter.ts';

/** `auditor` absent: nothing is recorded. A request that cannot be recorded is refused. */
export function withAudit({ auditor }: { readonly auditor?: Auditor }): Filter {
  if (auditor === undefined) return (handler) => handler;
  return (handler) => (scope) => {
    scope.audited = auditor.begin(scope);
    const written = scope.audited?.written();
    if (written === undefined) return handler(scope);
    return written.then(
      () => handler(scope),
      (cause: unknown) => {
        throw internalError('failed to store audit event', cause);
      },
    );
  };
}
