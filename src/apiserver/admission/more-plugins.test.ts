import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Binding, PersistentVolumeClaim, Pod, PodSpec } from '../../api/gen/core-v1.ts';
import {
  CertificateSigningRequests,
  Events,
  IngressClasses,
  Ingresses,
  Namespaces,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  ResourceClaims,
  ResourceClaimsV1beta1,
  ResourceClaimTemplates,
  RuntimeClasses,
  Services,
  StorageClasses,
} from '../../api/gen/resources.ts';
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import type { Authorizer } from '../authz/contract.ts';
import { createTestObjects } from '../authz/objects-fixture.ts';
import { createAlwaysPullImages } from './always-pull-images/always-pull-images.ts';
import { createCertificateApproval, createCertificateSigning } from './certificates/certificate-plugins.ts';
import { createDefaultIngressClass } from './default-ingress-class/default-ingress-class.ts';
import { createDeviceAdminAccess } from './device-admin-access/device-admin-access.ts';
import { createDenyServiceExternalIps } from './deny-service-external-ips/deny-service-external-ips.ts';
import { createEventRateLimit } from './event-rate-limit/event-rate-limit.ts';
import { createExtendedResourceToleration } from './extended-resource-toleration/extended-resource-toleration.ts';
import { createLimitPodHardAntiAffinityTopology } from './limit-pod-hard-anti-affinity-topology/limit-pod-hard-anti-affinity-topology.ts';
import { createPersistentVolumeClaimResize } from './persistent-volume-claim-resize/persistent-volume-claim-resize.ts';
import { createPodTopologyLabels } from './pod-topology-labels/pod-topology-labels.ts';
import { createRuntimeClass } from './runtime-class/runtime-class.ts';
import { createStorageObjectInUseProtection } from './storage-object-in-use-protection/storage-object-in-use-protection.ts';
import { admit } from './admission-fixture.ts';

const podOf = (spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'ns' },
  spec: { containers: [{ name: 'c' }], ...spec },
});

test('StorageObjectInUseProtection', async () => {
  const plugin = createStorageObjectInUseProtection();
  const claim: KubernetesObject = { metadata: { name: 'c', namespace: 'ns', finalizers: ['x'] } };
  const volume: KubernetesObject = { metadata: { name: 'v', finalizers: ['kubernetes.io/pv-protection'] } };
  await admit(plugin, PersistentVolumeClaims, { object: claim });
  await admit(plugin, PersistentVolumes, { object: volume });
  assert.deepEqual(claim.metadata.finalizers, ['x', 'kubernetes.io/pvc-protection']);
  assert.deepEqual(volume.metadata.finalizers, ['kubernetes.io/pv-protection']);
});

test('PersistentVolumeClaimResize', async (t) => {
  const objects = createTestObjects();
  objects.put(
    StorageClasses,
    { metadata: { name: 'grows' }, provisioner: 'p', allowVolumeExpansion: true },
    { metadata: { name: 'stays' }, provisioner: 'p' },
  );
  const plugin = createPersistentVolumeClaimResize(() => objects.store);
  const claim = (storage: string, storageClassName: string, phase = 'Bound'): PersistentVolumeClaim => ({
    metadata: { name: 'c', namespace: 'ns' },
    spec: { storageClassName, resources: { requests: { storage } } },
    status: { phase },
  });
  const rows: readonly [string, PersistentVolumeClaim, PersistentVolumeClaim, RegExp | undefined][] = [
    ['grows', claim('2Gi', 'grows'), claim('1Gi', 'grows'), undefined],
    ['no change', claim('1024Mi', 'stays'), claim('1Gi', 'stays'), undefined],
    [
      'pending',
      claim('2Gi', 'grows'),
      claim('1Gi', 'grows', 'Pending'),
      /Only bound persistent volume claims can be expanded/,
    ],
    ['fixed', claim('2Gi', 'stays'), claim('1Gi', 'stays'), /only dynamically provisioned pvc can be resized/],
  ];
  for (const [what, object, oldObject, refused] of rows)
    await t.test(what, async () => {
      const admitted = admit(plugin, PersistentVolumeClaims, { operation: 'UPDATE', object, oldObject });
      if (refused === undefined) await admitted;
      else await assert.rejects(admitted, refused);
    });
});

