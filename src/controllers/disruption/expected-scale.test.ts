import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReplicaSets, ReplicationControllers, StatefulSets } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { stored } from '../../api/stored-fixture.ts';
import type { Stored } from '../../api/object.ts';
import type { Informer } from '../../client/informer.ts';
import { expectedScale, type ScaleDeps } from './expected-scale.ts';

const owners = [ReplicaSets, ReplicationControllers, StatefulSets].map((info) => ({
  info,
  get: () => ({ metadata: { name: 'o', namespace: 'default', uid: 'u' }, spec: { replicas: 7 } }),
})) as unknown as ScaleDeps['owners'] & readonly Informer<never>[];
const client = {
  resource: () => ({}),
  raw: () => Promise.reject(new Error('asked the server')),
} as unknown as ScaleDeps['client'];

for (const [apiVersion, kind, isKnown] of [
  ['apps/v1', 'ReplicaSet', true],
  ['apps/v1beta2', 'ReplicaSet', true],
  ['extensions/v1beta1', 'ReplicaSet', true],
  ['example.com/v1', 'ReplicaSet', false],
  ['apps/v1beta1', 'StatefulSet', true],
  ['extensions/v1beta1', 'StatefulSet', false],
  ['v1', 'ReplicationController', true],
  ['apps/v1', 'ReplicationController', false],
] as const)
  test(`an owner of ${apiVersion}, ${kind}, is ${isKnown ? '' : 'not '}read from the informers`, async () => {
    const pod: Stored<Pod> = stored({
      metadata: {
        name: 'p',
        namespace: 'default',
        ownerReferences: [{ apiVersion, kind, name: 'o', uid: 'u', controller: true }],
      },
    });
    const asked = expectedScale({ client, owners }, [pod], new AbortController().signal);
    if (isKnown) assert.deepEqual(await asked, { expected: 7, unmanaged: [] });
    else await assert.rejects(asked, /asked the server/);
  });
