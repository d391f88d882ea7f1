import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { test } from 'node:test';
import type { Node, PersistentVolumeClaim, Pod } from '../../../api/gen/core-v1.ts';
import {
  CertificateSigningRequests,
  CSINodes,
  Leases,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  ServiceAccounts,
  VolumeAttachments,
} from '../../../api/gen/resources.ts';
import type { VolumeAttachment } from '../../../api/gen/storage-v1.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import type { ResourceInfo } from '../../../api/resource-info.ts';
import type { Authorizer } from '../../authz/contract.ts';
import { createTestObjects } from '../../authz/objects-fixture.ts';
import { createRequest } from '../../../component-helpers/pki/certificates.ts';
import { createSimCrypto } from '../../../platform/sim/crypto.ts';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import { admit, type TestRequest } from '../admission-fixture.ts';
import { createNodeRestriction } from './node-restriction.ts';

const nobody: Authorizer = { authorize: () => ({ decision: 'noOpinion', reason: '' }) };
const user = { name: 'system:node:n1', groups: ['system:nodes'] };
const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'node-uid', controller: true };
const mirror = (change: { metadata?: object; spec?: object } = {}): Pod => ({
  metadata: {
    name: 'm',
    namespace: 'ns',
    annotations: { 'kubernetes.io/config.mirror': 'h' },
    ownerReferences: [owner],
    ...change.metadata,
  },
  spec: { nodeName: 'n1', containers: [{ name: 'c' }], ...change.spec },
});
const pod = (nodeName: string, more: object = {}): Pod => ({
  metadata: { name: 'p', namespace: 'ns', uid: 'pod-uid', ...more },
  spec: {
    nodeName,
    containers: [],
    volumes: [{ name: 'kube-api-access', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }],
  },
});
const userOfClaim: Pod = {
  metadata: { name: 'user', namespace: 'ns', uid: 'user' },
  spec: { nodeName: 'n1', containers: [], volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
};
const node = (name = 'n1', metadata: object = {}, spec: object = {}): Node => ({
  metadata: { name, ...metadata },
  spec,
});
const token = (ref: object | undefined, audiences: string[] = []): KubernetesObject =>
  ({
    metadata: { name: 'bot', namespace: 'ns' },
    spec: { audiences, ...(ref === undefined ? {} : { boundObjectRef: ref }) },
  }) as unknown as KubernetesObject;
const bound = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'pod-uid' };
const attachment = (nodeName: string, persistentVolumeName: string): VolumeAttachment => ({
  metadata: { name: 'va' },
  spec: { attacher: 'd', nodeName, source: { persistentVolumeName } },
});
const lease = (name: string, namespace = 'kube-node-lease'): KubernetesObject => ({ metadata: { name, namespace } });

const claim = (metadata: object = {}, status: object = {}): PersistentVolumeClaim => ({
  metadata: { name: 'c', namespace: 'ns', ...metadata },
  spec: { volumeName: 'pv' },
  status: { phase: 'Bound', capacity: { storage: '1' }, ...status },
});

