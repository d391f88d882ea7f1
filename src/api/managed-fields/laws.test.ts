// Laws of field sets and of merging, checked on random objects.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalize } from '../codec/canonical.ts';
import { seededDraw, sampleStruct } from '../schema/sample-fixture.ts';
import { schemaOf } from '../schema/schema.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { compare, isUnchanged } from './field-compare.ts';
import { fieldSetOf } from './field-extract.ts';
import { mergeApplied } from './field-merge.ts';
import {
  difference,
  type FieldNode,
  type FieldSet,
  intersection,
  pathsOf,
  recursiveDifference,
  sameSet,
  union,
  unionAll,
} from './field-set.ts';
import { ListKeyError } from './path-element.ts';

const schemas = ['Pod', 'Service', 'ConfigMap', 'Node'].map((kind) => schemaOf('', 'v1', kind) as StructSchema);

/** Field sets of random objects, except objects whose lists lack keys. */
function samples(seed: number): { schema: StructSchema; object: object; set: FieldSet }[] {
  const draw = seededDraw(seed);
  const out: { schema: StructSchema; object: object; set: FieldSet }[] = [];
  for (let i = 0; i < 60; i++) {
    const schema = schemas[i % schemas.length] as StructSchema;
    const object = canonicalize(schema, sampleStruct(schema, draw));
    try {
      out.push({ schema, object, set: fieldSetOf(schema, object) });
    } catch (error) {
      if (!(error instanceof ListKeyError)) throw error;
    }
  }
  assert.ok(out.length > 15, `only ${out.length} samples`);
  return out;
}

test('union, intersection and difference of field sets equal those of their paths', () => {
  const sets = samples(7).map(({ set }) => set);
  const text = (set: FieldSet): string[] =>
    pathsOf(set)
      .map((path) => path.join(' '))
      .sort();
  for (let i = 1; i < sets.length; i++) {
    const [a, b] = [sets[i - 1], sets[i]];
    const [ta, tb] = [text(a), new Set(text(b))];
    assert.deepEqual(text(union(a, b)), [...new Set([...ta, ...tb])].sort());
    assert.deepEqual(
      text(difference(a, b)),
      ta.filter((p) => !tb.has(p)),
    );
    assert.deepEqual(
      text(intersection(a, b)),
      ta.filter((p) => tb.has(p)),
    );
    assert.ok(sameSet(union(difference(a, b), intersection(a, b)), a));
  }
});

test('unionAll equals unions one by one, and changes no input', () => {
  const sets: FieldSet[] = [undefined, {}, { '.': {}, 'f:a': {} }, ...samples(5).map(({ set }) => set)];
  const before = JSON.stringify(sets);
  for (let from = 0; from < sets.length; from += 3) {
    const some = sets.slice(from);
    const [all, chained] = [unionAll(some), some.reduce((a, b) => union(a, b), undefined)];
    assert.deepEqual(pathsOf(all), pathsOf(chained));
  }
  assert.equal(JSON.stringify(sets), before);
});

test('operations on a small set give the same result for wide and narrow second sets', () => {
  const keys = (count: number, node: FieldNode): FieldNode =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`f:k${i}`, node]));
  const nodes: FieldNode[] = [{}, { '.': {}, 'f:x': {} }, { 'f:x': {}, 'f:y': {} }, { 'f:x': { 'f:z': {} } }];
  for (const mine of nodes)
    for (const theirs of nodes)
      for (const recursive of [difference, recursiveDifference]) {
        const of = (width: number): FieldSet =>
          recursive({ '.': {}, 'f:own': {}, ...keys(3, mine) }, keys(width, theirs));
        assert.deepEqual(of(5000), of(3));
      }
});

test('merging an object with itself changes nothing, and a comparison finds exactly the differences', () => {
  const all = samples(11);
  for (const { schema, object } of all) {
    assert.ok(isUnchanged(compare(schema, object, structuredClone(object))));
    assert.ok(isUnchanged(compare(schema, object, mergeApplied(schema, object, structuredClone(object)))));
  }
  for (const { schema, object } of all) {
    for (const other of all.filter((s) => s.schema === schema)) {
      const merged = mergeApplied(schema, object, other.object);
      const { removed } = compare(schema, object, merged);
      assert.equal(removed === undefined || pathsOf(removed).length > 0, true);
      assert.ok(
        isUnchanged(compare(schema, merged, mergeApplied(schema, merged, other.object))),
        'merging is idempotent',
      );
    }
  }
});
