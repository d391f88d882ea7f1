// Removes what an applier no longer applies. Upstream: Updater.prune with addBackOwnedItems and addBackDanglingItems in
// structured-merge-diff/merge.

import type { Steps } from '../../base/steps.ts';
import type { JsonObject } from '../codec/own-property.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { fieldSetOf, withNamedFields } from './field-extract.ts';
import { removePaths } from './field-merge.ts';
import { difference, type FieldSet, intersection, union, unionAll } from './field-set.ts';
import type { Manager, Managers } from './managers.ts';
import { convert, type KindVersions, objectIn } from './other-versions.ts';

interface Pruning {
  kind: KindVersions;
  /** The applier's entry of its last apply. */
  last: Manager | undefined;
  owners: Managers;
}

/** Removes fields that this applier owned and no longer applies, unless another manager owns them. */
export function* pruneSteps(merged: JsonObject, { kind, last, owners }: Pruning): Steps<JsonObject> {
  yield;
  if (last === undefined) return merged;
  const byVersion = ownedByVersion(owners, last.apiVersion);
  const forms = new Map([...byVersion.keys()].map((version) => [version, objectIn(kind, version, merged)]));
  const { schema, object: whole } = forms.get(last.apiVersion)!;
  yield;
  if (difference(last.fields, unionAll([...byVersion.values()])) === undefined) return merged;
  const lastSet = withNamedFields(schema, last.fields);
  yield;
  let pruned = remove(schema, whole, lastSet);
  let from = last.apiVersion;
  for (const [to, owned] of byVersion) {
    const { schema: type, object } = forms.get(to)!;
    const mergedSet = yield* namedSetOf(type, object);
    yield;
    const own = yield* namedSetOf(type, convert(kind, pruned, { from, to }));
    const kept = union(own, withNamedFields(type, owned));
    yield;
    pruned = remove(type, object, difference(mergedSet, kept));
    from = to;
    yield;
  }
  const mergedSet = yield* namedSetOf(schema, whole);
  yield;
  const left = convert(kind, pruned, { from, to: last.apiVersion });
  const unowned = difference(mergedSet, yield* namedSetOf(schema, left));
  yield;
  const result = remove(schema, whole, intersection(unowned, lastSet));
  return convert(kind, result, { from: last.apiVersion, to: kind.apiVersion });
}

function remove(schema: StructSchema, object: JsonObject, set: FieldSet): JsonObject {
  return (removePaths(schema, object, set) ?? {}) as JsonObject;
}

function* namedSetOf(schema: StructSchema, object: JsonObject): Steps<FieldSet> {
  yield;
  const set = fieldSetOf(schema, object, { lenient: true });
  yield;
  return withNamedFields(schema, set);
}

/** The fields of all managers by API version, `first` at the beginning. */
function ownedByVersion(owners: Managers, first: string): Map<string, FieldSet> {
  const out = new Map<string, FieldSet>([[first, undefined]]);
  for (const { apiVersion, fields } of owners.values()) out.set(apiVersion, union(out.get(apiVersion), fields));
  return out;
}
