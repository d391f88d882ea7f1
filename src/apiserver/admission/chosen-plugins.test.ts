import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Namespace, Pod, Toleration } from '../../api/gen/core-v1.ts';
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import { ConfigMaps, Deployments, Namespaces, Pods } from '../../api/gen/resources.ts';
import type { AuthorizationAttributes } from '../authz/contract.ts';
import { createTestObjects } from '../authz/objects-fixture.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { readAdmissionConfig } from './admission-config.ts';
import { createNamespaceAutoProvision } from './namespace-auto-provision/namespace-auto-provision.ts';
import { createNamespaceExists } from './namespace-exists/namespace-exists.ts';
import { createOwnerReferencesPermissionEnforcement } from './owner-references-permission-enforcement/owner-references-permission-enforcement.ts';
import { createPodNodeSelector, labelsOf } from './pod-node-selector/pod-node-selector.ts';
import { createPodTolerationRestriction } from './pod-toleration-restriction/pod-toleration-restriction.ts';
import { allSteps } from '../../base/steps.ts';
import { areCovered, mergeTolerations } from './pod-toleration-restriction/tolerations.ts';
import { createPrivilegedContainers } from './privileged-containers/privileged-containers.ts';
import { admissionAttributesOf, admit, testingRegistry } from './admission-fixture.ts';

const namespace = (annotations: Record<string, string> = {}): Namespace => ({ metadata: { name: 'ns', annotations } });

function storeOf(...namespaces: Namespace[]): ObjectStore {
  const objects = createTestObjects();
  objects.put(Namespaces, ...namespaces);
  return objects.store;
}

const podOf = (spec: object = {}): Pod => ({
  metadata: { name: 'p', namespace: 'ns' },
  spec: { containers: [{ name: 'c' }], ...spec },
});

test('NamespaceAutoProvision', async () => {
  const made: Namespace[] = [];
  const store = {
    ...storeOf(namespace()),
    ensure: (_info: unknown, object: Namespace) => Promise.resolve(made.push(object)),
  } as unknown as ObjectStore;
  const plugin = createNamespaceAutoProvision(() => store);
  const map = (name: string) => ({ object: { metadata: { name: 'm', namespace: name } } });
  await admit(plugin, ConfigMaps, map('ns'));
  await admit(plugin, ConfigMaps, { ...map('dry'), dryRun: true });
  await admit(plugin, ConfigMaps, { ...map('updated'), operation: 'UPDATE' });
  await admit(plugin, Namespaces, { object: { metadata: { name: 'itself' } } });
  assert.equal(made.length, 0);
  await admit(plugin, ConfigMaps, map('new'));
  assert.deepEqual(
    [...made].map(({ metadata, spec }: Namespace) => [metadata.name, spec?.finalizers]),
    [['new', ['kubernetes']]],
  );
});

test('privileged containers, where they are not allowed', async () => {
  const plugin = createPrivilegedContainers();
  const yes = { securityContext: { privileged: true } };
  const pod = podOf({ containers: [{ name: 'c' }, { name: 'd', ...yes }], initContainers: [{ name: 'i', ...yes }] });
  await assert.rejects(admit(plugin, Pods, { object: pod }), {
    message:
      'Pod "p" is invalid: [spec.initContainers[0].securityContext.privileged: Forbidden: disallowed by cluster policy, spec.containers[1].securityContext.privileged: Forbidden: disallowed by cluster policy]',
  });
  const deployment = (spec?: object) => ({
    metadata: { name: 'd', namespace: 'ns' },
    spec: { selector: {}, template: { spec } },
  });
  const template = { containers: [{ name: 'c', ...yes }] };
  await assert.rejects(
    admit(plugin, Deployments, { object: deployment(template) as never }),
    /spec\.template\.spec\.containers\[0\]\.securityContext\.privileged: Forbidden/,
  );
  const ephemeral = { ...podOf(), spec: { ...podOf().spec, ephemeralContainers: [{ name: 'e', ...yes }] } } as Pod;
  const change = {
    operation: 'UPDATE',
    oldObject: podOf(),
    object: ephemeral,
    subresource: 'ephemeralcontainers',
  } as const;
  await assert.rejects(admit(plugin, Pods, change), /spec\.ephemeralContainers\[0\]/);
  // An existing pod may get labels, and a pod without a restricted field is admitted.
  await admit(plugin, Pods, { operation: 'UPDATE', oldObject: pod, object: { ...pod } });
  await admit(plugin, Pods, { object: podOf({ containers: [{ name: 'c', securityContext: { privileged: false } }] }) });
  await admit(plugin, Deployments, { object: deployment() as never });
  await admit(plugin, ConfigMaps, { object: pod });
});

test('NamespaceExists', async () => {
  const objects = createTestObjects();
  objects.put(Namespaces, namespace());
  objects.putFresh(Namespaces, { metadata: { name: 'fresh' } });
  const plugin = createNamespaceExists(() => objects.store);
  const map = (name: string) => ({ object: { metadata: { name: 'm', namespace: name } } });
  await admit(plugin, ConfigMaps, map('ns'));
  await admit(plugin, ConfigMaps, map('fresh'));
  for (const operation of ['CREATE', 'UPDATE', 'DELETE'] as const)
    await assert.rejects(admit(plugin, ConfigMaps, { ...map('gone'), operation }), /namespaces "gone" not found/);
});