test('RuntimeClass', async (t) => {
  const objects = createTestObjects();
  objects.put(RuntimeClasses, {
    metadata: { name: 'sandboxed' },
    handler: 'h',
    overhead: { podFixed: { cpu: '250m' } },
    scheduling: { nodeSelector: { kind: 'sandbox' }, tolerations: [{ key: 'sandbox', operator: 'Exists' }] },
  });
  const plugin = createRuntimeClass(() => objects.store);
  await t.test('overhead, selector and tolerations', async () => {
    const pod = podOf({ runtimeClassName: 'sandboxed', nodeSelector: { a: 'b' } });
    await admit(plugin, Pods, { object: pod });
    assert.deepEqual(pod.spec?.overhead, { cpu: '250m' });
    assert.deepEqual(pod.spec?.nodeSelector, { a: 'b', kind: 'sandbox' });
    assert.deepEqual(pod.spec?.tolerations, [{ key: 'sandbox', operator: 'Exists' }]);
    await admit(plugin, Pods, { object: pod });
    assert.equal(pod.spec?.tolerations?.length, 1);
  });
  const refused: readonly [Partial<PodSpec>, RegExp][] = [
    [{ runtimeClassName: 'none' }, /pod rejected: RuntimeClass "none" not found$/],
    [{ overhead: { cpu: '1' } }, /pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead$/],
    [
      { runtimeClassName: 'sandboxed', overhead: { cpu: '1' } },
      /Pod's Overhead doesn't match RuntimeClass's defined Overhead$/,
    ],
    [
      { runtimeClassName: 'sandboxed', nodeSelector: { kind: 'bare' } },
      /conflict: runtimeClass.scheduling.nodeSelector\[kind\] = sandbox; pod.spec.nodeSelector\[kind\] = bare$/,
    ],
  ];
  for (const [spec, message] of refused)
    await t.test(String(message), () => assert.rejects(admit(plugin, Pods, { object: podOf(spec) }), message));
});

test('DefaultIngressClass: the newest default, unless one is named', async () => {
  const objects = createTestObjects();
  const isDefault = { 'ingressclass.kubernetes.io/is-default-class': 'true' };
  objects.put(
    IngressClasses,
    { metadata: { name: 'old', annotations: isDefault, creationTimestamp: '2026-01-01T00:00:00Z' } },
    { metadata: { name: 'new', annotations: isDefault, creationTimestamp: '2026-01-02T00:00:00Z' } },
    { metadata: { name: 'none', creationTimestamp: '2026-01-03T00:00:00Z' } },
  );
  const plugin = createDefaultIngressClass(() => objects.store);
  const chosen = async (
    object: KubernetesObject & { spec?: { ingressClassName?: string } },
  ): Promise<string | undefined> => {
    await admit(plugin, Ingresses, { object });
    return object.spec?.ingressClassName;
  };
  const metadata = { name: 'i', namespace: 'ns' };
  assert.equal(await chosen({ metadata }), 'new');
  assert.equal(await chosen({ metadata, spec: { ingressClassName: 'x' } }), 'x');
  assert.equal(
    await chosen({ metadata: { ...metadata, annotations: { 'kubernetes.io/ingress.class': 'y' } } }),
    undefined,
  );
});

