import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allSteps } from '../../base/steps.ts';
import { type ForeignV2, mergeV2 as mergeSteps } from './merge-v2.ts';
import type { V2Document } from './v2.ts';

const mergeV2 = (mine: V2Document, foreign: readonly ForeignV2[]): V2Document => allSteps(mergeSteps(mine, foreign));

const ref = (name: string): object => ({ $ref: `#/definitions/${name}` });
const own = {
  swagger: '2.0',
  info: {},
  paths: { '/apis/mine/v1': { get: {} } },
  definitions: { Meta: { description: 'ours', properties: { name: { type: 'string' } } }, Time: { type: 'string' } },
};

test('selected paths are added with their definitions, and a definition whose name is taken is renamed in all references', () => {
  const document = {
    paths: {
      '/apis/fruit/v1/apples': { get: { schema: ref('AppleList') } },
      '/apis/fruit/v1': { get: {} },
      '/apis/fruit/v10/apples': { get: {} },
      '/healthz': {},
    },
    definitions: {
      AppleList: { properties: { items: { items: ref('Apple') } } },
      Apple: { properties: { metadata: ref('Meta'), time: ref('Time'), next: ref('Apple') } },
      Meta: { description: 'theirs', properties: { name: { type: 'string' } } },
      Time: { type: 'integer' },
      Unused: {},
    },
  };
  const before = structuredClone(own);
  const merged = mergeV2(own, [{ text: JSON.stringify(document), under: '/apis/fruit/v1' }]);
  assert.deepEqual(own, before);
  assert.deepEqual(Object.keys(merged.paths).sort(), ['/apis/fruit/v1', '/apis/fruit/v1/apples', '/apis/mine/v1']);
  assert.deepEqual(Object.keys(merged.definitions).sort(), ['Apple', 'AppleList', 'Meta', 'Time', 'Time_v2']);
  assert.deepEqual(merged.definitions['Apple'], {
    properties: { metadata: ref('Meta'), time: ref('Time_v2'), next: ref('Apple') },
  });
  assert.deepEqual(merged.definitions['Time'], { type: 'string' });
  assert.deepEqual(merged.definitions['Time_v2'], { type: 'integer' });
});

test('our own paths win, two servers share equal definitions, and a malformed document adds nothing', () => {
  const server = (type: string) => ({
    under: '/apis/mine',
    text: JSON.stringify({
      paths: { '/apis/mine/v1': { get: { schema: ref('Other') } }, [`/apis/mine/${type}`]: ref('Thing') },
      definitions: { Thing: { type } },
    }),
  });
  const merged = mergeV2(own, [server('x'), server('x'), server('y'), { under: '/apis', text: '{"paths":[]}' }]);
  assert.deepEqual(merged.paths['/apis/mine/v1'], { get: {} });
  assert.deepEqual([merged.definitions['Thing'], merged.definitions['Thing_v2']], [{ type: 'x' }, { type: 'y' }]);
  assert.deepEqual(merged.paths['/apis/mine/y'], ref('Thing_v2'));
});

test('names of inherited properties are ordinary names, and values that are no objects are skipped', () => {
  const text = `{"paths":{"/apis/x":{"a":{"$ref":"#/definitions/__proto__"}},"/apis/y":5},"definitions":{"__proto__":{"type":"string"},"b":null}}`;
  const merged = mergeV2(own, [{ text, under: '/apis' }]);
  assert.deepEqual(Object.keys(merged.definitions).sort(), ['Meta', 'Time', '__proto__']);
  assert.equal(Object.getPrototypeOf(merged.definitions), Object.prototype);
  assert.deepEqual(Object.keys(merged.paths).sort(), ['/apis/mine/v1', '/apis/x']);
});

test('documents beyond the limits are refused, and merging runs in steps', () => {
  const paths = (count: number): string =>
    `{"paths":{${Array.from({ length: count }, (_, i) => `"/apis/p${i}":{"get":{}}`).join(',')}}}`;
  assert.throws(() => mergeV2(own, [{ text: paths(20_001), under: '/apis' }]), /more than 20000 paths/);
  const steps = mergeSteps(own, [{ text: paths(10_000), under: '/apis' }]);
  let count = 0;
  while (steps.next().done !== true) count++;
  assert.ok(count > 10_000, String(count));
  const large = `{"paths":{"/apis/p":[${'[],'.repeat(30_000)}[]]},"definitions":{"d":{"x":[${'[],'.repeat(30_000)}[]]}}}`;
  assert.throws(() => mergeV2(own, [{ text: large, under: '/apis' }]), /limit is 100000 fields/);
});
