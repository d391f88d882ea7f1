/**
 * Views of an object in addition to the object itself, such as its history. Keelson's own API, at `/keelson/v1/VIEW/`
 * followed by the object's path. Users who may get the object may get each of its views. Some views exist for lists
 * as well.
 *
 * The views form no API group, since discovery lists only upstream's groups.
 */
import { noSuchPath } from '../api/status-error.ts';
import type { Answer } from './filters/filter.ts';
import type { GenericStore } from './generic-registry/generic-store.ts';
import { refuseUnauthenticated } from './known-user.ts';
import type { RequestScope } from './request-scope.ts';

/** One view, for objects of all kinds. */
export interface ObjectView {
  /** Its segment in the path. */
  readonly name: string;
  /** The object may not exist. Throws or rejects with StatusErrors. */
  serve(scope: RequestScope, store: GenericStore): Answer;
  /** The same for a list, for users who may list it; absent: only for single objects. The scope has the selectors. */
  serveList?(scope: RequestScope, store: GenericStore): Answer;
}

/** The views of a server by name. */
export class ObjectViews {
  readonly #views: ReadonlyMap<string, ObjectView>;

  constructor(views: readonly ObjectView[]) {
    this.#views = new Map(views.map((view) => [view.name, view]));
  }

  has(name: string): boolean {
    return this.#views.has(name);
  }

  /** Throws 404 for an unknown view. */
  serve(name: string, scope: RequestScope, store: GenericStore): Answer {
    const view = this.#views.get(name);
    if (view === undefined) throw noSuchPath();
    refuseUnauthenticated(scope);
    if (scope.info.verb !== 'list') return view.serve(scope, store);
    if (view.serveList === undefined) throw noSuchPath();
    return view.serveList(scope, store);
  }
}
