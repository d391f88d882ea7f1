import type { Pod } from '../../../api/gen/core-v1.ts';
import { Pods, ServiceAccounts } from '../../../api/gen/resources.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import { owner, pod, testRequests } from './node-restriction-fixture.ts';

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
const token = (ref: object | undefined, audiences: string[] = []): KubernetesObject =>
  ({
    metadata: { name: 'bot', namespace: 'ns' },
    spec: { audiences, ...(ref === undefined ? {} : { boundObjectRef: ref }) },
  }) as unknown as KubernetesObject;
const bound = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'pod-uid' };

testRequests([
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
  [
    'no name',
    Pods,
    { object: mirror(), user: { name: 'kubelet', groups: ['system:nodes'] } },
    'could not determine node from user',
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
]);
