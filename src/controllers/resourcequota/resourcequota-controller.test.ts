import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ConfigMaps,
  Deployments,
  DeviceClasses,
  LimitRanges,
  PersistentVolumeClaims,
  Pods,
  ResourceClaims,
  ResourceQuotas,
  Services,
} from '../../api/gen/resources.ts';
import type { PersistentVolumeClaim, Pod, ResourceQuota } from '../../api/gen/core-v1.ts';
import { createResourceQuotaController } from './resourcequota-controller.ts';
import { startServerHarness, type MoreControllers, type ServerHarness } from '../server-harness-fixture.ts';

type Resources = { requests?: Record<string, string>; limits?: Record<string, string> };
const pod = (name: string, resources: Resources = {}, spec: object = {}): object => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i', resources }], ...spec },
});
async function start(hard: Record<string, string>, spec: object = {}): Promise<ServerHarness> {
  const h = await startServerHarness([createResourceQuotaController]);
  await h.create(ResourceQuotas, { metadata: { name: 'q' }, spec: { hard, ...spec } });
  await h.clock.advance(1000);
  return h;
}
const used = async (h: ServerHarness): Promise<object> =>
  (await h.get<ResourceQuota>(ResourceQuotas, 'default/q')).status?.used ?? {};
const refusal = async (work: Promise<unknown>): Promise<string> =>
  await work.then(
    () => 'accepted',
    (error: Error) => error.message,
  );

