import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  Namespace,
  PersistentVolumeClaim,
  Pod,
  PodSpec,
  ServiceAccount,
  Toleration,
} from '../../api/gen/core-v1.ts';
import {
  ConfigMaps,
  LocalSubjectAccessReviews,
  Namespaces,
  Nodes,
  PersistentVolumeClaims,
  Pods,
  PriorityClasses,
  ServiceAccounts,
  StorageClasses,
} from '../../api/gen/resources.ts';
import type { PriorityClass } from '../../api/gen/scheduling-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { StatusError } from '../../api/status-error.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { createTestObjects } from '../authz/objects-fixture.ts';
import { createDefaultStorageClass } from './default-storage-class/default-storage-class.ts';
import { createDefaultTolerationSeconds } from './default-toleration-seconds/default-toleration-seconds.ts';
import { createNamespaceLifecycle } from './namespace-lifecycle/namespace-lifecycle.ts';
import { createPriority } from './priority/priority.ts';
import { createServiceAccount } from './service-account/service-account.ts';
import { createTaintNodesByCondition } from './taint-nodes-by-condition/taint-nodes-by-condition.ts';
import { admit } from './admission-fixture.ts';

const podOf = (spec: Partial<PodSpec> = {}, metadata: object = {}): Pod => ({
  metadata: { name: 'p', namespace: 'ns', ...metadata },
  spec: { containers: [{ name: 'c' }], ...spec },
});

test('NamespaceLifecycle', async (t) => {
  const objects = createTestObjects();
  const gone: Namespace = {
    metadata: { name: 'gone', deletionTimestamp: '2026-01-01T00:00:00Z' },
    status: { phase: 'Terminating' },
  };
  objects.put(Namespaces, { metadata: { name: 'ns' } }, gone);
  objects.putFresh(Namespaces, { metadata: { name: 'new' } });
  const plugin = createNamespaceLifecycle(() => objects.store);
  const map = (namespace: string): KubernetesObject => ({ metadata: { name: 'm', namespace } });
  await t.test('a living namespace', () => admit(plugin, ConfigMaps, { object: map('ns') }));
  await t.test('a namespace that is only in the store yet', () => admit(plugin, ConfigMaps, { object: map('new') }));
  await t.test('none', () =>
    assert.rejects(admit(plugin, ConfigMaps, { object: map('none') }), { message: 'namespaces "none" not found' }),
  );
  await t.test('a terminating namespace admits no new objects', () =>
    assert.rejects(admit(plugin, ConfigMaps, { object: map('gone') }), (error: StatusError) => {
      assert.equal(
        error.message,
        'configmaps "m" is forbidden: unable to create new content in namespace gone because it is being terminated',
      );
      assert.deepEqual(error.status.details?.causes, [
        { reason: 'NamespaceTerminating', message: 'namespace gone is being terminated', field: 'metadata.namespace' },
      ]);
      return true;
    }),
  );
  await t.test('existing objects may be updated and deleted', async () => {
    await admit(plugin, ConfigMaps, { operation: 'UPDATE', object: map('gone'), oldObject: map('gone') });
    await admit(plugin, ConfigMaps, { operation: 'DELETE', oldObject: map('gone') });
  });
  await t.test('reviews name any namespace', () => admit(plugin, LocalSubjectAccessReviews, { object: map('none') }));
  for (const name of ['default', 'kube-system', 'kube-public']) {
    await t.test(`${name} stays`, () =>
      assert.rejects(admit(plugin, Namespaces, { operation: 'DELETE', oldObject: { metadata: { name } } }), {
        message: `namespaces "${name}" is forbidden: this namespace may not be deleted`,
      }),
    );
  }
  await t.test('others go', () =>
    admit(plugin, Namespaces, { operation: 'DELETE', oldObject: { metadata: { name: 'kube-node-lease' } } }),
  );
});

