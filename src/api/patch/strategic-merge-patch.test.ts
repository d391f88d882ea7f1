import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../codec/own-property.ts';
import { schemaOf } from '../schema/schema.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { freeze } from './patch-fixture.ts';
import { strategicMergePatch } from './strategic-merge-patch.ts';

const deployment = schemaOf('apps', 'v1', 'Deployment') as StructSchema;

const spec = (containers: unknown[], more: object = {}): JsonObject => ({
  spec: { template: { spec: { containers, ...more } } },
});

test('strategic merge patches change objects as upstream does', () => {
  const a = { name: 'a', image: 'a:1', env: [{ name: 'X', value: '1' }] };
  const b = { name: 'b', image: 'b:1' };
  const cases: [string, JsonObject, JsonObject, JsonObject][] = [
    [
      'lists of objects merge by key',
      spec([a, b]),
      spec([{ name: 'b', image: 'b:2' }]),
      spec([a, { name: 'b', image: 'b:2' }]),
    ],
    ['new elements go after what they follow', spec([a]), spec([{ name: 'n' }]), spec([{ name: 'n' }, a])],
    ['$patch: delete removes an element', spec([a, b]), spec([{ name: 'a', $patch: 'delete' }]), spec([b])],
    [
      '$patch: replace replaces the list',
      spec([a, b]),
      spec([{ $patch: 'replace' }, { name: 'c' }]),
      spec([{ name: 'c' }]),
    ],
    [
      '$patch: replace replaces an object',
      spec([a]),
      { spec: { $patch: 'replace', replicas: 1 } },
      { spec: { replicas: 1 } },
    ],
    ['null removes', spec([a]), spec([{ name: 'a', env: null }]), spec([{ name: 'a', image: 'a:1' }])],
    [
      'nested lists',
      spec([a]),
      spec([{ name: 'a', env: [{ name: 'Y', value: '2' }] }]),
      spec([
        {
          ...a,
          env: [
            { name: 'Y', value: '2' },
            { name: 'X', value: '1' },
          ],
        },
      ]),
    ],
    [
      '$setElementOrder orders what is there',
      spec([a, b]),
      { spec: { template: { spec: { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] } } } },
      spec([b, a]),
    ],
    [
      '$setElementOrder keeps server-only elements in place',
      spec([{ name: 's' }, a, b]),
      {
        spec: {
          template: {
            spec: {
              '$setElementOrder/containers': [{ name: 'b' }, { name: 'n' }, { name: 'a' }],
              containers: [{ name: 'n' }],
            },
          },
        },
      },
      spec([{ name: 's' }, b, { name: 'n' }, a]),
    ],
    [
      'primitive lists merge',
      { metadata: { finalizers: ['a'] } },
      { metadata: { finalizers: ['b', 'a'] } },
      { metadata: { finalizers: ['b', 'a'] } },
    ],
    [
      '$deleteFromPrimitiveList',
      { metadata: { finalizers: ['a', 'b'] } },
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } },
      { metadata: { finalizers: ['b'] } },
    ],
    [
      'what replaces an absent list is no element of it',
      { metadata: {} },
      { spec: { template: { spec: { volumes: [{ $patch: 'replace' }, { name: 'v' }] } } } },
      { metadata: {}, spec: { template: { spec: { volumes: [{ name: 'v' }] } } } },
    ],
    [
      '$retainKeys drops the others',
      { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } },
      { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } },
      { spec: { strategy: { type: 'Recreate' } } },
    ],
    [
      'a volume changes its source',
      spec([], { volumes: [{ name: 'v', emptyDir: {} }] }),
      spec([], { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x' } }] }),
      spec([], { volumes: [{ name: 'v', hostPath: { path: '/x' } }] }),
    ],
    [
      'atomic lists are replaced',
      spec([{ name: 'a', args: ['1', '2'] }]),
      spec([{ name: 'a', args: ['3'] }]),
      spec([{ name: 'a', args: ['3'] }]),
    ],
    [
      'what a $patch stands in is not set where nothing is yet',
      {},
      spec(
        [
          {
            name: 'a',
            env: [
              { name: 'X', $patch: 'delete' },
              { name: 'Y', value: null },
            ],
          },
        ],
        {
          securityContext: { $patch: 'replace', runAsUser: 1 },
          volumes: [{ name: 'v', $patch: 'merge' }],
        },
      ),
      spec([{ name: 'a', env: [{ name: 'Y' }] }], { volumes: [] }),
    ],
    [
      'directives within a new element of a list have no effect',
      spec([a]),
      spec([{ name: 'n', env: [{ name: 'X', $patch: 'delete' }], resources: { $retainKeys: ['limits'] } }]),
      spec([{ name: 'n', env: [{ name: 'X' }], resources: {} }, a]),
    ],
    [
      'directives within a list that is replaced have no effect',
      spec([], { tolerations: [{ key: 'a' }] }),
      spec([], { tolerations: [{ key: 'b', $patch: 'delete' }] }),
      spec([], { tolerations: [{ key: 'b' }] }),
    ],
    [
      'an element that is deleted and added at once loses its place',
      spec([a, b, { name: 'c' }]),
      spec([
        { name: 'c', $patch: 'delete' },
        { name: 'c', image: 'new' },
      ]),
      spec([{ name: 'c', image: 'new' }, a, b]),
    ],
    [
      'a value of another type takes the place of a list',
      { metadata: { finalizers: 'a' } },
      { metadata: { finalizers: ['b'] } },
      { metadata: { finalizers: ['b'] } },
    ],
    [
      '$deleteFromPrimitiveList of null removes the list',
      { metadata: { finalizers: ['a'] } },
      { metadata: { '$deleteFromPrimitiveList/finalizers': null } },
      { metadata: {} },
    ],
    [
      '$deleteFromPrimitiveList finds no list',
      { metadata: { labels: {} } },
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'], '$deleteFromPrimitiveList/labels': ['a'] } },
      { metadata: { labels: {} } },
    ],
    [
      '$deleteFromPrimitiveList of a list that is replaced as a whole',
      spec([{ name: 'a', args: ['1', '2'] }]),
      spec([{ name: 'a', '$deleteFromPrimitiveList/args': ['1'] }]),
      spec([{ name: 'a', args: ['2'] }]),
    ],
    [
      'an empty $setElementOrder says nothing of the patch',
      { metadata: { finalizers: ['a'] } },
      { metadata: { '$setElementOrder/finalizers': [], finalizers: ['b'] } },
      { metadata: { finalizers: ['a', 'b'] } },
    ],
    [
      '$setElementOrder of a list that a deletion takes from',
      { metadata: { finalizers: ['a', 'b', 'c'] } },
      { metadata: { '$setElementOrder/finalizers': ['c', 'a'], '$deleteFromPrimitiveList/finalizers': ['b'] } },
      { metadata: { finalizers: ['c', 'a'] } },
    ],
    [
      'a list that is replaced has elements of one key together',
      { metadata: { ownerReferences: [{ uid: 'x' }] } },
      { metadata: { ownerReferences: [{ uid: 'c' }, { uid: 'a' }, { uid: 'c' }, { $patch: 'replace' }] } },
      { metadata: { ownerReferences: [{ uid: 'c' }, { uid: 'c' }, { uid: 'a' }] } },
    ],
    [
      'a null where a list may stand meets nothing to merge with',
      { spec: { template: { spec: { containers: null } } } },
      { spec: { template: { spec: { containers: [{ image: 'i' }] } } } },
      { spec: { template: { spec: { containers: [{ image: 'i' }] } } } },
    ],
    [
      '$setElementOrder of a list that is new',
      spec([a]),
      spec([], { '$setElementOrder/volumes': [{ name: 'y' }, { name: 'x' }], volumes: [{ name: 'y' }, { name: 'x' }] }),
      spec([a], { volumes: [{ name: 'y' }, { name: 'x' }] }),
    ],
    [
      'fields that no schema has are left to the decoder',
      {},
      { spec: { nope: { a: 1 } } },
      { spec: { nope: { a: 1 } } },
    ],
    [
      'ports merge by containerPort',
      spec([{ name: 'a', ports: [{ containerPort: 80 }] }]),
      spec([{ name: 'a', ports: [{ containerPort: 80, name: 'web' }] }]),
      spec([{ name: 'a', ports: [{ containerPort: 80, name: 'web' }] }]),
    ],
  ];
  for (const [name, original, patch, want] of cases) {
    assert.deepEqual(strategicMergePatch(freeze(original), freeze(patch), deployment), want, name);
  }
});