type Case = readonly [name: string, resource: ResourceInfo, request: TestRequest, problem: string | undefined];
const cases: readonly Case[] = [
  ['a mirror pod', Pods, { object: mirror() }, undefined],
  [
    'a plain pod',
    Pods,
    { object: mirror({ metadata: { annotations: {} } }) },
    'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
  ],
  [
    'a mirror pod elsewhere',
    Pods,
    { object: mirror({ spec: { nodeName: 'n2' } }) },
    'node "n1" can only create pods with spec.nodeName set to itself',
  ],
  [
    'an unowned mirror pod',
    Pods,
    { object: mirror({ metadata: { ownerReferences: [] } }) },
    'node "n1" can only create pods with an owner reference set to itself',
  ],
  [
    'of another uid',
    Pods,
    { object: mirror({ metadata: { ownerReferences: [{ ...owner, uid: 'x' }] } }) },
    'node n1 UID mismatch: expected x got node-uid',
  ],
  [
    'not controlled',
    Pods,
    { object: mirror({ metadata: { ownerReferences: [{ ...owner, controller: false }] } }) },
    'node "n1" can only create pods with a controller owner reference set to itself',
  ],
  [
    'with an account',
    Pods,
    { object: mirror({ spec: { serviceAccountName: 'bot' } }) },
    'node "n1" can not create pods that reference serviceaccounts',
  ],
  [
    'with a secret',
    Pods,
    { object: mirror({ spec: { volumes: [{ name: 's', secret: { secretName: 's' } }] } }) },
    'node "n1" can not create pods that reference secrets',
  ],
  [
    'with a config map',
    Pods,
    { object: mirror({ spec: { containers: [{ name: 'c', envFrom: [{ configMapRef: { name: 'm' } }] }] } }) },
    'node "n1" can not create pods that reference configmaps',
  ],
  [
    'with a claim',
    Pods,
    { object: mirror({ spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] } }) },
    'node "n1" can not create pods that reference persistentvolumeclaims',
  ],
  [
    'changing a pod',
    Pods,
    { operation: 'UPDATE', object: pod('n1'), oldObject: pod('n1') },
    'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods',
  ],
  ['deleting its pod', Pods, { operation: 'DELETE', oldObject: pod('n1') }, undefined],
  [
    'deleting a pod elsewhere',
    Pods,
    { operation: 'DELETE', oldObject: pod('n2') },
    'node "n1" can only delete pods with spec.nodeName set to itself',
  ],
  [
    'status of its pod',
    Pods,
    { operation: 'UPDATE', subresource: 'status', object: pod('n1'), oldObject: pod('n1') },
    undefined,
  ],
  [
    'status of another pod',
    Pods,
    { operation: 'UPDATE', subresource: 'status', object: pod('n2'), oldObject: pod('n2') },
    'node "n1" can only update pod status for pods with spec.nodeName set to itself',
  ],
  [
    'labels through status',
    Pods,
    { operation: 'UPDATE', subresource: 'status', object: pod('n1', { labels: { a: 'b' } }), oldObject: pod('n1') },
    'node "n1" cannot update labels through pod status',
  ],
  [
    'binding',
    Pods,
    { subresource: 'binding', object: pod('n1') },
    `unexpected pod subresource "binding", only 'status' and 'eviction' are allowed`,
  ],
  ['evicting its pod', Pods, { subresource: 'eviction', object: pod('n1'), name: 'p' }, undefined],
  [
    'its node',
    Nodes,
    {
      object: node(
        'n1',
        { labels: { 'kubernetes.io/hostname': 'n1', 'node.kubernetes.io/x': '1', team: 'a' } },
        { taints: [{ key: 'k', effect: 'NoSchedule' }] },
      ),
    },
    undefined,
  ],
  [
    'ports of routes',
    Nodes,
    { object: node('n1', { annotations: { 'keelson.dev/gateway-ports': '80' } }) },
    'node "n1" is not allowed to set annotation keelson.dev/gateway-ports',
  ],
  [
    'changing ports of routes',
    Nodes,
    {
      operation: 'UPDATE',
      object: node('n1'),
      oldObject: node('n1', { annotations: { 'keelson.dev/gateway-ports': '80' } }),
    },
    'node "n1" is not allowed to set annotation keelson.dev/gateway-ports',
  ],
  [
    'keeping ports of routes',
    Nodes,
    {
      operation: 'UPDATE',
      object: node('n1', { annotations: { 'keelson.dev/gateway-ports': '80', a: 'b' } }),
      oldObject: node('n1', { annotations: { 'keelson.dev/gateway-ports': '80' } }),
    },
    undefined,
  ],
  ['another node', Nodes, { object: node('n2') }, 'node "n1" is not allowed to modify node "n2"'],
  [
    'restricted labels',
    Nodes,
    {
      object: node('n1', {
        labels: { 'a.node-restriction.kubernetes.io/x': '1', 'node-role.kubernetes.io/master': '', 'foo.k8s.io/y': '' },
      }),
    },
    'node "n1" is not allowed to set the following labels: a.node-restriction.kubernetes.io/x, foo.k8s.io/y, node-role.kubernetes.io/master',
  ],
  [
    'changing restricted labels',
    Nodes,
    {
      operation: 'UPDATE',
      object: node('n1', { labels: { 'node-restriction.kubernetes.io/x': '2' } }),
      oldObject: node('n1', { labels: { 'node-restriction.kubernetes.io/x': '1' } }),
    },
    'is not allowed to modify labels: node-restriction.kubernetes.io/x',
  ],
  [
    'keeping them',
    Nodes,
    {
      operation: 'UPDATE',
      object: node('n1', { labels: { 'node-restriction.kubernetes.io/x': '1', b: '2' } }),
      oldObject: node('n1', { labels: { 'node-restriction.kubernetes.io/x': '1' } }),
    },
    undefined,
  ],
  [
    'taints',
    Nodes,
    {
      operation: 'UPDATE',
      object: node(),
      oldObject: node('n1', {}, { taints: [{ key: 'k', effect: 'NoSchedule' }] }),
    },
    'node "n1" is not allowed to modify taints',
  ],
  [
    'its owners',
    Nodes,
    { operation: 'UPDATE', object: node('n1', { ownerReferences: [owner] }), oldObject: node() },
    'node "n1" is not allowed to modify ownerReferences',
  ],
  ['its status', Nodes, { operation: 'UPDATE', subresource: 'status', object: node(), oldObject: node() }, undefined],
  ['a token for its pod', ServiceAccounts, { subresource: 'token', object: token(bound), name: 'bot' }, undefined],
  [
    'a token for an audience its pod does not name',
    ServiceAccounts,
    { subresource: 'token', object: token(bound, ['vault']), name: 'bot' },
    'audience "vault" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience',
  ],
  [
    'a token for nothing',
    ServiceAccounts,
    { subresource: 'token', object: token(undefined), name: 'bot' },
    'node requested token not bound to a pod',
  ],
  [
    'a token without uid',
    ServiceAccounts,
    { subresource: 'token', object: token({ ...bound, uid: '' }), name: 'bot' },
    'node requested token with a pod binding without a uid',
  ],
  [
    'a token for an earlier pod',
    ServiceAccounts,
    { subresource: 'token', object: token({ ...bound, uid: 'x' }), name: 'bot' },
    'the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated',
  ],
  [
    'a token for a pod elsewhere',
    ServiceAccounts,
    { subresource: 'token', object: token({ ...bound, name: 'q', uid: 'q-uid' }), name: 'bot' },
    'node requested token bound to a pod scheduled on a different node',
  ],
  ['its lease', Leases, { object: lease('n1') }, undefined],
  [
    "another's lease",
    Leases,
    { operation: 'UPDATE', object: lease('n2'), oldObject: lease('n2') },
    'can only access node lease with the same name as the requesting node',
  ],
  [
    'a lease elsewhere',
    Leases,
    { object: lease('n1', 'default') },
    'can only access leases in the "kube-node-lease" system namespace',
  ],
  ['its CSINode', CSINodes, { object: { metadata: { name: 'n1' } } }, undefined],
  [
    "another's CSINode",
    CSINodes,
    { object: { metadata: { name: 'n2' } } },
    'can only access CSINode with the same name as the requesting node',
  ],
  ['an attachment of a volume its pods use', VolumeAttachments, { object: attachment('n1', 'pv') }, undefined],
  [
    'an attachment to another node',
    VolumeAttachments,
    { object: attachment('n2', 'pv') },
    'node "n1" can only attach volumes to itself',
  ],
  [
    'an attachment of a volume its pods do not use',
    VolumeAttachments,
    { object: attachment('n1', 'foreign') },
    'node "n1" can only attach persistent volumes that its pods use',
  ],
  [
    'no name',
    Pods,
    { object: mirror(), user: { name: 'kubelet', groups: ['system:nodes'] } },
    'could not determine node from user',
  ],
  [
    'a pod range for itself',
    Nodes,
    { object: node('n1', {}, { podCIDR: '10.42.0.0/24', podCIDRs: ['10.42.0.0/24'] }) },
    'node "n1" is not allowed to set podCIDRs',
  ],
  [
    'a pod range for itself later',
    Nodes,
    { operation: 'UPDATE', object: node('n1', {}, { podCIDRs: ['0.0.0.0/0'] }), oldObject: node('n1') },
    'node "n1" is not allowed to set podCIDRs',
  ],
  [
    'its node with the range it was given',
    Nodes,
    {
      operation: 'UPDATE',
      object: node('n1', {}, { podCIDRs: ['10.42.7.0/24'] }),
      oldObject: node('n1', {}, { podCIDRs: ['10.42.7.0/24'] }),
    },
    undefined,
  ],
  [
    'a source of its configuration at its creation',
    Nodes,
    { object: node('n1', {}, { configSource: { configMap: { namespace: 'ns', name: 'm' } } }) },
    'node "n1" is not allowed to create pods with a non-nil configSource',
  ],
  [
    'a new source of its configuration',
    Nodes,
    {
      operation: 'UPDATE',
      object: node('n1', {}, { configSource: { configMap: { namespace: 'ns', name: 'm' } } }),
      oldObject: node('n1', {}, { configSource: { configMap: { namespace: 'ns', name: 'own' } } }),
    },
    'node "n1" is not allowed to update configSource to a new non-nil configSource',
  ],
  [
    'the source of its configuration as it is, or dropped',
    Nodes,
    { operation: 'UPDATE', object: node('n1'), oldObject: node('n1', {}, { configSource: { configMap: {} } }) },
    undefined,
  ],
  [
    'the size of a claim',
    PersistentVolumeClaims,
    {
      operation: 'UPDATE',
      subresource: 'status',
      object: claim({}, { capacity: { storage: '2' } }),
      oldObject: claim(),
    },
    undefined,
  ],
  ...[claim({ labels: { a: 'b' } }), claim({ finalizers: ['a/b'] }), claim({}, { phase: 'Lost' })].map(
    (object): Case => [
      `more of a claim than its size: ${JSON.stringify(object)}`,
      PersistentVolumeClaims,
      { operation: 'UPDATE', subresource: 'status', object, oldObject: claim() },
      'node "n1" is not allowed to update fields other than status.capacity and status.conditions',
    ],
  ),
  [
    'a claim itself',
    PersistentVolumeClaims,
    { operation: 'UPDATE', object: claim(), oldObject: claim() },
    'may only update PVC status',
  ],
  [
    'the extended claim of its pod',
    Pods,
    {
      operation: 'UPDATE',
      subresource: 'status',
      object: {
        ...pod('n1'),
        status: { extendedResourceClaimStatus: { resourceClaimName: 'c', requestMappings: [] } },
      },
      oldObject: pod('n1'),
    },
    'node "n1" cannot update extended resource claim status',
  ],
  ['no node', Pods, { object: pod('n2'), user: { name: 'ann', groups: [] } }, undefined],
];