describe('resource quota', () => {
  it('charges at creation and refuses an excess', async () => {
    const h = await start({ pods: '2', 'requests.cpu': '1' });
    assert.deepEqual(await used(h), { pods: '0', 'requests.cpu': '0' });
    await h.create(Pods, pod('a', { requests: { cpu: '600m' } }));
    assert.deepEqual(await used(h), { pods: '1', 'requests.cpu': '600m' });
    assert.equal(
      await refusal(h.create(Pods, pod('b', { requests: { cpu: '500m' } }))),
      'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1',
    );
    assert.equal(
      await refusal(h.create(Pods, pod('b'))),
      'pods "b" is forbidden: failed quota: q: must specify requests.cpu for: c',
    );
    assert.deepEqual(await used(h), { pods: '1', 'requests.cpu': '600m' });
    await h.stop();
  });

  it('is not exceeded by simultaneous requests', async () => {
    const h = await start({ pods: '5' });
    const results = await h.clock.drive(
      Promise.allSettled(
        Array.from({ length: 20 }, (_, i) =>
          h.admin.resource(Pods).create({ ...(pod('') as Pod), metadata: { namespace: 'default', name: `p${i}` } }),
        ),
      ),
    );
    assert.equal(results.filter((result) => result.status === 'fulfilled').length, 5);
    assert.deepEqual(await used(h), { pods: '5' });
    assert.equal((await h.list(Pods)).length, 5);
    await h.stop();
  });

  it('charges no quota for requests that another one refuses', async () => {
    const h = await start({ pods: '5' });
    await h.create(ResourceQuotas, { metadata: { name: 'tight' }, spec: { hard: { pods: '1' } } });
    await h.clock.advance(1000);
    await h.create(Pods, pod('a'));
    for (const name of ['b', 'c', 'd']) assert.match(await refusal(h.create(Pods, pod(name))), /exceeded quota: tight/);
    assert.deepEqual(await used(h), { pods: '1' });
    await h.stop();
  });

  it('is enforced with its last count', async () => {
    const h = await start({ pods: '1' });
    await h.create(Pods, pod('a'));
    const quota = await h.get<ResourceQuota>(ResourceQuotas, 'default/q');
    const hard = { pods: '2', configmaps: '0' };
    // No time passes, so the quota is not counted yet.
    await h.admin.resource(ResourceQuotas).update({ ...quota, spec: { hard } });
    const create = async (name: string): Promise<string> =>
      await refusal(h.admin.resource(Pods).create({ ...(pod(name) as Pod), metadata: { namespace: 'default', name } }));
    assert.match(await create('b'), /limited: pods=1$/);
    await h.clock.advance(1000);
    assert.equal(await create('b'), 'accepted');
    assert.match(await refusal(h.create(ConfigMaps, { metadata: { name: 'm' } })), /exceeded quota: q/);
    await h.stop();
  });

  it('charges a pod that a change puts into its scope', async () => {
    const h = await start({ pods: '1' }, { scopes: ['Terminating'] });
    const end = (name: string) =>
      refusal(h.update<Pod>(Pods, `default/${name}`, (draft) => void (draft.spec!.activeDeadlineSeconds = 9)));
    for (const name of ['a', 'b']) await h.create(Pods, pod(name));
    assert.deepEqual(await used(h), { pods: '0' });
    assert.equal(await end('a'), 'accepted');
    assert.deepEqual(await used(h), { pods: '1' });
    assert.match(await end('b'), /exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1$/);
    await h.stop();
  });

  it('names all containers without a value under quota, unless the pod-level resources have one', async () => {
    const h = await start({ 'requests.cpu': '2', 'limits.memory': '2Gi' });
    const silent = { containers: ['b', 'a'].map((name) => ({ name, image: 'i' })) };
    assert.equal(
      await refusal(h.create(Pods, pod('p', {}, silent))),
      'pods "p" is forbidden: failed quota: q: must specify limits.memory for: a,b; requests.cpu for: a,b',
    );
    await h.create(Pods, pod('p', {}, { ...silent, resources: { requests: { cpu: '1' } } }));
    assert.deepEqual(await used(h), { 'requests.cpu': '1', 'limits.memory': '0' });
    await h.stop();
  });

  it('counts what claims still use, in whole bytes', async () => {
    const h = await start({ 'requests.storage': '10Gi' });
    const storage = (quantity: string): object => ({
      metadata: { name: 'c' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: quantity } } },
    });
    await h.create(PersistentVolumeClaims, storage('1500m'));
    assert.deepEqual(await used(h), { 'requests.storage': '2' });
    const hold = (allocatedResources: Record<string, string>) =>
      h.update<PersistentVolumeClaim>(
        PersistentVolumeClaims,
        'default/c',
        (draft) => void (draft.status = { ...draft.status, allocatedResources }),
        'status',
      );
    await hold({ storage: '3Gi' });
    await h.clock.advance(1000);
    assert.deepEqual(await used(h), { 'requests.storage': '3Gi' });
    await h.stop();
  });

  it('counts the allocated resources of a pod until a resize is done', async () => {
    const h = await start({ 'requests.cpu': '9', 'limits.cpu': '9' });
    await h.create(Pods, pod('p', { requests: { cpu: '1' }, limits: { cpu: '2' } }));
    const resources = { requests: { cpu: '3' }, limits: { cpu: '4' } };
    await h.update<Pod>(
      Pods,
      'default/p',
      (draft) => {
        const status = { name: 'c', image: 'i', imageID: '', ready: true, restartCount: 0 };
        draft.status = { containerStatuses: [{ ...status, resources, allocatedResources: { cpu: '5' } }] };
      },
      'status',
    );
    await h.clock.advance(5 * 60_000);
    assert.deepEqual(await used(h), { 'requests.cpu': '5', 'limits.cpu': '4' });
    await h.stop();
  });

  it('releases deleted and ended objects', async () => {
    const h = await start({ pods: '2', 'count/pods': '3' });
    await h.create(Pods, pod('a'));
    await h.create(Pods, pod('b'));
    await h.finish(await h.get(Pods, 'default/a'), 'Succeeded');
    await h.clock.advance(1000);
    assert.deepEqual(await used(h), { pods: '1', 'count/pods': '2' });
    await h.remove(Pods, 'default/a');
    await h.clock.advance(1000);
    assert.deepEqual(await used(h), { pods: '1', 'count/pods': '1' });
    await h.stop();
  });

  it('corrects the charge of a failed request at the next count', async () => {
    const h = await start({ configmaps: '10' });
    await h.create(ConfigMaps, { metadata: { name: 'c' } });
    assert.match(await refusal(h.create(ConfigMaps, { metadata: { name: 'c' } })), /already exists/);
    assert.deepEqual(await used(h), { configmaps: '2' });
    await h.clock.advance(5 * 60_000);
    assert.deepEqual(await used(h), { configmaps: '1' });
    await h.stop();
  });

  it('counts existing objects, and any kind by count/', async () => {
    const h = await startServerHarness([createResourceQuotaController]);
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    await h.create(Deployments, { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template } });
    await h.create(ResourceQuotas, { metadata: { name: 'q' }, spec: { hard: { 'count/deployments.apps': '1' } } });
    await h.clock.advance(1000);
    assert.deepEqual(await used(h), { 'count/deployments.apps': '1' });
    const second = h.create(Deployments, {
      metadata: { name: 'e' },
      spec: { selector: { matchLabels: { a: 'b' } }, template },
    });
    assert.match(
      await refusal(second),
      /^deployments.apps "e" is forbidden: exceeded quota: q, requested: count\/deployments.apps=1, used: count\/deployments.apps=1, limited: count\/deployments.apps=1$/,
    );
    await h.remove(Deployments, 'default/d');
    await h.clock.advance(1000);
    assert.deepEqual(await used(h), { 'count/deployments.apps': '0' });
    await h.stop();
  });

  it('counts devices once: by their pod or by its claim, charged and counted alike', async () => {
    const hard = {
      'requests.example.com/gpu': '3',
      'requests.deviceclass.resource.kubernetes.io/gpu': '9',
      'gpu.deviceclass.resource.k8s.io/devices': '9',
    };
    const h = await start(hard);
    await h.create(DeviceClasses, { metadata: { name: 'gpu' }, spec: { extendedResourceName: 'example.com/gpu' } });
    await h.clock.advance(1000);
    const claim = (name: string, count: number, metadata: object = {}): object => ({
      metadata: { name, ...metadata },
      spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu', count } }] } },
    });
    const gpus = { 'example.com/gpu': '2' };
    const { metadata } = await h.create<Pod>(Pods, pod('a', { requests: gpus, limits: gpus }));
    const ofPod = {
      annotations: { 'resource.kubernetes.io/extended-resource-claim': 'true' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'a', uid: metadata.uid, controller: true }],
    };
    await h.create(ResourceClaims, claim('a', 2, ofPod));
    await h.create(ResourceClaims, claim('b', 1));
    const counted = {
      'requests.example.com/gpu': '3',
      'requests.deviceclass.resource.kubernetes.io/gpu': '3',
      'gpu.deviceclass.resource.k8s.io/devices': '3',
    };
    assert.deepEqual(await used(h), counted);
    assert.match(
      await refusal(h.create(ResourceClaims, claim('c', 1))),
      /exceeded quota: q, requested: requests\.example/,
    );
    await h.create(ResourceQuotas, { metadata: { name: 'later' }, spec: { hard } });
    await h.clock.advance(1000);
    assert.deepEqual((await h.get<ResourceQuota>(ResourceQuotas, 'default/later')).status?.used, counted);
    await h.stop();
  });

  it('does not follow pods for a quota that only counts claims of devices', async () => {
    const h = await startServerHarness([]);
    const paths: string[] = [];
    const through: MoreControllers['through'] = (handler) => (request) => {
      paths.push(request.path);
      return handler(request);
    };
    h.startThrough({ factories: [createResourceQuotaController], through });
    const count = 'count/resourceclaims.resource.k8s.io';
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true };
    const annotations = { 'resource.kubernetes.io/extended-resource-claim': 'true' };
    await h.create(ResourceClaims, { metadata: { name: 'c', annotations, ownerReferences: [owner] }, spec: {} });
    await h.create(ResourceQuotas, { metadata: { name: 'q' }, spec: { hard: { [count]: '9' } } });
    await h.clock.advance(1000);
    assert.deepEqual(await used(h), { [count]: '1' });
    // Begins to watch whatever has been made and not started.
    await h.create(ResourceQuotas, { metadata: { name: 'next' }, spec: { hard: { configmaps: '9' } } });
    await h.clock.advance(1000);
    const followed = (resource: string): boolean => paths.some((path) => path.endsWith(`/${resource}`));
    assert.deepEqual(['resourceclaims', 'configmaps', 'pods'].map(followed), [true, true, false]);
    await h.stop();
  });

  it('counts services by type, and claims by class', async () => {
    const h = await start({
      services: '5',
      'services.nodeports': '2',
      'services.loadbalancers': '1',
      'requests.storage': '10Gi',
      'fast.storageclass.storage.k8s.io/requests.storage': '5Gi',
    });
    await h.create(Services, {
      metadata: { name: 's' },
      spec: {
        type: 'NodePort',
        selector: { a: 'b' },
        ports: [
          { name: 'a', port: 1 },
          { name: 'b', port: 2 },
        ],
      },
    });
    const claim = (name: string, storage: string): object => ({
      metadata: { name },
      spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'fast', resources: { requests: { storage } } },
    });
    await h.create(PersistentVolumeClaims, claim('a', '3Gi'));
    assert.match(
      await refusal(h.create(PersistentVolumeClaims, claim('b', '3Gi'))),
      /requested: fast.storageclass.storage.k8s.io\/requests.storage=3Gi, used: fast.*=3Gi, limited: fast.*=5Gi$/,
    );
    // The kubernetes service counts as well.
    assert.deepEqual(await used(h), {
      services: '2',
      'services.nodeports': '2',
      'services.loadbalancers': '0',
      'requests.storage': '3Gi',
      'fast.storageclass.storage.k8s.io/requests.storage': '3Gi',
    });
    await h.stop();
  });

  const scopes: [scopes: string[], spec: object, resources: Resources, counted: boolean][] = [
    [['BestEffort'], {}, {}, true],
    [['BestEffort'], {}, { requests: { cpu: '1' } }, false],
    [['NotBestEffort'], {}, { requests: { cpu: '1' } }, true],
    [['Terminating'], { activeDeadlineSeconds: 10 }, {}, true],
    [['Terminating'], {}, {}, false],
    [['NotTerminating', 'BestEffort'], {}, {}, true],
  ];
  for (const [names, spec, resources, counted] of scopes) {
    it(`${counted ? 'counts' : 'does not count'} ${JSON.stringify({ spec, resources })} in ${names.join(' and ')}`, async () => {
      const h = await start({ pods: '5' }, { scopes: names });
      await h.create(Pods, pod('a', resources, spec));
      assert.deepEqual(await used(h), { pods: counted ? '1' : '0' });
      await h.stop();
    });
  }
});