test('strategic merge patches that upstream refuses are refused', () => {
  const cases: [JsonObject, JsonObject, string][] = [
    [
      { metadata: { finalizers: ['a'] } },
      { metadata: { '$setElementOrder/finalizers': ['a', 'b'], finalizers: ['b', 'a'] } },
      "the order in patch list:\n[b a]\n doesn't match $setElementOrder list:\n[a b]",
    ],
    [spec([{ name: 'a' }]), spec([{ image: 'x' }]), 'map: map[image:x] does not contain declared merge key: name'],
    [{}, { spec: { $patch: 5 } }, 'unknown patch type: %!s(int64=5) in map: map[$patch:5]'],
    [
      { spec: { strategy: { type: 'Recreate' } } },
      { spec: { strategy: { $retainKeys: ['type'], rollingUpdate: { maxSurge: 1 } } } },
      'invalid patch format of retainKeys',
    ],
    [
      spec([{ name: 'a' }]),
      spec([], { '$setElementOrder/containers': [{ nam: 'a' }] }),
      'map: map[nam:a] does not contain declared merge key: name',
    ],
    [{}, { spec: { $patch: 'merge' } }, 'unknown patch type: merge in map: map[$patch:merge]'],
    [
      spec([{ name: 'a' }]),
      spec([{ name: 'a', $patch: 'merge' }]),
      'merging lists cannot yet be specified in the patch',
    ],
    [
      { metadata: { finalizers: ['a'] } },
      { metadata: { finalizers: [1] } },
      'list element types are not identical: [[a] [1]]',
    ],
    [
      { metadata: { finalizers: ['a'] } },
      { metadata: { finalizers: [['b']] } },
      'list element types are not identical: [[a] [[b]]]',
    ],
    [{ metadata: { finalizers: [] } }, { metadata: { finalizers: [['b']] } }, 'lists of lists are not supported'],
    [
      { spec: { template: { spec: { containers: null } } } },
      { spec: { template: { spec: { '$setElementOrder/containers': [] } } } },
      'expected a []interface {}, but received a %!s(<nil>)',
    ],
    [
      { metadata: { ownerReferences: [{ kind: 'c' }] } },
      { metadata: { ownerReferences: [] } },
      'map: map[kind:c] does not contain declared merge key: uid',
    ],
    [
      { metadata: {} },
      { metadata: { finalizers: ['a', null], '$setElementOrder/finalizers': ['a', null] } },
      'list element types are not identical: [[] [a <nil>]]',
    ],
    [
      spec([{ name: 'a', resources: { limits: { cpu: { a: 1 } } } }]),
      spec([{ name: 'a', resources: { limits: { cpu: { a: 2 } } } }]),
      'merging an object in json but data type is not struct, instead is: map',
    ],
    [
      { metadata: { finalizers: [] } },
      { metadata: { '$setElementOrder/finalizers': [] } },
      'no elements in any of the given slices',
    ],
    [{}, { spec: { $patch: 'explode' } }, 'unknown patch type: explode in map: map[$patch:explode]'],
    [
      { spec: { nope: {} } },
      { spec: { nope: { a: 1 } } },
      'unable to find api field in struct DeploymentSpec for the json field "nope"',
    ],
  ];
  for (const [original, patch, message] of cases) {
    const start = Object.keys(original).length === 0 ? { spec: {} } : original;
    assert.throws(() => strategicMergePatch(start, patch, deployment), { name: 'PatchError', message });
  }
});