test('CertificateApproval and CertificateSigning: by signer or by its domain', async () => {
  const authorizer: Authorizer = {
    authorize: ({ verb, resource, name }) => ({
      decision:
        resource === 'signers' && [`approve example.com/*`, 'sign example.com/a'].includes(`${verb} ${name}`)
          ? 'allow'
          : 'noOpinion',
      reason: '',
    }),
  };
  const request = (signerName: string, certificate?: string): CertificateSigningRequest => ({
    metadata: { name: 'r' },
    spec: { signerName, request: '', usages: [] },
    ...(certificate === undefined ? {} : { status: { certificate } }),
  });
  const approve = createCertificateApproval(authorizer);
  const sign = createCertificateSigning(authorizer);
  const on = (subresource: string, object: KubernetesObject, oldObject = object) =>
    ({ operation: 'UPDATE', subresource, object, oldObject }) as const;
  await admit(approve, CertificateSigningRequests, on('approval', request('example.com/b')));
  await assert.rejects(admit(approve, CertificateSigningRequests, on('approval', request('other.com/b'))), {
    message:
      'certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to approve requests with signerName "other.com/b"',
  });
  await admit(sign, CertificateSigningRequests, on('status', request('example.com/a', 'x'), request('example.com/a')));
  await admit(sign, CertificateSigningRequests, on('status', request('example.com/b')));
  await assert.rejects(
    admit(sign, CertificateSigningRequests, on('status', request('example.com/b', 'x'), request('example.com/b'))),
    /user not permitted to sign requests with signerName "example.com\/b"/,
  );
});

test('PodTopologyLabels: on bindings and on pods born on a node', async () => {
  const objects = createTestObjects();
  const zone = { 'topology.kubernetes.io/zone': 'z', 'topology.kubernetes.io/region': 'r' };
  objects.put(Nodes, { metadata: { name: 'n', labels: { ...zone, other: 'x' } } });
  const plugin = createPodTopologyLabels(() => objects.store);
  const binding: Binding = { metadata: { name: 'p', namespace: 'ns' }, target: { kind: 'Node', name: 'n' } };
  await admit(plugin, Pods, { subresource: 'binding', object: binding });
  assert.deepEqual(binding.metadata?.labels, zone);
  const pod = podOf({ nodeName: 'n' });
  await admit(plugin, Pods, { object: pod });
  assert.deepEqual(pod.metadata.labels, zone);
});

test('AlwaysPullImages', async () => {
  const plugin = createAlwaysPullImages();
  const pod = podOf({
    initContainers: [{ name: 'i', imagePullPolicy: 'Never' }],
    volumes: [{ name: 'v', image: { pullPolicy: 'IfNotPresent' } }],
  });
  await assert.rejects(
    Promise.resolve().then(() => plugin.validate!({ resource: Pods, name: 'p', object: pod } as never)),
    {
      message:
        'pods "p" is forbidden: spec.initContainers[0].imagePullPolicy: Unsupported value: "Never": supported values: "Always"',
    },
  );
  await admit(plugin, Pods, { object: pod });
  assert.deepEqual(
    [
      pod.spec?.initContainers?.[0]?.imagePullPolicy,
      pod.spec?.containers[0]?.imagePullPolicy,
      pod.spec?.volumes?.[0]?.image?.pullPolicy,
    ],
    ['Always', 'Always', 'Always'],
  );
});

test('EventRateLimit: a bucket per key that fills with time', async () => {
  const clock = new VirtualClock();
  const plugin = createEventRateLimit(clock, [{ type: 'Namespace', qps: 1, burst: 2 }]);
  const event = (namespace: string): KubernetesObject => ({ metadata: { name: 'e', namespace } });
  const send = (namespace: string): Promise<void> => admit(plugin, Events, { object: event(namespace) });
  await send('a');
  await send('a');
  await assert.rejects(send('a'), { message: 'limit reached on type Namespace for key a' });
  await send('b');
  await clock.advance(1000);
  await send('a');
  await assert.rejects(send('a'));
});

