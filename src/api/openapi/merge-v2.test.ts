import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeV2 } from './merge-v2.ts';

const ref = (name: string): object => ({ $ref: `#/definitions/${name}` });
const own = {
  swagger: '2.0',
  info: {},
  paths: { '/apis/mine/v1': { get: {} } },
  definitions: { Meta: { description: 'ours', properties: { name: { type: 'string' } } }, Time: { type: 'string' } },
};

test('wanted paths come with the definitions they need; another of the same name is renamed wherever it is meant', () => {
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
  const merged = mergeV2(own, [{ document, under: '/apis/fruit/v1' }]);
  assert.deepEqual(own, before);
  assert.deepEqual(Object.keys(merged.paths).sort(), ['/apis/fruit/v1', '/apis/fruit/v1/apples', '/apis/mine/v1']);
  assert.deepEqual(Object.keys(merged.definitions).sort(), ['Apple', 'AppleList', 'Meta', 'Time', 'Time_v2']);
  assert.deepEqual(merged.definitions['Apple'], {
    properties: { metadata: ref('Meta'), time: ref('Time_v2'), next: ref('Apple') },
  });
  assert.deepEqual(merged.definitions['Time'], { type: 'string' });
  assert.deepEqual(merged.definitions['Time_v2'], { type: 'integer' });
});

test('our paths stay ours; two servers share equal definitions; nonsense brings nothing', () => {
  const server = (type: string) => ({
    under: '/apis/mine',
    document: {
      paths: { '/apis/mine/v1': { get: { schema: ref('Other') } }, [`/apis/mine/${type}`]: ref('Thing') },
      definitions: { Thing: { type } },
    },
  });
  const merged = mergeV2(own, [server('x'), server('x'), server('y'), { under: '/apis', document: { paths: [] } }]);
  assert.deepEqual(merged.paths['/apis/mine/v1'], { get: {} });
  assert.deepEqual([merged.definitions['Thing'], merged.definitions['Thing_v2']], [{ type: 'x' }, { type: 'y' }]);
  assert.deepEqual(merged.paths['/apis/mine/y'], ref('Thing_v2'));
});