test('PodNodeSelector', async (t) => {
  const selectors = new Map<string, Record<string, string>>([
    ['clusterDefaultNodeSelector', { zone: 'any' }],
    ['ns', { zone: 'any', pool: 'a', disk: 'ssd' }],
  ]);
  const demand = 'scheduler.alpha.kubernetes.io/node-selector';
  const conflict = /pod node label selector conflicts with its namespace node label selector/;
  const forbidden = /pod node label selector labels conflict with its namespace whitelist/;
  const cases: readonly (readonly [string, Record<string, string>, object | undefined, object | RegExp])[] = [
    ['default of the cluster', {}, undefined, { zone: 'any' }],
    ['the namespace demands', { [demand]: 'pool=a, disk=ssd' }, undefined, { pool: 'a', disk: 'ssd' }],
    ['merged with the pod’s', { [demand]: 'pool=a' }, { disk: 'ssd' }, { pool: 'a', disk: 'ssd' }],
    ['the pod wants another', { [demand]: 'pool=a' }, { pool: 'b' }, conflict],
    ['the pod wants what is not allowed', {}, { gpu: 'yes' }, forbidden],
    ['the namespace demands what is not allowed', { [demand]: 'pool=b' }, undefined, forbidden],
    ['nonsense', { [demand]: 'pool in (a)' }, undefined, /invalid selector/],
  ];
  for (const [name, annotations, nodeSelector, expected] of cases)
    await t.test(name, async () => {
      const plugin = createPodNodeSelector(() => storeOf(namespace(annotations)), selectors);
      const object = podOf(nodeSelector === undefined ? {} : { nodeSelector });
      if (expected instanceof RegExp) await assert.rejects(admit(plugin, Pods, { object }), expected);
      else {
        await admit(plugin, Pods, { object });
        assert.deepEqual(object.spec?.nodeSelector, expected);
      }
    });
  assert.deepEqual(
    [labelsOf(''), labelsOf('a=b'), labelsOf('a'), labelsOf('a==b')],
    [{}, { a: 'b' }, undefined, undefined],
  );
});

const key = (name: string, parts: Toleration = {}): Toleration => ({ key: name, operator: 'Exists', ...parts });

test('tolerations are merged without those that others cover', async (t) => {
  const cases: readonly (readonly [string, Toleration[], Toleration[], Toleration[]])[] = [
    ['different ones', [key('a')], [key('b')], [key('a'), key('b')]],
    ['equal ones', [key('a')], [key('a')], [key('a')]],
    ['one effect of all', [key('a', { effect: 'NoSchedule' })], [key('a')], [key('a')]],
    ['all keys', [key('a')], [{ operator: 'Exists' }], [{ operator: 'Exists' }]],
    [
      'a value of any',
      [{ key: 'a', operator: 'Equal', value: 'v' }],
      [key('a', { effect: 'NoSchedule' })],
      [{ key: 'a', operator: 'Equal', value: 'v' }, key('a', { effect: 'NoSchedule' })],
    ],
    [
      'less time',
      [key('a', { effect: 'NoExecute', tolerationSeconds: 60 })],
      [key('a', { effect: 'NoExecute', tolerationSeconds: 30 })],
      [key('a', { effect: 'NoExecute', tolerationSeconds: 60 })],
    ],
  ];
  for (const [name, first, second, expected] of cases)
    await t.test(name, () => assert.deepEqual(allSteps(mergeTolerations(first, second)), expected));
});

test('tens of thousands of tolerations are merged, and held against as many, in linear time', () => {
  const many = Array.from({ length: 30_000 }, (_, at) => key(`k${at}`, { effect: 'NoExecute', tolerationSeconds: at }));
  const longer = many.map((toleration) => ({ ...toleration, tolerationSeconds: 30_000 }));
  assert.deepEqual(allSteps(mergeTolerations(many, longer)), longer);
  assert.equal(allSteps(areCovered(many, longer)), true);
  assert.equal(allSteps(areCovered(longer, many)), false);
});