test('ExtendedResourceToleration, DenyServiceExternalIPs, LimitPodHardAntiAffinityTopology', async () => {
  // Upstream's IsExtendedResourceName: kubernetes.io/ anywhere in a name makes it native, and `requests.` belongs to quotas.
  const native = ['cpu', 'kubernetes.io/a', 'sub.kubernetes.io/a', 'mykubernetes.io/a', 'requests.example.com/a'];
  const requests = Object.fromEntries([...native, 'example.com/gpu', 'example.com/not/qualified'].map((n) => [n, '1']));
  const pod = podOf({ containers: [{ name: 'c', resources: { requests } }] });
  await admit(createExtendedResourceToleration(), Pods, { object: pod });
  assert.deepEqual(pod.spec?.tolerations, [{ key: 'example.com/gpu', operator: 'Exists', effect: 'NoSchedule' }]);
  const service = (...externalIPs: string[]): KubernetesObject =>
    ({ metadata: { name: 's', namespace: 'ns' }, spec: { externalIPs } }) as KubernetesObject;
  const deny = createDenyServiceExternalIps();
  await admit(deny, Services, {
    operation: 'UPDATE',
    object: service('1.1.1.1'),
    oldObject: service('1.1.1.1', '2.2.2.2'),
  });
  await assert.rejects(admit(deny, Services, { object: service('1.1.1.1') }), /Use of external IPs is denied/);
  const required = [{ topologyKey: 'zone', labelSelector: {} }];
  const spread = podOf({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } } });
  await assert.rejects(
    admit(createLimitPodHardAntiAffinityTopology(), Pods, { object: spread }),
    /has TopologyKey zone but only key kubernetes.io\/hostname is allowed/,
  );
});

test('access to devices as their administrator, in namespaces for that only', async () => {
  const objects = createTestObjects();
  objects.put(Namespaces, { metadata: { name: 'ns' } });
  objects.put(Namespaces, { metadata: { name: 'adm', labels: { 'resource.kubernetes.io/admin-access': 'true' } } });
  const plugin = createDeviceAdminAccess(() => objects.store);
  const asking = (requests: object[], namespace = 'ns'): KubernetesObject & { spec: object } => ({
    metadata: { name: 'c', namespace },
    spec: { devices: { requests } },
  });
  const plain = { name: 'r', exactly: { deviceClassName: 'k' } };
  const wish = { name: 'a', exactly: { deviceClassName: 'k', adminAccess: true } };
  const text =
    'Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace';
  const refused = {
    message: `ResourceClaim.resource.k8s.io "c" is invalid: spec.devices.requests[1].adminAccess: ${text}`,
  };
  await assert.rejects(admit(plugin, ResourceClaims, { object: asking([plain, wish]) }), refused);
  const inFirstBeta = asking([plain, { name: 'a', deviceClassName: 'k', adminAccess: true }]);
  await assert.rejects(admit(plugin, ResourceClaimsV1beta1, { object: inFirstBeta }), refused);
  const template = { ...asking([]), spec: { spec: asking([wish]).spec } };
  await assert.rejects(
    admit(plugin, ResourceClaimTemplates, { object: template }),
    /^StatusError: ResourceClaimTemplate\.resource\.k8s\.io "c" is invalid: spec\.devices\.requests\[0\]\.adminAccess: Forbidden/,
  );
  await admit(plugin, ResourceClaims, { object: asking([plain]) });
  await admit(plugin, ResourceClaims, { object: asking([wish], 'adm') });
  const status = { allocation: { devices: { results: [{ adminAccess: true }] } } };
  const given = { ...asking([wish]), status } as KubernetesObject;
  const update = { operation: 'UPDATE', subresource: 'status' } as const;
  await assert.rejects(
    admit(plugin, ResourceClaims, { ...update, object: given, oldObject: asking([wish]) }),
    /status\.allocation\.devices\.results\[0\]\.adminAccess: Forbidden/,
  );
  await admit(plugin, ResourceClaims, { ...update, object: given, oldObject: given });
});
