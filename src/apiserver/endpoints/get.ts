/** GET of one object. A stored object's bytes go out as they are in the cache. */
import type { ApiResponse } from '../../api/transport.ts';
import { untilFresh } from '../generic-registry/freshness.ts';
import type { Call } from './endpoint.ts';
import { revisionParam } from './options.ts';
import { writeObject } from './write-object.ts';

/** Serves GET. Throws or rejects with 404, 406 and 504. */
export function serveGet(call: Call): ApiResponse | Promise<ApiResponse> {
  const revision = call.scope.request.query === '' ? undefined : revisionParam(call.scope.params);
  const fresh = untilFresh(call.store, revision);
  return fresh === undefined ? respond(call) : fresh.then(() => respond(call));
}

function respond({ store, scope }: Call): ApiResponse | Promise<ApiResponse> {
  const cell = store.cell(scope.info);
  const preparing = store.prepare([cell]);
  if (preparing !== undefined) return preparing.then(() => writeObject(store, scope, { status: 200, cell }));
  return writeObject(store, scope, { status: 200, cell });
}
