/** The cache of referenced objects: one watch per object, for as long as a pod names it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { ConfigMaps, Secrets } from '../../api/gen/resources.ts';
import type { StatusError } from '../../api/status-error.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createFakeClient } from './client-fixture.ts';
import { createObjectCache } from './object-cache.ts';
import { podReferences, referenceKey } from './object-references.ts';

function podNaming(uid: string, ...names: readonly string[]): Pod {
  return {
    metadata: { name: uid, namespace: 'ns', uid },
    spec: { containers: [{ name: 'c', envFrom: names.map((name) => ({ configMapRef: { name } })) }] },
  };
}

function createFixture() {
  const platform = createSimPlatform();
  const client = createFakeClient();
  const cache = createObjectCache({ client, platform });
  const changes: string[] = [];
  cache.onChange((reference) => void changes.push(referenceKey(reference)));
  const put = (name: string, fields: object): void =>
    client.put(ConfigMaps, { metadata: { namespace: 'ns', name }, ...fields } as never);
  return { platform, client, cache, changes, put };
}

test('every place a pod can name an object', () => {
  const pod: Pod = {
    metadata: { namespace: 'ns' },
    spec: {
      imagePullSecrets: [{ name: 'pull' }],
      initContainers: [{ name: 'i', env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'init', key: 'k' } } }] }],
      containers: [
        {
          name: 'c',
          envFrom: [{ configMapRef: { name: 'all' } }, { secretRef: { name: 'allsec' } }],
          env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'one', key: 'k' } } }],
        },
      ],
      ephemeralContainers: [{ name: 'e', envFrom: [{ configMapRef: { name: 'all' } }] }],
      volumes: [
        { name: 'v', configMap: { name: 'vol' } },
        { name: 's', secret: { secretName: 'volsec' } },
        { name: 'p', projected: { sources: [{ configMap: { name: 'proj' } }, { secret: { name: 'projsec' } }] } },
      ],
    },
  };
  assert.deepEqual(podReferences(pod).map(referenceKey).sort(), [
    'ConfigMap/ns/all',
    'ConfigMap/ns/one',
    'ConfigMap/ns/proj',
    'ConfigMap/ns/vol',
    'Secret/ns/allsec',
    'Secret/ns/init',
    'Secret/ns/projsec',
    'Secret/ns/pull',
    'Secret/ns/volsec',
  ]);
});

test('pods share a watch; the last to go ends it; reads cost nothing once it has synced', async () => {
  const { platform, client, cache, put } = createFixture();
  put('a', { data: { k: '1' } });
  cache.registerPod(podNaming('p1', 'a'));
  cache.registerPod(podNaming('p2', 'a'));
  cache.registerPod(podNaming('p2', 'a'));
  await platform.clock.settle();
  assert.deepEqual([client.watching, cache.size], [1, 1]);
  const before = client.requests.length;
  assert.equal((await cache.get('ConfigMap', 'ns', 'a')).data!['k'], '1');
  assert.equal(client.requests.length, before);
  cache.unregisterPod('p1');
  await platform.clock.settle();
  assert.equal(client.watching, 1);
  cache.registerPod(podNaming('p2', 'b'));
  await platform.clock.settle();
  cache.unregisterPod('p2');
  await platform.clock.settle();
  assert.deepEqual([client.watching, cache.size], [0, 0]);
});

test('changes are reported once each; an immutable object is no longer watched', async () => {
  const { platform, client, cache, changes, put } = createFixture();
  cache.registerPod(podNaming('p1', 'a'));
  await platform.clock.settle();
  assert.deepEqual(changes, []);
  await assert.rejects(
    cache.get('ConfigMap', 'ns', 'a'),
    (error: StatusError) => error.reason === 'NotFound' && error.message === 'configmap "a" not found',
  );
  put('a', { data: { k: '1' } });
  await platform.clock.settle();
  put('a', { data: { k: '2' }, immutable: true });
  await platform.clock.settle();
  assert.deepEqual(changes, ['ConfigMap/ns/a', 'ConfigMap/ns/a']);
  assert.equal(client.watching, 0);
  assert.equal((await cache.get('ConfigMap', 'ns', 'a')).data!['k'], '2');
});

test('before its watch has synced an object is read directly, by all askers together', async () => {
  const { client, cache, platform } = createFixture();
  client.put(Secrets, { metadata: { namespace: 'ns', name: 's' }, data: {} } as never);
  cache.registerPod({
    metadata: { namespace: 'ns', uid: 'p' },
    spec: { containers: [], imagePullSecrets: [{ name: 's' }] },
  });
  await Promise.all([cache.get('Secret', 'ns', 's'), cache.get('Secret', 'ns', 's')]);
  assert.equal(client.requests.filter((request) => request === 'GET secrets/s').length, 1);
  await platform.clock.settle();
  cache.stop();
});

test('watches of thousands of objects of one pod begin in turns; one that is no longer referenced does not begin', async () => {
  const { platform, client, cache, put } = createFixture();
  const names = Array.from({ length: 1000 }, (_, at) => `m${at}`);
  for (const name of names) put(name, { data: {} });
  cache.registerPod(podNaming('a', ...names));
  const atOnce = client.requests.length;
  assert.ok(atOnce <= 16, `${atOnce} watches began at once`);
  cache.registerPod(podNaming('a', ...names.slice(0, 500)));
  await platform.clock.settle();
  assert.equal(client.watching, 500);
  cache.stop();
});
