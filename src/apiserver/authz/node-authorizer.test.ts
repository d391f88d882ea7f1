import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodSpec } from '../../api/gen/core-v1.ts';
import {
  NetworkPolicies,
  Nodes,
  PersistentVolumes,
  Pods,
  ResourceSlices,
  VolumeAttachments,
} from '../../api/gen/resources.ts';
import { componentRoles } from '../bootstrap/component-roles.ts';
import type { AuthorizationAttributes } from './contract.ts';
import { createNodeAuthorizer } from './node-authorizer.ts';
import { createTestObjects } from './objects-fixture.ts';

const pod = (name: string, nodeName: string, spec: Partial<PodSpec>, annotations?: Record<string, string>): Pod => ({
  metadata: { name, namespace: 'ns', uid: name, ...(annotations === undefined ? {} : { annotations }) },
  spec: { nodeName, containers: [{ name: 'c' }], serviceAccountName: 'default', ...spec },
});

function fixture() {
  const objects = createTestObjects();
  const authorizer = createNodeAuthorizer(objects.store, componentRoles['system:node']?.rules ?? []);
  objects.put(
    Pods,
    pod('a', 'n1', {
      serviceAccountName: 'bot',
      imagePullSecrets: [{ name: 'pull' }],
      initContainers: [{ name: 'i', env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 'env', key: 'k' } } }] }],
      volumes: [
        { name: 's', secret: { secretName: 'vol' } },
        { name: 'p', projected: { sources: [{ secret: { name: 'proj' } }, { configMap: { name: 'projmap' } }] } },
        { name: 'm', configMap: { name: 'map' } },
        { name: 'c', persistentVolumeClaim: { claimName: 'claim' } },
        { name: 'e', ephemeral: {} },
      ],
    }),
    pod('b', 'n2', { volumes: [{ name: 's', secret: { secretName: 'other' } }] }),
    pod(
      'm',
      'n1',
      { volumes: [{ name: 's', secret: { secretName: 'mirrored' } }] },
      { 'kubernetes.io/config.mirror': 'x' },
    ),
  );
  const volume = (name: string, claim: string) => ({
    metadata: { name },
    spec: {
      claimRef: { namespace: 'ns', name: claim },
      csi: { driver: 'd', volumeHandle: 'h', nodeStageSecretRef: { namespace: 'csi', name: `stage-${name}` } },
    },
  });
  const attachment = (name: string, nodeName: string) => ({
    metadata: { name },
    spec: { attacher: 'd', nodeName, source: { persistentVolumeName: 'pv1' } },
  });
  const configMap = { namespace: 'kube-system', name: 'conf', kubeletConfigKey: 'kubelet' };
  objects.put(Nodes, { metadata: { name: 'n1' }, spec: { configSource: { configMap } } });
  const pool = { name: 'p', generation: 1, resourceSliceCount: 1 };
  objects.put(
    ResourceSlices,
    { metadata: { name: 's1' }, spec: { driver: 'd', nodeName: 'n1', pool } },
    { metadata: { name: 's2' }, spec: { driver: 'd', nodeName: 'n2', pool } },
  );
  objects.put(VolumeAttachments, attachment('va1', 'n1'), attachment('va2', 'n2'));
  objects.put(PersistentVolumes, volume('pv1', 'claim'), volume('pv2', 'unused'));
  const ask = (more: Partial<AuthorizationAttributes>, user = { name: 'system:node:n1', groups: ['system:nodes'] }) =>
    authorizer.authorize({
      user,
      verb: 'get',
      isResourceRequest: true,
      apiGroup: '',
      apiVersion: 'v1',
      namespace: 'ns',
      resource: 'secrets',
      subresource: '',
      name: '',
      path: '',
      ...more,
    }) as { decision: string; reason: string };
  return { objects, authorizer, ask };
}

const secret = (name: string, more: Partial<AuthorizationAttributes> = {}): Partial<AuthorizationAttributes> => ({
  resource: 'secrets',
  name,
  ...more,
});
const cluster = (more: Partial<AuthorizationAttributes>): Partial<AuthorizationAttributes> => ({
  namespace: '',
  ...more,
});
const attachment = (more: Partial<AuthorizationAttributes>): Partial<AuthorizationAttributes> =>
  cluster({ apiGroup: 'storage.k8s.io', resource: 'volumeattachments', ...more });
const slice = (more: Partial<AuthorizationAttributes>): Partial<AuthorizationAttributes> =>
  cluster({ apiGroup: 'resource.k8s.io', resource: 'resourceslices', verb: 'deletecollection', ...more });
const lease = (more: Partial<AuthorizationAttributes>): Partial<AuthorizationAttributes> => ({
  apiGroup: 'coordination.k8s.io',
  resource: 'leases',
  namespace: 'kube-node-lease',
  ...more,
});

