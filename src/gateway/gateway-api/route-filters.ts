/** Converts filters of rules and backends to those of the data plane. A route with an unsupported filter is refused. */
import { appendAll } from '../../base/lists.ts';
import { isChangeableHeader, isHeaderValue } from '../snapshot/header-rules.ts';
import type { HeaderChanges, MirrorTarget, PathChange, Redirect, RouteFilters } from '../snapshot/snapshot.ts';
import type { BackendReference, HeaderFilter, PathModifier, RouteFilter } from './types.ts';

/** The error for a part of a route that the data plane does not support. */
export class UnsupportedValueError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnsupportedValueError';
  }
}

/** The characters allowed in the path of a request line and of `Location`; a prefix may be replaced by nothing. */
const REPLACEMENT = /^(\/[\x21\x22\x24-\x3e\x40-\x5b\x5d-\x7e]*)?$/;

/** Resolves a mirror's backend to its key in the snapshot; undefined for an invalid one. */
export type ResolveMirror = (reference: BackendReference) => string | undefined;

/** Throws `UnsupportedValueError`. */
export function convertFilters(
  filters: readonly RouteFilter[] | undefined,
  resolveMirror: ResolveMirror,
): RouteFilters {
  let requestHeaders: HeaderChanges | undefined;
  let responseHeaders: HeaderChanges | undefined;
  let redirect: Redirect | undefined;
  let rewrite: RouteFilters['rewrite'];
  const mirrors: MirrorTarget[] = [];
  for (const filter of filters ?? [])
    switch (filter.type) {
      case 'RequestHeaderModifier':
        requestHeaders = headerChanges(filter.requestHeaderModifier);
        break;
      case 'ResponseHeaderModifier':
        responseHeaders = headerChanges(filter.responseHeaderModifier);
        break;
      case 'RequestRedirect': {
        const { scheme, hostname, port, path, statusCode = 302 } = filter.requestRedirect ?? {};
        redirect = { status: statusCode, scheme, hostname, port, path: pathChange(path) };
        break;
      }
      case 'URLRewrite':
        rewrite = {
          hostname: filter.urlRewrite?.hostname,
          path: pathChange(filter.urlRewrite?.path),
        };
        break;
      case 'RequestMirror':
        appendAll(mirrors, mirrorOf(filter, resolveMirror));
        break;
      default:
        throw new UnsupportedValueError(`filters of type ${filter.type} are not served`);
    }
  return { requestHeaders, responseHeaders, redirect, rewrite, mirrors };
}

/** Converts filters of one backend. Redirects and mirrors are refused: they are applied before a backend is chosen. */
export function convertBackendFilters(filters: readonly RouteFilter[] | undefined): RouteFilters {
  const routeFilter = filters?.find(({ type }) => type === 'RequestMirror' || type === 'RequestRedirect');
  if (routeFilter !== undefined)
    throw new UnsupportedValueError(`filters of type ${routeFilter.type} are not served for one backend`);
  return convertFilters(filters, () => undefined);
}

function headerChanges({ set = [], add = [], remove = [] }: HeaderFilter = {}): HeaderChanges {
  for (const name of [...set, ...add].map((one) => one.name).concat(remove))
    if (!isChangeableHeader(name))
      throw new UnsupportedValueError(`filters cannot change the header ${JSON.stringify(name)}`);
  for (const { name, value } of [...set, ...add])
    if (!isHeaderValue(value))
      throw new UnsupportedValueError(`the value of the header ${name} has characters that headers cannot carry`);
  const pairs = (list: typeof set) => list.map(({ name, value }) => [name, value] as const);
  return { set: pairs(set), add: pairs(add), remove };
}

function pathChange(path: PathModifier | undefined): PathChange | undefined {
  if (path === undefined) return undefined;
  const changed: PathChange =
    path.type === 'ReplaceFullPath'
      ? { type: 'full', value: path.replaceFullPath || '/' }
      : { type: 'prefix', value: path.replacePrefixMatch ?? '' };
  if (!REPLACEMENT.test(changed.value))
    throw new UnsupportedValueError(`${JSON.stringify(changed.value)} is no path that a request can have`);
  return changed;
}

function mirrorOf({ requestMirror }: RouteFilter, resolve: ResolveMirror): MirrorTarget[] {
  if (requestMirror === undefined) return [];
  const { backendRef, percent = 100, fraction } = requestMirror;
  const backend = resolve(backendRef);
  if (backend === undefined) return [];
  if (fraction === undefined) return [{ backend, numerator: percent, denominator: 100 }];
  return [{ backend, numerator: fraction.numerator, denominator: fraction.denominator ?? 100 }];
}