test('ServiceAccount', async (t) => {
  const account: ServiceAccount = {
    metadata: { name: 'default', namespace: 'ns' },
    imagePullSecrets: [{ name: 'pull' }],
  };
  const run = async (pod: Pod, change: Partial<ServiceAccount> = {}): Promise<PodSpec> => {
    const objects = createTestObjects();
    objects.put(ServiceAccounts, { ...account, ...change });
    await admit(
      createServiceAccount(() => objects.store, createSeededRandom(1)),
      Pods,
      { object: pod },
    );
    return pod.spec as PodSpec;
  };
  await t.test('default account, token volume in every container', async () => {
    const spec = await run(podOf({ initContainers: [{ name: 'i' }] }));
    assert.equal(spec.serviceAccountName, 'default');
    assert.equal(spec.serviceAccount, 'default');
    assert.deepEqual(spec.imagePullSecrets, [{ name: 'pull' }]);
    const name = spec.volumes?.[0]?.name ?? '';
    assert.match(name, /^kube-api-access-[a-z0-9]{5}$/);
    const mount = { name, readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' };
    for (const container of [...(spec.initContainers ?? []), ...spec.containers])
      assert.deepEqual(container.volumeMounts, [mount]);
    assert.deepEqual(spec.volumes, [
      {
        name,
        projected: {
          defaultMode: 420,
          sources: [
            { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
            { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
            {
              downwardAPI: {
                items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
              },
            },
          ],
        },
      },
    ]);
  });
  await t.test('what the volume is made from is the same for all, and none may change it', async () => {
    const [one, other] = [await run(podOf()), await run(podOf())].map(
      ({ volumes }) => volumes![0]!.projected!.sources!,
    );
    assert.equal(one![1], other![1]);
    assert.throws(() => one![1]!.configMap!.items!.pop(), TypeError);
  });
  const own = { name: 'x', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' };
  const mounts: readonly [string, Partial<PodSpec>, Partial<ServiceAccount>, number][] = [
    ['not wanted by the account', {}, { automountServiceAccountToken: false }, 0],
    ['not wanted by the pod', { automountServiceAccountToken: false }, {}, 0],
    [
      'the pod overrules the account',
      { automountServiceAccountToken: true },
      { automountServiceAccountToken: false },
      1,
    ],
    ['mounted already', { containers: [{ name: 'c', volumeMounts: [own] }] }, {}, 0],
  ];
  for (const [name, spec, change, volumes] of mounts)
    await t.test(`token ${name}`, async () =>
      assert.equal((await run(podOf(spec), change)).volumes?.length ?? 0, volumes),
    );
  await t.test('own pull secrets stay', async () =>
    assert.deepEqual((await run(podOf({ imagePullSecrets: [{ name: 'mine' }] }))).imagePullSecrets, [{ name: 'mine' }]),
  );
  await t.test('an unknown service account', () =>
    assert.rejects(run(podOf({ serviceAccountName: 'x' })), {
      message: 'pods "p" is forbidden: error looking up service account ns/x: serviceaccount "x" not found',
    }),
  );
  const mirror = { annotations: { 'kubernetes.io/config.mirror': 'h' } };
  await t.test('a mirror pod gets nothing', async () =>
    assert.equal((await run(podOf({}, mirror))).serviceAccountName, undefined),
  );
  const mirrors: readonly [Partial<PodSpec>, string][] = [
    [{ serviceAccountName: 'x' }, 'a mirror pod may not reference service accounts'],
    [
      { containers: [{ name: 'c', env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }] },
      'a mirror pod may not reference secrets',
    ],
    [
      { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] },
      'a mirror pod may not use ServiceAccountToken volume projections',
    ],
  ];
  for (const [spec, problem] of mirrors)
    await t.test(problem, () =>
      assert.rejects(run(podOf(spec, mirror)), { message: `pods "p" is forbidden: ${problem}` }),
    );
});

test('Priority', async (t) => {
  const classes: PriorityClass[] = [
    { metadata: { name: 'high' }, value: 100, preemptionPolicy: 'Never' },
    { metadata: { name: 'usual' }, value: 7, globalDefault: true },
    { metadata: { name: 'odd' }, value: 5, globalDefault: true },
  ];
  const run = async (spec: Partial<PodSpec>, known = classes): Promise<PodSpec> => {
    const objects = createTestObjects();
    objects.put(PriorityClasses, ...known);
    const pod = podOf(spec);
    await admit(
      createPriority(() => objects.store),
      Pods,
      { object: pod },
    );
    return pod.spec as PodSpec;
  };
  const resolved: readonly [string, Partial<PodSpec>, PriorityClass[], unknown[]][] = [
    ['by class', { priorityClassName: 'high' }, classes, ['high', 100, 'Never']],
    ['by the smallest default', {}, classes, ['odd', 5, 'PreemptLowerPriority']],
    ['without any default', {}, [], [undefined, 0, 'PreemptLowerPriority']],
    ['the right number said', { priorityClassName: 'high', priority: 100 }, classes, ['high', 100, 'Never']],
  ];
  for (const [name, spec, known, wanted] of resolved)
    await t.test(name, async () => {
      const got = await run(spec, known);
      assert.deepEqual([got.priorityClassName, got.priority, got.preemptionPolicy], wanted);
    });
  const refused: readonly [Partial<PodSpec>, string][] = [
    [{ priorityClassName: 'none' }, 'no PriorityClass with name none was found'],
    [
      { priorityClassName: 'high', priority: 3 },
      'the integer value of priority (3) must not be provided in pod spec; priority admission controller computed 100 from the given PriorityClass name',
    ],
    [
      { priorityClassName: 'high', preemptionPolicy: 'PreemptLowerPriority' },
      'the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority admission controller computed Never from the given PriorityClass name',
    ],
  ];
  for (const [spec, problem] of refused)
    await t.test(problem, () => assert.rejects(run(spec), { message: `pods "p" is forbidden: ${problem}` }));
  await t.test('one default only', async () => {
    const objects = createTestObjects();
    objects.put(PriorityClasses, classes[1] as PriorityClass);
    const plugin = createPriority(() => objects.store);
    await assert.rejects(
      admit(plugin, PriorityClasses, { object: { metadata: { name: 'b' }, globalDefault: true } as KubernetesObject }),
      {
        message:
          'priorityclasses.scheduling.k8s.io "b" is forbidden: PriorityClass usual is already marked as default. Only one default can exist',
      },
    );
    await admit(plugin, PriorityClasses, {
      operation: 'UPDATE',
      object: classes[1] as PriorityClass,
      oldObject: classes[1] as PriorityClass,
    });
  });
});

test('DefaultTolerationSeconds', async (t) => {
  const key = (name: string): string => `node.kubernetes.io/${name}`;
  const cases: readonly [string, Toleration[], string[]][] = [
    ['none', [], ['not-ready', 'unreachable']],
    ['one', [{ key: key('not-ready'), operator: 'Exists', effect: 'NoExecute' }], ['unreachable']],
    [
      'of another effect',
      [{ key: key('not-ready'), operator: 'Exists', effect: 'NoSchedule' }],
      ['not-ready', 'unreachable'],
    ],
    ['everything', [{ operator: 'Exists' }], []],
  ];
  for (const [name, tolerations, added] of cases)
    await t.test(name, async () => {
      const pod = podOf({ tolerations });
      await admit(createDefaultTolerationSeconds(), Pods, { object: pod });
      assert.deepEqual(pod.spec?.tolerations, [
        ...tolerations,
        ...added.map((a) => ({ key: key(a), operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 })),
      ]);
    });
  await t.test('the same for all, that none may change', async () => {
    const plugin = createDefaultTolerationSeconds();
    const pods = [podOf(), podOf()];
    for (const pod of pods) await admit(plugin, Pods, { object: pod });
    const [one, other] = pods.map((pod) => pod.spec!.tolerations!);
    assert.equal(one![0], other![0]);
    assert.throws(() => (one![0]!.tolerationSeconds = 1), TypeError);
    one!.pop(); // The list is the pod's own.
    assert.equal(other!.length, 2);
  });
});

test('TaintNodesByCondition taints once', async () => {
  const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  for (const taints of [undefined, [taint]]) {
    const node = { metadata: { name: 'n' }, spec: taints === undefined ? {} : { taints } };
    await admit(createTaintNodesByCondition(), Nodes, { object: node });
    assert.deepEqual(node.spec.taints, [taint]);
  }
});

test('DefaultStorageClass uses the newest default, then the first by name', async () => {
  const objects = createTestObjects();
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  const made = (name: string, creationTimestamp: string, more = annotations) => ({
    metadata: { name, creationTimestamp, annotations: more },
    provisioner: 'p',
  });
  objects.put(
    StorageClasses,
    made('old', '2026-01-01T00:00:00Z'),
    made('z', '2026-01-02T00:00:00Z'),
    made('b', '2026-01-02T00:00:00Z'),
    made('newer', '2026-01-03T00:00:00Z', {} as typeof annotations),
  );
  const claim: PersistentVolumeClaim = { metadata: { name: 'c', namespace: 'ns' }, spec: {} };
  await admit(
    createDefaultStorageClass(() => objects.store),
    PersistentVolumeClaims,
    { object: claim },
  );
  assert.equal(claim.spec?.storageClassName, 'b');
  const none: PersistentVolumeClaim = { metadata: { name: 'c', namespace: 'ns' }, spec: { storageClassName: '' } };
  await admit(
    createDefaultStorageClass(() => objects.store),
    PersistentVolumeClaims,
    { object: none },
  );
  assert.equal(none.spec?.storageClassName, '');
});
