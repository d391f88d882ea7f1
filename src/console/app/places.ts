/** Addresses that views link to one another by. */
import { kindId, type Kind, type ObjectRef } from '../api/kinds.ts';
import { viewNamed } from './registered-views.ts';
import { href, type Route } from './router.ts';

/** Stands for the namespace of what has none. */
const NOWHERE = '-';

export function listHref(kind: Kind, params: Readonly<Record<string, string>> = {}): string {
  return href(['list', kindId(kind)], params);
}

/** The place of a view on one object: `#/VIEW/KIND/NAMESPACE/NAME`. */
export function objectHref(
  view: string,
  { kind, namespace, name }: ObjectRef,
  params: Readonly<Record<string, string>> = {},
): string {
  return href([view, kindId(kind), namespace || NOWHERE, name], params);
}

/** The object that an address of such a view names; undefined when it names none. */
export function objectOf({ path }: Route, kindNamed: (word: string) => Kind | undefined): ObjectRef | undefined {
  const [word = '', namespace = '', name = ''] = path;
  const kind = kindNamed(word);
  return kind === undefined || name === ''
    ? undefined
    : { kind, namespace: namespace === NOWHERE ? '' : namespace, name };
}

/** Where an object is shown whole; undefined as long as no view shows objects. */
export function shownAt(ref: ObjectRef): string | undefined {
  return viewNamed('object') === undefined ? undefined : objectHref('object', ref);
}
