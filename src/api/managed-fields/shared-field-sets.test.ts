import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FieldNode } from './field-set.ts';
import { withSharedParts } from './shared-field-sets.ts';

const podSet = (ip: string): FieldNode => ({
  'f:status': { 'f:phase': {}, 'f:podIPs': { '.': {}, [`k:{"ip":"${ip}"}`]: { '.': {}, 'f:ip': {} } } },
});

test('an equal set is replaced by the earlier one', () => {
  const first = withSharedParts('equal', podSet('10.0.0.1'));
  assert.equal(withSharedParts('equal', podSet('10.0.0.1')), first);
});

test('a set that differs in one place shares its other parts and keeps its content', () => {
  const first = withSharedParts('different', podSet('10.0.0.1'));
  const second = withSharedParts('different', podSet('10.0.0.2'));
  assert.equal(JSON.stringify(second), JSON.stringify(podSet('10.0.0.2')));
  assert.equal(JSON.stringify(first), JSON.stringify(podSet('10.0.0.1')));
  assert.equal(second['f:status']!['f:phase'], first['f:status']!['f:phase']);
});

test('a set in another order is not shared', () => {
  const first = { 'f:spec': { 'f:a': { 'f:x': {}, 'f:y': {} } } };
  const second = { 'f:spec': { 'f:a': { 'f:y': {}, 'f:x': {} } } };
  withSharedParts('order', first);
  assert.equal(JSON.stringify(withSharedParts('order', second)), JSON.stringify(second));
});

test('names of inherited properties are ordinary elements', () => {
  const set = (): FieldNode => JSON.parse('{"f:spec":{"__proto__":{"f:x":{}},"constructor":{"f:y":{}}}}') as FieldNode;
  withSharedParts('prototypes', set());
  assert.equal(JSON.stringify(withSharedParts('prototypes', set())), JSON.stringify(set()));
});
