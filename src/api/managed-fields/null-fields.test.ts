import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeTyped } from '../codec/typed.ts';
import type { JsonObject } from '../codec/own-property.ts';
import { schemaOf } from '../schema/schema.ts';
import { compare } from './field-compare.ts';

const schema = schemaOf('', 'v1', 'Pod')!;
const pod = (conditions: object[]): JsonObject => decodeTyped(schema, { status: { conditions } }).object;
const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };
const probed = { ...ready, lastProbeTime: '2026-01-01T00:00:00Z' };
const ELEMENT = 'k:{"type":"Ready"}';

const conditionOf = (set: unknown): unknown =>
  (set as { 'f:status': { 'f:conditions': Record<string, unknown> } })['f:status']['f:conditions'][ELEMENT];

test('the writer of a new item owns its fields that Go prints as null', () => {
  const { changed } = compare(schema, pod([]), pod([ready]));
  assert.deepEqual(Object.keys(conditionOf(changed) as object).toSorted(), [
    '.',
    'f:lastProbeTime',
    'f:lastTransitionTime',
    'f:status',
    'f:type',
  ]);
});

test('a removed time becomes null: it counts as changed, not as removed', () => {
  const { changed, removed } = compare(schema, pod([probed]), pod([ready]));
  assert.deepEqual(conditionOf(changed), { 'f:lastProbeTime': {} });
  assert.equal(removed, undefined);
});
