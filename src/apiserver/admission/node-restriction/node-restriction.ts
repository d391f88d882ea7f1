/**
 * NodeRestriction: a kubelet may change only its own node and its own pods, and create only mirror pods and tokens for
 * its own pods. Upstream: plugin/pkg/admission/noderestriction.
 */
import type { Node, Pod } from '../../../api/gen/core-v1.ts';
import { Pods } from '../../../api/gen/resources.ts';
import { deepEqual } from '../../../base/equal.ts';
import { forbidden } from '../../../api/status-error.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';

const MIRROR = 'kubernetes.io/config.mirror';
const RESOURCES: ReadonlySet<string> = new Set(['pods', 'nodes', 'serviceaccounts', 'leases', 'csinodes']);

/** Creates the plugin. */
export function createNodeRestriction(objects: () => ObjectStore): AdmissionPlugin {
  return {
    name: 'NodeRestriction',
    handles: (_operation, resource) => RESOURCES.has(resource.resource),
    validate(attributes) {
      const node = nodeNameOf(attributes);
      if (node === undefined) return;
      if (node === '') throw refuse(attributes, 'could not determine node from user');
      CHECKS[attributes.resource.resource]?.(attributes, node, objects());
    },
  };
}

function nodeNameOf(attributes: AdmissionAttributes): string | undefined {
  const user = attributes.context.user;
  if (!user.groups.includes('system:nodes')) return undefined;
  return user.name.startsWith('system:node:') ? user.name.slice('system:node:'.length) : '';
}

const CHECKS: Readonly<Record<string, (attributes: AdmissionAttributes, node: string, objects: ObjectStore) => void>> = {
  pods: checkPod, nodes: checkNode, serviceaccounts: checkToken, leases: checkLease, csinodes: checkOwnName,
};

function checkPod(attributes: AdmissionAttributes, node: string, objects: ObjectStore): void {
  const { operation, subresource } = attributes;
  if (operation === 'CREATE' && subresource === '') return checkMirrorPod(attributes, node);
  const stored = (attributes.oldObject ?? objects.get(Pods, attributes.namespace, attributes.name)) as Pod | undefined;
  if (stored !== undefined && stored.spec?.nodeName !== node) throw refuse(attributes, `node "${node}" can only ${verb(attributes)} pods with spec.nodeName set to itself`);
  if (operation === 'UPDATE' && subresource !== 'status') throw refuse(attributes, `unexpected pod subresource "${subresource}", only 'status' and 'eviction' are allowed`);
}

function checkMirrorPod(attributes: AdmissionAttributes, node: string): void {
  const pod = attributes.object as Pod;
  if (pod.metadata.annotations?.[MIRROR] === undefined) throw refuse(attributes, `pod does not have "${MIRROR}" annotation, node "${node}" can only create mirror pods`);
  if (pod.spec?.nodeName !== node) throw refuse(attributes, `node "${node}" can only create pods with spec.nodeName set to itself`);
  const owners = pod.metadata.ownerReferences ?? [];
  if (owners.length !== 1 || owners[0]?.kind !== 'Node' || owners[0].name !== node) throw refuse(attributes, `node "${node}" can only create pods with an owner reference set to itself`);
}

function checkNode(attributes: AdmissionAttributes, node: string): void {
  const name = attributes.name === '' ? (attributes.object?.metadata.name ?? '') : attributes.name;
  if (name !== node) throw refuse(attributes, `node "${node}" is not allowed to modify node "${name}"`);
  if (attributes.operation === 'DELETE') throw refuse(attributes, `node "${node}" is not allowed to delete its own Node object`);
  const wanted = attributes.object as Node | undefined;
  const old = attributes.oldObject as Node | undefined;
  if (attributes.operation === 'UPDATE' && attributes.subresource === '' && !deepEqual(wanted?.spec?.taints ?? [], old?.spec?.taints ?? [])) {
    throw refuse(attributes, `node "${node}" is not allowed to modify taints`);
  }
  const restricted = changedKeys(wanted?.metadata.labels ?? {}, old?.metadata.labels ?? {}).filter((k) => /(^|\.)node-restriction\.kubernetes\.io\//.test(k));
  if (restricted.length > 0) throw refuse(attributes, `is not allowed to modify labels: ${restricted.join(', ')}`);
}

function checkToken(attributes: AdmissionAttributes, node: string, objects: ObjectStore): void {
  if (attributes.subresource !== 'token' || attributes.operation !== 'CREATE') return;
  const request = attributes.object as { spec?: { boundObjectRef?: { kind?: string; name?: string; uid?: string } } } | undefined;
  const bound = request?.spec?.boundObjectRef;
  if (bound?.kind !== 'Pod' || bound.name === undefined) throw refuse(attributes, `node requested token not bound to a pod`);
  const pod = objects.get(Pods, attributes.namespace, bound.name);
  if (pod === undefined || pod.metadata.uid !== bound.uid) throw refuse(attributes, `node requested token bound to a pod that does not exist or has another UID`);
  if (pod.spec?.nodeName !== node) throw refuse(attributes, `node requested token bound to a pod scheduled on a different node`);
}

function checkLease(attributes: AdmissionAttributes, node: string): void {
  if (attributes.namespace !== 'kube-node-lease') throw refuse(attributes, `can only access leases in the "kube-node-lease" system namespace`);
  checkOwnName(attributes, node);
}

function checkOwnName(attributes: AdmissionAttributes, node: string): void {
  const name = attributes.name === '' ? (attributes.object?.metadata.name ?? '') : attributes.name;
  if (name !== node) throw refuse(attributes, `can only access ${attributes.resource.singular} with the same name as the requesting node`);
}

function changedKeys(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((k) => a[k] !== b[k]);
}

function verb(attributes: AdmissionAttributes): string {
  return attributes.operation === 'DELETE' ? 'delete' : attributes.subresource === 'status' ? 'update status for' : 'update';
}

function refuse(attributes: AdmissionAttributes, why: string): Error {
  return forbidden(attributes.resource, attributes.name, why);
}