const cases: readonly [string, Partial<AuthorizationAttributes>, boolean, string?][] = [
  ['a secret of a volume', secret('vol'), true],
  ['watched by name', secret('vol', { verb: 'watch' }), true],
  ['a projected secret', secret('proj'), true],
  ['a pull secret', secret('pull'), true],
  ['a secret in an init container', secret('env'), true],
  ['a secret of a pod elsewhere', secret('other'), false, "no relationship found between node 'n1' and this object"],
  ['a secret of a mirror pod', secret('mirrored'), false],
  ['the same name in another namespace', secret('vol', { namespace: 'x' }), false],
  ['all secrets', secret('', { verb: 'list' }), false, 'No Object name found'],
  [
    'secrets of all namespaces',
    secret('vol', { namespace: '' }),
    false,
    'can only read namespaced object of this type',
  ],
  ['writing a secret', secret('vol', { verb: 'update' }), false, 'can only read resources of this type'],
  ['the secret a volume is staged with', secret('stage-pv1', { namespace: 'csi' }), true],
  ['that of a volume no pod uses', secret('stage-pv2', { namespace: 'csi' }), false],
  ['a config map', { resource: 'configmaps', name: 'map' }, true],
  ['a projected config map', { resource: 'configmaps', name: 'projmap' }, true],
  ['the config map of its own configuration', { namespace: 'kube-system', resource: 'configmaps', name: 'conf' }, true],
  ['that name elsewhere', { resource: 'configmaps', name: 'conf' }, false],
  ['another config map', { resource: 'configmaps', name: 'x' }, false],
  ['a claim', { resource: 'persistentvolumeclaims', name: 'claim' }, true],
  ['an ephemeral claim', { resource: 'persistentvolumeclaims', name: 'a-e' }, true],
  [
    'listing claims',
    { resource: 'persistentvolumeclaims', name: 'claim', verb: 'list' },
    false,
    'can only get individual resources of this type',
  ],
  ['writing a claim', { resource: 'persistentvolumeclaims', name: 'claim', verb: 'patch' }, false],
  [
    "a claim's status",
    { resource: 'persistentvolumeclaims', name: 'claim', verb: 'patch', subresource: 'status' },
    true,
  ],
  [
    "another claim's status",
    { resource: 'persistentvolumeclaims', name: 'x', verb: 'patch', subresource: 'status' },
    false,
  ],
  ['the bound volume', cluster({ resource: 'persistentvolumes', name: 'pv1' }), true],
  ['another volume', cluster({ resource: 'persistentvolumes', name: 'pv2' }), false],
  [
    "a token of the pod's account",
    { resource: 'serviceaccounts', name: 'bot', verb: 'create', subresource: 'token' },
    true,
  ],
  [
    'a token of another account',
    { resource: 'serviceaccounts', name: 'root', verb: 'create', subresource: 'token' },
    false,
  ],
  ["the pod's account", { resource: 'serviceaccounts', name: 'bot' }, true],
  ['changing the account', { resource: 'serviceaccounts', name: 'bot', verb: 'update' }, false],
  ['its own lease', lease({ name: 'n1', verb: 'update' }), true],
  ['creating a lease', lease({ verb: 'create' }), true],
  [
    "another's lease",
    lease({ name: 'n2', verb: 'update' }),
    false,
    'can only access node lease with the same name as the requesting node',
  ],
  ['listing leases', lease({ verb: 'list' }), false],
  ['a lease elsewhere', lease({ name: 'n1', namespace: 'kube-system' }), false],
  ['its CSINode', cluster({ apiGroup: 'storage.k8s.io', resource: 'csinodes', name: 'n1' }), true],
  ["another's CSINode", cluster({ apiGroup: 'storage.k8s.io', resource: 'csinodes', name: 'n2' }), false],
  ['its attachment', attachment({ name: 'va1' }), true],
  ['deleting its attachment', attachment({ name: 'va1', verb: 'delete' }), true],
  ["another's attachment", attachment({ name: 'va2' }), false],
  ["deleting another's attachment", attachment({ name: 'va2', verb: 'delete' }), false],
  ['an attachment that is not there', attachment({ name: 'va3' }), true],
  ['making an attachment', attachment({ verb: 'create' }), true],
  ['listing attachments', attachment({ verb: 'list' }), false],
  ["an attachment's status", attachment({ name: 'va1', subresource: 'status' }), false],
  ['its own node', cluster({ resource: 'nodes', name: 'n1' }), true],
  [
    'another node',
    cluster({ resource: 'nodes', name: 'n2' }),
    false,
    "node 'n1' cannot read 'n2', only its own Node object",
  ],
  [
    'all nodes',
    cluster({ resource: 'nodes', verb: 'list' }),
    false,
    "node 'n1' cannot read all nodes, only its own Node object",
  ],
  ['deleting its node', cluster({ resource: 'nodes', name: 'n1', verb: 'delete' }), false],
  ['its own pods', { resource: 'pods', verb: 'list', namespace: '', fieldSelector: 'spec.nodeName=n1' }, true],
  ["another node's pods", { resource: 'pods', verb: 'list', namespace: '', fieldSelector: 'spec.nodeName=n2' }, false],
  [
    'all pods',
    { resource: 'pods', verb: 'watch', namespace: '' },
    false,
    'can only list/watch pods with spec.nodeName field selector',
  ],
  ['a pod of its own', { resource: 'pods', name: 'a' }, true],
  ['its mirror pod', { resource: 'pods', name: 'm' }, true],
  ['a pod of another', { resource: 'pods', name: 'b' }, false],
  ['pod status', { resource: 'pods', name: 'a', verb: 'patch', subresource: 'status' }, true],
  ['exec', { resource: 'pods', name: 'a', verb: 'create', subresource: 'exec' }, false],
  ['wiping the slices of its devices', slice({ fieldSelector: 'spec.nodeName=n1,spec.driver=d' }), true],
  ["wiping another's slices", slice({ fieldSelector: 'spec.nodeName=n2' }), false],
  [
    'wiping all slices of a driver',
    slice({ fieldSelector: 'spec.driver=d' }),
    false,
    'can only list/watch/deletecollection resourceslices with nodeName field selector',
  ],
  ['listing its slices', slice({ verb: 'list', fieldSelector: 'spec.nodeName=n1' }), true],
  ['reading its slice', slice({ verb: 'get', name: 's1' }), true],
  ["reading another's slice", slice({ verb: 'get', name: 's2' }), false],
  ['making a slice', slice({ verb: 'create' }), false],
  ['services, by the role', { resource: 'services', verb: 'list' }, true],
  ['deployments', { apiGroup: 'apps', resource: 'deployments', verb: 'list' }, false],
];
for (const [name, asked, allowed, reason] of cases) {
  test(`node: ${name}`, () => {
    const verdict = fixture().ask(asked);
    assert.equal(verdict.decision, allowed ? 'allow' : 'noOpinion');
    if (reason !== undefined) assert.equal(verdict.reason, reason);
  });
}