for (const [name, resource, request, problem] of cases) {
  test(`a node and ${name}`, async () => {
    const objects = createTestObjects();
    objects.put(Nodes, { metadata: { name: 'n1', uid: 'node-uid' } });
    objects.put(Pods, pod('n1'), { ...pod('n2'), metadata: { name: 'q', namespace: 'ns', uid: 'q-uid' } });
    objects.put(Pods, userOfClaim);
    objects.put(PersistentVolumes, { metadata: { name: 'pv' }, spec: { claimRef: { namespace: 'ns', name: 'c' } } });
    const done = admit(
      createNodeRestriction(() => objects.store, nobody, createSimCrypto(new VirtualClock())),
      resource,
      { user, ...request },
    );
    if (problem === undefined) await done;
    else
      await assert.rejects(
        done,
        (error: Error) =>
          error.message.endsWith(`is forbidden: ${problem}`) || assert.equal(error.message, problem) === undefined,
      );
  });
}

test("a node requests kubelets' certificates for itself alone", async () => {
  const crypto = { ...createSimCrypto(new VirtualClock()), webcrypto: webcrypto as typeof globalThis.crypto };
  const plugin = createNodeRestriction(() => createTestObjects().store, nobody, crypto);
  const ask = async (commonName: string, signerName: string): Promise<string> => {
    const { requestPem } = await createRequest({ crypto }, { commonName });
    const spec = { signerName, request: Buffer.from(requestPem).toString('base64'), usages: [] };
    const object = { metadata: { name: 'r' }, spec } as KubernetesObject;
    return admit(plugin, CertificateSigningRequests, { user, object }).then(
      () => '',
      (error: Error) => error.message.replace(/.*is forbidden: /, ''),
    );
  };
  for (const signer of ['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client-kubelet']) {
    assert.equal(await ask('system:node:n1', signer), '');
    assert.equal(await ask('system:node:n2', signer), 'can only create a node CSR with CN=system:node:n1');
    assert.equal(await ask('admin', signer), 'can only create a node CSR with CN=system:node:n1');
  }
  assert.equal(await ask('admin', 'example.com/other'), '');
});
