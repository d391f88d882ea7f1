/** What is made of a route that has a Gateway of ours. */
import type { Stored } from '../../api/object.ts';
import type { AttachedParent } from './attach-routes.ts';
import type { ConvertedRoute } from './route-rules.ts';
import type { GatewayRoute, RouteKind } from './types.ts';

/** A route with a parent of ours. */
export interface OwnRoute {
  readonly kind: RouteKind;
  readonly route: Stored<GatewayRoute>;
  readonly parents: readonly AttachedParent[];
  readonly converted: ConvertedRoute;
  /** Its host names on each port that serves it. */
  readonly hostsByPort: ReadonlyMap<number, readonly string[]>;
}