describe('limit ranger', () => {
  const range = (limits: object[]): object => ({ metadata: { name: 'l' }, spec: { limits } });

  it('sets missing values of containers and reports that', async () => {
    const h = await startServerHarness([]);
    await h.create(
      LimitRanges,
      range([
        {
          type: 'Container',
          default: { cpu: '500m', memory: '1Gi' },
          defaultRequest: { cpu: '100m', memory: '256Mi' },
        },
      ]),
    );
    const made = await h.create<Pod>(Pods, pod('a', { requests: { cpu: '200m' } }));
    assert.deepEqual(made.spec?.containers[0]?.resources, {
      requests: { cpu: '200m', memory: '256Mi' },
      limits: { cpu: '500m', memory: '1Gi' },
    });
    assert.equal(
      made.metadata.annotations?.['kubernetes.io/limit-ranger'],
      'LimitRanger plugin set: memory request for container c; cpu, memory limit for container c',
    );
    await h.stop();
  });

  const cases: [item: object, resources: Resources, message: string][] = [
    [
      { type: 'Container', min: { cpu: '100m' }, defaultRequest: { cpu: '100m' } },
      { requests: { cpu: '50m' } },
      'minimum cpu usage per Container is 100m, but request is 50m',
    ],
    [
      { type: 'Container', max: { cpu: '1' } },
      { limits: { cpu: '2' } },
      'maximum cpu usage per Container is 1, but limit is 2',
    ],
    [{ type: 'Pod', max: { memory: '1Gi' } }, {}, 'maximum memory usage per Pod is 1Gi.  No limit is specified'],
    [
      { type: 'Container', maxLimitRequestRatio: { cpu: '2' } },
      { requests: { cpu: '1' }, limits: { cpu: '4' } },
      'cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000',
    ],
  ];
  for (const [item, resources, message] of cases) {
    it(`refuses: ${message}`, async () => {
      const h = await startServerHarness([]);
      await h.create(LimitRanges, range([item]));
      assert.equal(await refusal(h.create(Pods, pod('a', resources))), `pods "a" is forbidden: ${message}`);
      await h.stop();
    });
  }
});
