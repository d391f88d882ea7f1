/** The budget of bytes for past states, shared with lists: each request reads and decodes its own copies. */
import type { GenericStore } from '../generic-registry/generic-store.ts';
import type { RequestScope } from '../request-scope.ts';

/** The largest possible state of one object. */
export const STATE_BYTES = 2 * 1024 * 1024;

/** Runs the work once there is room for its bytes. Rejects with 429, or when the client disconnects. */
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
