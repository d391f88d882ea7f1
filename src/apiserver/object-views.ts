/**
 * What can be read about an object beside the object itself: its history, for instance. Keelson's own API, at
 * `/keelson/v1/VIEW/` followed by the object's path. Whoever may get the object may get each view of it. Some are of lists as well.
 *
 * It is no API group, so that discovery says what upstream's says.
 */
import { noSuchPath } from '../api/status-error.ts';
import type { Answer } from './filters/filter.ts';
import type { GenericStore } from './generic-registry/generic-store.ts';
import { refuseUnauthenticated } from './known-user.ts';
import type { RequestScope } from './request-scope.ts';

/** One view of objects of all kinds. */
export interface ObjectView {
  /** The segment of the path that names it. */
  readonly name: string;
  /** The object may be gone, or never have been. Throws or rejects with StatusErrors. */
  serve(scope: RequestScope, store: GenericStore): Answer;
  /** The same of a list, for whoever may list them; absent: it is of single objects. Its scope has the selectors. */
  serveList?(scope: RequestScope, store: GenericStore): Answer;
}

/** The views that a server offers, by name. */
export class ObjectViews {
  readonly #views: ReadonlyMap<string, ObjectView>;

  constructor(views: readonly ObjectView[]) {
    this.#views = new Map(views.map((view) => [view.name, view]));
  }

  has(name: string): boolean {
    return this.#views.has(name);
  }

  /** Throws 404 for a view that this server does not offer. */
  serve(name: string, scope: RequestScope, store: GenericStore): Answer {
    const view = this.#views.get(name);
    if (view === undefined) throw noSuchPath();
    refuseUnauthenticated(scope);
    if (scope.info.verb !== 'list') return view.serve(scope, store);
    if (view.serveList === undefined) throw noSuchPath();
    return view.serveList(scope, store);
  }
}