test('PodTolerationRestriction', async (t) => {
  const defaults = 'scheduler.alpha.kubernetes.io/defaultTolerations';
  const allowed = 'scheduler.alpha.kubernetes.io/tolerationsWhitelist';
  const text = (...tolerations: Toleration[]): string => JSON.stringify(tolerations);
  const burstable = { containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }] };
  const pressure = key('node.kubernetes.io/memory-pressure', { effect: 'NoSchedule' });
  const config = { default: [key('of-the-cluster')], whitelist: [] };
  const cases: readonly (readonly [string, Record<string, string>, object, Toleration[] | RegExp])[] = [
    ['the cluster’s', {}, {}, [key('of-the-cluster')]],
    ['the namespace’s', { [defaults]: text(key('a')) }, {}, [key('a')]],
    ['beside the pod’s', { [defaults]: text(key('a')) }, { tolerations: [key('b')] }, [key('a'), key('b')]],
    ['memory pressure', { [defaults]: '[]' }, burstable, [pressure]],
    ['allowed', { [defaults]: '', [allowed]: text(key('b')) }, { tolerations: [key('b')] }, [key('b')]],
    [
      'not allowed',
      { [defaults]: '', [allowed]: text(key('b')) },
      { tolerations: [key('c')] },
      /conflict with its namespace whitelist/,
    ],
    ['nonsense', { [defaults]: '{' }, {}, /is no list of tolerations/],
    ['an element that is none', { [defaults]: '["a"]' }, {}, /is no list of tolerations/],
    ['a key that is a number', { [defaults]: '[{"key": 1}]' }, {}, /is no list of tolerations/],
    ['null', { [defaults]: '[{"key": "a", "value": null, "operator": "Exists"}]' }, {}, [key('a')]],
  ];
  for (const [name, annotations, spec, expected] of cases)
    await t.test(name, async () => {
      const plugin = createPodTolerationRestriction(() => storeOf(namespace(annotations)), config);
      const object = podOf(spec);
      if (expected instanceof RegExp) await assert.rejects(admit(plugin, Pods, { object }), expected);
      else {
        await admit(plugin, Pods, { object });
        assert.deepEqual(object.spec?.tolerations, expected);
      }
    });
});

test('OwnerReferencesPermissionEnforcement', async (t) => {
  const owner = (blockOwnerDeletion?: boolean, kind = 'Deployment'): OwnerReference => ({
    apiVersion: 'apps/v1',
    kind,
    name: 'o',
    uid: 'u',
    ...(blockOwnerDeletion === undefined ? {} : { blockOwnerDeletion }),
  });
  const may =
    (...allowed: string[]) =>
    ({ verb, resource, subresource }: AuthorizationAttributes) => ({
      decision: allowed.includes(`${verb} ${resource}/${subresource}`) ? ('allow' as const) : ('noOpinion' as const),
      reason: '',
    });
  const noDelete = /cannot set an ownerRef on a resource you can't delete/;
  const noFinalizers =
    /cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on/;
  const cases: readonly (readonly [string, string[], OwnerReference[], OwnerReference[] | undefined, RegExp?])[] = [
    ['no owners', [], [], undefined],
    ['who may delete sets owners', ['delete configmaps/'], [owner()], undefined],
    ['who may not, does not', [], [owner()], undefined, noDelete],
    ['nor takes them away', [], [], [owner()], noDelete],
    ['what was there stays', [], [owner(true)], [owner(true)]],
    ['blocking needs finalizers', ['delete configmaps/'], [owner(true)], undefined, noFinalizers],
    ['and with them it goes', ['delete configmaps/', 'update deployments/finalizers'], [owner(true)], undefined],
    ['unblocking needs none', ['delete configmaps/'], [owner(false)], [owner(true)]],
    [
      'unknown kinds',
      ['delete configmaps/'],
      [owner(true, 'Other')],
      undefined,
      /cannot find RESTMapping for APIVersion apps\/v1 Kind Other/,
    ],
  ];
  for (const [name, allowed, owners, before, refused] of cases)
    await t.test(name, async () => {
      const plugin = createOwnerReferencesPermissionEnforcement({
        authorizer: { authorize: may(...allowed) },
        registry: testingRegistry(ConfigMaps, Deployments),
      });
      const object = { metadata: { name: 'm', namespace: 'ns', ownerReferences: owners } };
      const attributes = admissionAttributesOf(ConfigMaps, {
        object,
        ...(before === undefined
          ? {}
          : { operation: 'UPDATE', oldObject: { metadata: { ...object.metadata, ownerReferences: before } } }),
      });
      const outcome = Promise.resolve(plugin.validate!(attributes));
      await (refused === undefined ? outcome : assert.rejects(outcome, refused));
    });
});

test('configuration of PodNodeSelector and PodTolerationRestriction', async () => {
  const plugin = (name: string, configuration: object) => ({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AdmissionConfiguration',
    plugins: [{ name, configuration }],
  });
  const none = (): Promise<never> => Promise.reject(new Error('no files'));
  const read = (value: object) => readAdmissionConfig(value, none, none);
  const selectors = { podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: 'a=b', ns: '' } };
  assert.deepEqual(
    [...(await read(plugin('PodNodeSelector', selectors))).nodeSelectors!],
    [
      ['clusterDefaultNodeSelector', { a: 'b' }],
      ['ns', {}],
    ],
  );
  const bad = { podNodeSelectorPluginConfig: { ns: 'a' } };
  await assert.rejects(read(plugin('PodNodeSelector', bad)), /podNodeSelectorPluginConfig.ns: invalid selector: \[a\]/);
  const tolerations = { kind: 'Configuration', default: [key('a')] };
  assert.deepEqual((await read(plugin('PodTolerationRestriction', tolerations))).tolerations, {
    default: [key('a')],
    whitelist: [],
  });
});
