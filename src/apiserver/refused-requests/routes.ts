/**
 * Routes of refused requests: `/keelson/v1/requests` serves the caller's own, `/keelson/v1/all-requests` those of all
 * users, which the bootstrap policy allows to cluster administrators only. Both serve a single request by its id
 * below.
 */
import type { RefusedRequest, RefusedRequestList } from '../../component-helpers/refused-request.ts';
import { notFound } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import type { NonResourceRoute } from '../non-resource-routes.ts';
import type { ObjectView } from '../object-views.ts';
import type { RequestScope } from '../request-scope.ts';
import { errorResponse, objectResponse } from '../responses.ts';
import type { RefusedRequests } from './refused-requests.ts';

const MINE = '/keelson/v1/requests';
const EVERYBODYS = '/keelson/v1/all-requests';

export function refusedRequestRoutes(refused: RefusedRequests): readonly NonResourceRoute[] {
  const route = (path: string, read: (scope: RequestScope) => readonly RefusedRequest[]): NonResourceRoute => ({
    path,
    prefix: true,
    serve: (scope) => refusedRequestsResponse(scope, read(scope), scope.request.path.slice(path.length + 1)),
  });
  return [route(MINE, ({ user }) => refused.of(user.name)), route(EVERYBODYS, () => refused.all())];
}

/** Refused writes of an object's controller: users who may get the object may see what blocks it. */
export function refusalsView(refused: RefusedRequests): ObjectView {
  return {
    name: 'refusals',
    serve(scope, store) {
      const { uid } = store.cell(scope.info).object().metadata;
      return listAnswer(scope, uid === undefined ? [] : refused.ownedBy(uid, scope.info.namespace));
    },
  };
}

function refusedRequestsResponse(scope: RequestScope, requests: readonly RefusedRequest[], id: string): ApiResponse {
  if (id === '') return listAnswer(scope, requests);
  const object = requests.find((request) => request.id === id);
  if (object !== undefined) return objectResponse(scope.request, { object });
  return errorResponse(scope.request, notFound({ group: '', resource: 'requests' }, id).status);
}

function listAnswer(scope: RequestScope, items: readonly RefusedRequest[]): ApiResponse {
  const object: RefusedRequestList = { apiVersion: 'keelson/v1', kind: 'RefusedRequestList', items };
  return objectResponse(scope.request, { object });
}
