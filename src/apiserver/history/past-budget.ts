/** Past states are work and memory as lists are, and have the same budget: each request reads and decodes copies of its own. */
import type { GenericStore } from '../generic-registry/generic-store.ts';
import type { RequestScope } from '../request-scope.ts';

/** One state of one object, at its largest. */
export const STATE_BYTES = 2 * 1024 * 1024;

/** Does it once there is room for so many bytes. Rejects with 429, or when the client has left. */
export async function withinPastBudget<T>(
  { store, scope }: { readonly store: GenericStore; readonly scope: RequestScope },
  bytes: number,
  make: () => Promise<T>,
): Promise<T> {
  const entering = store.services.lists.enter(scope.user, bytes, scope.request.signal);
  const lease = entering instanceof Promise ? await scope.waitFor(entering) : entering;
  try {
    return await make();
  } finally {
    lease.end();
  }
}
