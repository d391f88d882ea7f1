/** Addresses with which views link to each other. */
import { kindId, type Kind, type ObjectRef } from '../api/kinds.ts';
import { viewNamed } from './registered-views.ts';
import { href, type Route } from './router.ts';

/** The namespace of cluster-scoped objects in addresses. */
const NOWHERE = '-';

export function listHref(kind: Kind, params: Readonly<Record<string, string>> = {}): string {
  return href(['list', kindId(kind)], params);
}

/** The address of a view of one object: `#/VIEW/KIND/NAMESPACE/NAME`. */
export function objectHref(
  view: string,
  { kind, namespace, name }: ObjectRef,
  params: Readonly<Record<string, string>> = {},
): string {
  return href([view, kindId(kind), namespace || NOWHERE, name], params);
}

/** The object of such an address; undefined when it has none. */
export function objectOf({ path }: Route, kindNamed: (word: string) => Kind | undefined): ObjectRef | undefined {
  const [word = '', namespace = '', name = ''] = path;
  const kind = kindNamed(word);
  return kind === undefined || name === ''
    ? undefined
    : { kind, namespace: namespace === NOWHERE ? '' : namespace, name };
}

/** The address of an object's own page; undefined when no view shows objects. */
export function shownAt(ref: ObjectRef): string | undefined {
  return viewNamed('object') === undefined ? undefined : objectHref('object', ref);
}
