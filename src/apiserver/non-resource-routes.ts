/** Paths outside resources: discovery, OpenAPI, health, version, metrics, key sets. */
import type { ApiResponse } from '../api/transport.ts';
import type { RequestScope } from './request-scope.ts';

/** A handler of a path. */
export interface NonResourceRoute {
  /** Exact path without trailing slash (`/` itself excepted). */
  readonly path: string;
  /** Whether all paths below are served too. */
  readonly prefix?: boolean;
  /** Allowed methods; default GET and HEAD. */
  readonly methods?: readonly string[];
  serve(scope: RequestScope): ApiResponse | Promise<ApiResponse>;
}

export class RouteTable {
  readonly #exact = new Map<string, NonResourceRoute>();
  readonly #prefixes: NonResourceRoute[] = [];

  add(routes: readonly NonResourceRoute[]): void {
    for (const route of routes) {
      this.#exact.set(route.path, route);
      if (route.prefix === true) this.#prefixes.push(route);
    }
    this.#prefixes.sort((a, b) => b.path.length - a.path.length);
  }

  /** The route of a path, with or without a trailing slash. */
  find(path: string): NonResourceRoute | undefined {
    const bare = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
    return this.#exact.get(bare) ?? this.#prefixes.find((route) => bare.startsWith(`${route.path}/`));
  }

  /** All paths, sorted. */
  paths(): string[] {
    return [...this.#exact.keys()].sort();
  }
}
