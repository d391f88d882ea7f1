// Laws of field sets and of merging, on random objects.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalize } from '../codec/canonical.ts';
import { seededDraw, sampleStruct } from '../schema/sample-fixture.ts';
import { schemaOf } from '../schema/schema.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { compare, isUnchanged } from './field-compare.ts';
import { fieldSetOf } from './field-extract.ts';
import { mergeApplied } from './field-merge.ts';
import { difference, intersection, pathsOf, sameSet, union, type FieldSet } from './field-set.ts';
import { ListKeyError } from './path-element.ts';

const schemas = ['Pod', 'Service', 'ConfigMap', 'Node'].map((kind) => schemaOf('', 'v1', kind) as StructSchema);

/** Sets of random objects, without those whose lists have no keys. */
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

test('set algebra', () => {
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

test('merging an object into itself changes nothing, and a comparison sees exactly the difference', () => {
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
