/** Chooses the handler of a request: an aggregated API, a resource or a route. Upstream: server.director. */
import { isReason, methodNotAllowed, noSuchPath } from '../api/status-error.ts';
import { checkScope, dispatch, type DispatchDeps, isOutOfScope } from './dispatch.ts';
import type { Answer, Handler } from './filters/filter.ts';
import type { ResourceRegistry } from './generic-registry/resource-registry.ts';
import type { RouteTable } from './non-resource-routes.ts';
import type { ObjectViews } from './object-views.ts';
import type { RequestScope } from './request-scope.ts';
import { textResponse } from './responses.ts';

export interface DirectorDeps extends DispatchDeps {
  readonly registry: ResourceRegistry;
  readonly routes: RouteTable;
  readonly views: ObjectViews;
  /** Answers what neither the registry nor the routes do: other servers' APIs. Undefined: not theirs either. */
  readonly aggregated: (scope: RequestScope) => Answer | undefined;
}

/** Answers, and knows what it could answer. */
export interface Director {
  /** Throws 404 and 405. */
  readonly handle: Handler;
  /**
   * The part of this server at the request's path: the subresource ('' for the resource itself), or the path of the route;
   * undefined when there is nothing. Few in number whatever clients ask for, so metrics may be labelled with it.
   */
  served(scope: RequestScope): string | undefined;
}

export function createDirector(deps: DirectorDeps): Director {
  const { registry, routes } = deps;
  return {
    handle(scope) {
      const { info } = scope;
      if (info.view !== undefined) return serveView(deps, info.view, scope);
      const aggregated = deps.aggregated(scope);
      if (aggregated !== undefined) return aggregated;
      if (info.isResourceRequest) {
        const store = registry.find(info.apiGroup, info.apiVersion, info.resource);
        if (store !== undefined && !isOutOfScope(store, info)) return dispatch(store, scope, deps);
      }
      return namesApi(scope.request.path, registry) ? serveRoute(routes, scope) : serveOther(routes, scope);
    },
    served({ info }) {
      if (!info.isResourceRequest) return routes.find(info.path)?.path;
      if (info.view !== undefined) return deps.views.has(info.view) ? info.view : undefined;
      const store = registry.find(info.apiGroup, info.apiVersion, info.resource);
      const { subresource } = info;
      const isThere = subresource === '' || store?.info.subresources.some(({ name }) => name === subresource) === true;
      return store !== undefined && isThere ? subresource : undefined;
    },
  };
}

/** Throws 404 where no such object can be. */
function serveView({ registry, views }: DirectorDeps, view: string, scope: RequestScope): Answer {
  const { apiGroup, apiVersion, resource } = scope.info;
  const store = registry.find(apiGroup, apiVersion, resource);
  if (store === undefined || store.definition.storagePrefix === '') throw noSuchPath();
  checkScope(store, scope);
  return views.serve(view, scope, store);
}

/** Whether the path belongs to built-in APIs, whose answers are all objects. */
function namesApi(path: string, registry: ResourceRegistry): boolean {
  const [, first, group] = path.split('/', 3);
  if (first === 'api' || first === 'version') return true;
  if (first !== 'apis') return false;
  if (group === undefined || group === '') return true;
  return registry.servesBuiltIn(group);
}

/** Paths that are not found outside the APIs are answered in plain text, as by Go's multiplexer. */
function serveOther(routes: RouteTable, scope: RequestScope): Answer {
  try {
    return serveRoute(routes, scope);
  } catch (error) {
    if (!isReason(error, 'NotFound')) throw error;
    return textResponse(404, '404 page not found\n');
  }
}

function serveRoute(routes: RouteTable, scope: RequestScope): Answer {
  const { info, request } = scope;
  const route = routes.find(request.path);
  if (route === undefined) throw noSuchPath();
  const methods = route.methods ?? ['GET', 'HEAD'];
  if (!methods.includes(request.method)) {
    if (info.isResourceRequest) throw noSuchPath(); // The route is discovery's: there is no such resource.
    throw methodNotAllowed();
  }
  return route.serve(scope);
}
