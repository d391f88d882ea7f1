/** GET of one object. A stored object's bytes go out as they are in the cache. */
import { badRequest } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import { untilFresh } from '../generic-registry/freshness.ts';
import { stateAt } from '../history/object-history.ts';
import { STATE_BYTES, withinPastBudget } from '../history/past-budget.ts';
import type { Call } from './endpoint.ts';
import { revisionParam } from './options.ts';
import { writeObject } from './write-object.ts';

/** Serves GET. Throws or rejects with 404, 406 and 504; with 410 for a revision that is not kept any more. */
export function serveGet(call: Call): ApiResponse | Promise<ApiResponse> {
  const { params, request } = call.scope;
  const revision = request.query === '' ? undefined : revisionParam(params);
  const fresh = untilFresh(call.store, revision);
  if (request.query !== '' && params.get('resourceVersionMatch') === 'Exact') return serveExact(call, fresh, revision);
  return fresh === undefined ? respond(call) : fresh.then(() => respond(call));
}

function respond({ store, scope }: Call): ApiResponse | Promise<ApiResponse> {
  const cell = store.cell(scope.info);
  const preparing = store.prepare([cell]);
  if (preparing !== undefined) return preparing.then(() => writeObject(store, scope, { status: 200, cell }));
  return writeObject(store, scope, { status: 200, cell });
}

/** The object as it was at a revision. Ours: upstream takes `resourceVersionMatch` for lists alone. */
async function serveExact(
  call: Call,
  fresh: Promise<void> | undefined,
  revision: number | undefined,
): Promise<ApiResponse> {
  if (revision === undefined || revision === 0)
    throw badRequest('resourceVersionMatch Exact is forbidden unless a resourceVersion other than 0 is provided');
  await fresh;
  const { store, scope } = call;
  return withinPastBudget(call, STATE_BYTES, async () => {
    const { cell } = await stateAt(store, scope, { revision });
    await store.prepare([cell]);
    return await writeObject(store, scope, { status: 200, cell });
  });
}
