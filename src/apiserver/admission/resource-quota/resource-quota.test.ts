import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, ResourceQuota } from '../../../api/gen/core-v1.ts';
import type { ResourceClaim } from '../../../api/gen/resource-v1.ts';
import {
  ConfigMaps,
  PersistentVolumeClaims,
  Pods,
  ResourceClaims,
  ResourceQuotas,
} from '../../../api/gen/resources.ts';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import { createTestObjects } from '../../authz/objects-fixture.ts';
import { readAdmissionConfig } from '../admission-config.ts';
import { admissionAttributesOf, admit } from '../admission-fixture.ts';
import { createResourceQuota } from './resource-quota.ts';

const quota = (name: string, hard: Record<string, string>, spec: object = {}): ResourceQuota => ({
  metadata: { name, namespace: 'ns' },
  spec: { hard, ...spec },
  status: { hard, used: Object.fromEntries(Object.keys(hard).map((key) => [key, '0'])) },
});

const read = async (limitedResources: object[]) => {
  const configuration = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'ResourceQuotaConfiguration',
    limitedResources,
  };
  const config = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AdmissionConfiguration',
    plugins: [{ name: 'ResourceQuota', configuration }],
  };
  const none = (): Promise<never> => Promise.reject(new Error('no files'));
  return (await readAdmissionConfig(config, none, none)).limitedResources!;
};

async function setUp(limitedResources: object[], ...quotas: ResourceQuota[]) {
  const objects = createTestObjects();
  objects.put(ResourceQuotas, ...quotas);
  const limited = await read(limitedResources);
  return { objects, plugin: createResourceQuota(() => objects.store, new VirtualClock(), limited) };
}

const pod = (priorityClassName: string): Pod => ({
  metadata: { name: 'p', namespace: 'ns' },
  spec: { priorityClassName, containers: [{ name: 'c', image: 'i' }] },
});

test('a limited resource may be used where a quota covers it', async (t) => {
  const gold = {
    resource: 'persistentvolumeclaims',
    matchContains: ['gold.storageclass.storage.k8s.io/requests.storage'],
  };
  const high = { scopeName: 'PriorityClass', operator: 'In', values: ['high'] };
  const classes = { resource: 'pods', matchScopes: [high] };
  const claim = (storageClassName: string, storage = '1Gi') => ({
    metadata: { name: 'p', namespace: 'ns' },
    spec: { storageClassName, resources: { requests: { storage } } },
  });
  await t.test('a class of storage', async () => {
    const { plugin } = await setUp([gold]);
    await admit(plugin, PersistentVolumeClaims, { object: claim('silver') as never });
    await admit(plugin, PersistentVolumeClaims, { object: claim('gold', '0') as never });
    await assert.rejects(admit(plugin, PersistentVolumeClaims, { object: claim('gold') as never }), {
      message:
        'persistentvolumeclaims "p" is forbidden: insufficient quota to consume: gold.storageclass.storage.k8s.io/requests.storage',
    });
    const old = claim('gold') as never;
    const labelled = { ...claim('gold'), metadata: { name: 'p', namespace: 'ns', labels: { a: 'b' } } } as never;
    await admit(plugin, PersistentVolumeClaims, { operation: 'UPDATE', object: labelled, oldObject: old });
    const covered = await setUp([gold], quota('q', { 'gold.storageclass.storage.k8s.io/requests.storage': '2Gi' }));
    await admit(covered.plugin, PersistentVolumeClaims, { object: claim('gold') as never });
  });
  await t.test('a class of priority', async () => {
    const { plugin } = await setUp([classes], quota('other', { pods: '9' }));
    await admit(plugin, Pods, { object: pod('low') });
    await assert.rejects(admit(plugin, Pods, { object: pod('high') }), {
      message: 'pods "p" is forbidden: insufficient quota to match these scopes: [{PriorityClass In [high]}]',
    });
    const scoped = quota('q', { pods: '1' }, { scopeSelector: { matchExpressions: [high] } });
    const covered = await setUp([classes], scoped);
    await admit(covered.plugin, Pods, { object: pod('high') });
    assert.equal(covered.objects.store.get(ResourceQuotas, 'ns', 'q')?.status?.used?.['pods'], '1');
    await assert.rejects(admit(covered.plugin, Pods, { object: pod('high') }), /exceeded quota: q, requested: pods=1/);
  });
  await t.test('resources that no quota of their kind names are not limited', async () => {
    const limit = {
      resource: 'persistentvolumeclaims',
      matchContains: ['.storageclass.storage.k8s.io/requests.storage'],
    };
    const { plugin } = await setUp([limit], quota('q', { 'gold.storageclass.storage.k8s.io/requests.storage': '2Gi' }));
    await admit(plugin, PersistentVolumeClaims, { object: claim('gold') as never });
    const silver = claim('silver') as never;
    await assert.rejects(
      admit(plugin, PersistentVolumeClaims, { object: silver }),
      /insufficient quota to consume: silver\.storageclass\.storage\.k8s\.io\/requests\.storage$/,
    );
    await admit(plugin, PersistentVolumeClaims, { operation: 'UPDATE', object: silver, oldObject: silver });
    const devices = await setUp([classes], quota('gpus', { 'requests.nvidia.com/gpu': '1' }));
    await assert.rejects(
      admit(devices.plugin, Pods, { object: pod('high') }),
      /insufficient quota to match these scopes: \[\{PriorityClass In \[high\]\}\]$/,
    );
    await admit(devices.plugin, Pods, { object: pod('low') });
  });
  await t.test('nothing else', async () => {
    const { plugin } = await setUp([gold, classes]);
    await admit(plugin, ConfigMaps, { object: { metadata: { name: 'm', namespace: 'ns' } } });
  });
});

