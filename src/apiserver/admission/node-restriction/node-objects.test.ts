import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { test } from 'node:test';
import type { Node, PersistentVolumeClaim } from '../../../api/gen/core-v1.ts';
import {
  CertificateSigningRequests,
  CSINodes,
  Leases,
  Nodes,
  PersistentVolumeClaims,
  VolumeAttachments,
} from '../../../api/gen/resources.ts';
import type { VolumeAttachment } from '../../../api/gen/storage-v1.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import { createTestObjects } from '../../authz/objects-fixture.ts';
import { createRequest } from '../../../component-helpers/pki/certificates.ts';
import { createSimCrypto } from '../../../platform/sim/crypto.ts';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import { admit } from '../admission-fixture.ts';
import { type Case, nobody, owner, testRequests, user, withKey } from './node-restriction-fixture.ts';
import { createNodeRestriction } from './node-restriction.ts';

const node = (name = 'n1', metadata: object = {}, spec: object = {}): Node => ({
  metadata: { name, ...metadata },
  spec,
});
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

testRequests([
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
  [
    'its own WireGuard key',
    Nodes,
    { operation: 'UPDATE', object: node('n1', withKey('n1')), oldObject: node('n1') },
    undefined,
  ],
  [
    'the WireGuard key of another node',
    Nodes,
    { operation: 'UPDATE', object: node('n1', withKey('n2')), oldObject: node('n1', withKey('n1')) },
    'node "n1" is not allowed to publish the WireGuard key of node "n2"',
  ],
  [
    'the WireGuard key of another node from the start',
    Nodes,
    { object: node('n1', withKey('n2')) },
    'node "n1" is not allowed to publish the WireGuard key of node "n2"',
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
]);

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
