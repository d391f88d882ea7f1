/** Kinds of objects that the server has, and the paths of their objects. */

/** One resource in its group's preferred version. */
export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly singular: string;
  readonly subresources: readonly string[];
}

/** An object by its kind and key. `namespace` is '' for cluster-scoped objects. */
export interface ObjectRef {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
}

export function apiVersionOf({ group, version }: Pick<Kind, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The path of a kind's objects, in one namespace when it is set and the kind is namespaced. */
export function listPath(kind: Kind, namespace = ''): string {
  const base = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const scope = kind.namespaced && namespace !== '' ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${base}${scope}/${kind.resource}`;
}

export function objectPath({ kind, namespace, name }: ObjectRef, subresource = ''): string {
  const tail = subresource === '' ? '' : `/${subresource}`;
  return `${listPath(kind, namespace)}/${encodeURIComponent(name)}${tail}`;
}

/** The id of a kind, unique among all: `pods`, or `deployments.apps`. */
export function kindId({ group, resource }: Pick<Kind, 'group' | 'resource'>): string {
  return group === '' ? resource : `${resource}.${group}`;
}

/** The kind that a word names, as in kubectl: resource, singular, short name or kind, with or without its group. */
export function findKind(kinds: readonly Kind[], word: string): Kind | undefined {
  const lower = word.trim().toLowerCase();
  const [name = '', ...group] = lower.split('.');
  const tests: ((kind: Kind) => boolean)[] = [
    (kind) => kindId(kind) === lower,
    (kind) => kind.resource === name || kind.singular === name || kind.kind.toLowerCase() === name,
    (kind) => kind.shortNames.includes(name),
  ];
  const inGroup = kinds.filter((kind) => group.length === 0 || kind.group.startsWith(group.join('.')));
  for (const test of tests) {
    const found = inGroup.find(test);
    if (found !== undefined) return found;
  }
  return undefined;
}
