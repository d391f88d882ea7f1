/**
 * Shares equal parts of field sets in memory. Objects of one controller own the same fields except for a name or an address, and
 * each set lives as long as its object: for a pod, a third of its memory.
 * The result has the same elements in the same order. Upstream has no counterpart.
 */
import { Lru } from '../../base/lru.ts';
import type { FieldNode } from './field-set.ts';

/** The number of owners whose last field set is remembered. */
const KNOWN_SETS = 500;
/** Sets with more elements in their two upper levels are skipped: they rarely equal others, and comparing them is slow. */
const WIDEST = 500;

const lastOfKind = new Lru<string, FieldNode>(KNOWN_SETS);

/** The shared form of sets that were seen before: most managers of an object are written unchanged. */
const sharedAs = new WeakMap<FieldNode, FieldNode>();

/** The set, with parts of the owner's last set wherever they are equal. `owner` identifies the kind and manager. */
export function withSharedParts(owner: string, set: FieldNode): FieldNode {
  const cached = sharedAs.get(set);
  if (cached !== undefined) return cached;
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

/** `node` with the parts of `former` that are equal. */
function share(former: FieldNode, node: FieldNode): FieldNode {
  if (former === node) return former;
  const keys = Object.keys(node);
  const formerKeys = Object.keys(former);
  let same = keys.length === formerKeys.length;
  let changed: Record<string, FieldNode> | undefined;
  for (const [index, key] of keys.entries()) {
    same &&= formerKeys[index] === key;
    if (key === '__proto__' || !Object.hasOwn(former, key)) {
      same = false;
      continue;
    }
    const part = share(former[key]!, node[key]!);
    same &&= part === former[key];
    if (part !== node[key]) (changed ??= { ...node })[key] = part;
  }
  return same ? former : (changed ?? node);
}