test('its configuration is checked', async () => {
  await assert.rejects(read([{}]), /limitedResources\[0\].resource: Required value/);
  await assert.rejects(
    read([{ resource: 'pods', matchScopes: [{ scopeName: 'PriorityClass' }] }]),
    /limitedResources\[0\].matchScopes\[0\]: scopeName and one of In, NotIn, Exists, DoesNotExist are required/,
  );
});

test('claims of devices count by class', async () => {
  const devices = (name: string): string => `${name}.deviceclass.resource.k8s.io/devices`;
  const hard = { 'count/resourceclaims.resource.k8s.io': '5', [devices('gpu')]: '40', [devices('nic')]: '9' };
  const { plugin, objects } = await setUp([], quota('q', hard));
  const claim: ResourceClaim = {
    metadata: { name: 'c', namespace: 'ns' },
    spec: {
      devices: {
        requests: [
          { name: 'a', exactly: { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 2 } },
          {
            name: 'b',
            firstAvailable: [
              { name: 'x', deviceClassName: 'gpu', count: 4 },
              { name: 'y', deviceClassName: 'gpu', count: 1 },
              { name: 'z', deviceClassName: 'nic' },
            ],
          },
        ],
      },
    },
  };
  await admit(plugin, ResourceClaims, { object: claim });
  const used = () => objects.store.get(ResourceQuotas, 'ns', 'q')?.status?.used;
  assert.deepEqual(used(), {
    'count/resourceclaims.resource.k8s.io': '1',
    [devices('gpu')]: '6',
    [devices('nic')]: '1',
  });
  const all: ResourceClaim = {
    metadata: { name: 'd', namespace: 'ns' },
    spec: { devices: { requests: [{ name: 'a', exactly: { deviceClassName: 'gpu', allocationMode: 'All' } }] } },
  };
  await admit(plugin, ResourceClaims, { object: all });
  assert.equal(used()?.[devices('gpu')], '38');
  await assert.rejects(
    admit(plugin, ResourceClaims, { object: claim }),
    /exceeded quota: q, requested: gpu\.deviceclass/,
  );
});

test('quotas of many names and scopes are evaluated in steps', async () => {
  const hard = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`requests.g.io/d${at}`, '5']));
  const scopeSelector = {
    matchExpressions: Array.from({ length: 3000 }, (_, at) => ({
      scopeName: 'PriorityClass',
      operator: 'NotIn',
      values: [`c${at}`],
    })),
  };
  const many = Array.from({ length: 10 }, (_, at) => quota(`q${at}`, { ...hard, pods: '1' }, { scopeSelector }));
  const { objects, plugin } = await setUp([], ...many);
  const attributes = admissionAttributesOf(Pods, { object: pod('low') });
  let pauses = 0;
  attributes.context.nextStep = () => void pauses++ as undefined;
  await plugin.validate?.(attributes);
  assert.ok(pauses >= 20, `${pauses} pauses`);
  const used = objects.store.list(ResourceQuotas, 'ns').map(({ status }) => status?.used?.['pods']);
  assert.deepEqual(used, Array(10).fill('1'));
  await assert.rejects(admit(plugin, Pods, { object: pod('low') }), /exceeded quota: q0, requested: pods=1/);
  await admit(plugin, Pods, { object: pod('c7') });
});