test('users that are no nodes', () => {
  const { ask } = fixture();
  assert.equal(ask(secret('vol'), { name: 'system:node:n1', groups: [] }).decision, 'noOpinion');
  assert.equal(ask(secret('vol'), { name: 'n1', groups: ['system:nodes'] }).decision, 'noOpinion');
});

test('rights end with the pod', () => {
  const { objects, ask } = fixture();
  objects.remove(Pods, 'ns', 'a');
  assert.equal(ask(secret('vol')).decision, 'noOpinion');
});

test('a node lists all pods and namespaces while there are network policies, and gets none by name', () => {
  const { objects, ask } = fixture();
  const decisions = (): string[] =>
    ['pods', 'namespaces'].flatMap((resource) =>
      ['list', 'watch', 'get', 'create', 'deletecollection'].map(
        (verb) => ask({ resource, verb, namespace: '', name: verb === 'get' ? 'x' : '' }).decision,
      ),
    );
  const no = 'noOpinion';
  // Which pods a node may create, NodeRestriction checks.
  assert.deepEqual(decisions(), [no, no, no, 'allow', no, no, no, no, no, no]);
  objects.put(NetworkPolicies, { metadata: { name: 'p', namespace: 'ns' } });
  assert.deepEqual(decisions(), ['allow', 'allow', no, 'allow', no, 'allow', 'allow', no, no, no]);
});

test('secrets of volumes are found by an index that follows the volumes, not by going over all of them', () => {
  const { objects, ask } = fixture();
  const { list } = objects.store;
  objects.store.list = ((info: never, namespace?: string) => {
    assert.notEqual(info, PersistentVolumes);
    return list(info, namespace);
  }) as typeof list;
  const decide = (name: string, namespace = 'csi'): string => ask(secret(name, { namespace })).decision;
  assert.equal(decide('nobody'), 'noOpinion');
  const volume = (claim: string, stage: string, namespace?: string) => ({
    metadata: { name: 'pv3' },
    spec: {
      claimRef: { namespace: 'ns', name: claim },
      csi: { driver: 'd', volumeHandle: 'h', nodeStageSecretRef: { namespace, name: stage } },
    },
  });
  objects.put(PersistentVolumes, volume('claim', 'first', 'csi'));
  assert.deepEqual([decide('first'), decide('second'), decide('stage-pv1')], ['allow', 'noOpinion', 'allow']);
  objects.put(PersistentVolumes, volume('claim', 'second', 'csi'));
  assert.deepEqual([decide('first'), decide('second')], ['noOpinion', 'allow']);
  objects.put(PersistentVolumes, volume('claim', 'stage-pv1', 'csi'));
  objects.remove(PersistentVolumes, '', 'pv3');
  assert.deepEqual([decide('second'), decide('stage-pv1')], ['noOpinion', 'allow']);
  objects.put(PersistentVolumes, volume('claim', 'home'));
  assert.deepEqual([decide('home', 'ns'), decide('home')], ['allow', 'noOpinion']);
  objects.put(PersistentVolumes, volume('unused', 'home'));
  assert.equal(decide('home', 'ns'), 'noOpinion');
});
