/**
 * Equal parts of field sets as one object. The objects of a controller own the same fields but for a name or an address,
 * and each of them is held as long as the object lives: for a pod, that is a third of it.
 *
 * Only what is held in memory changes: a set comes back with the same elements in the same order. Upstream has no
 * counterpart.
 */
import { Lru } from '../../base/lru.ts';
import type { FieldNode } from './field-set.ts';

/** The last field set of this many kinds of sets is remembered. */
const KNOWN_SETS = 500;
/** Sets with more elements in their two upper levels are hardly equal to others, and comparing takes long. */
const WIDEST = 500;

const lastOfKind = new Lru<string, FieldNode>(KNOWN_SETS);

/** What sets were shared as: most managers of an object are written back as they were read. */
const sharedAs = new WeakMap<FieldNode, FieldNode>();

/** The set, with the last one's parts wherever they are equal. `owner` says whose fields they are. */
export function withSharedParts(owner: string, set: FieldNode): FieldNode {
  const known = sharedAs.get(set);
  if (known !== undefined) return known;
  let kind = owner;
  let width = 0;
  for (const key in set) {
    kind += `\0${key}`;
    for (const inner in set[key]) {
      if (++width > WIDEST) return set;
      kind += `\0${inner}`;
    }
  }
  const last = lastOfKind.get(kind);
  const shared = last === undefined ? set : share(last, set);
  if (shared !== last) lastOfKind.set(kind, shared);
  sharedAs.set(set, shared);
  sharedAs.set(shared, shared);
  return shared;
}

function share(known: FieldNode, node: FieldNode): FieldNode {
  if (known === node) return known;
  const keys = Object.keys(node);
  const knownKeys = Object.keys(known);
  let same = keys.length === knownKeys.length;
  let changed: Record<string, FieldNode> | undefined;
  for (const [index, key] of keys.entries()) {
    same &&= knownKeys[index] === key;
    if (key === '__proto__' || !Object.hasOwn(known, key)) {
      same = false;
      continue;
    }
    const part = share(known[key]!, node[key]!);
    same &&= part === known[key];
    if (part !== node[key]) (changed ??= { ...node })[key] = part;
  }
  return same ? known : (changed ?? node);
}
