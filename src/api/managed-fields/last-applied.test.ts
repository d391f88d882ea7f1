import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../codec/json.ts';
import type { JsonObject } from '../codec/own-property.ts';
import { withLastApplied } from './last-applied.ts';

const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';
const annotated = (before: string): JsonObject => ({ metadata: { annotations: { [ANNOTATION]: before } } });
const textOf = (object: JsonObject): unknown =>
  ((object['metadata'] as JsonObject)['annotations'] as JsonObject)[ANNOTATION];

test('the annotation records the applied configuration without itself, with integers of any size', () => {
  const applied = parseJson('{"metadata":{"name":"a"},"spec":{"big":9223372036854775807}}').value as JsonObject;
  const told = '{"metadata":{"name":"a"},"spec":{"big":9223372036854775807}}\n';
  assert.equal(textOf(withLastApplied(annotated('{}'), applied)), told);
  const again = { ...applied, metadata: { name: 'a', annotations: { [ANNOTATION]: 'x' } } };
  assert.equal(textOf(withLastApplied(annotated('{}'), again)), told);
});

test('an object whose annotation is absent or empty gets none', () => {
  for (const object of [annotated(''), { metadata: {} }]) assert.equal(withLastApplied(object, {}), object);
});
