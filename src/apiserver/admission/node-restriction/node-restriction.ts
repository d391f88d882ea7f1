/**
 * NodeRestriction: a kubelet may change only its own node and its own pods, and create only mirror pods and tokens
 * for its own pods with audiences that they name. It validates after all mutation. Upstream:
 * plugin/pkg/admission/noderestriction.
 */
import type { TokenRequest } from '../../../api/gen/authentication-v1.ts';
import type { CertificateSigningRequest } from '../../../api/gen/certificates-v1.ts';
import type { Node, PersistentVolumeClaim, Pod } from '../../../api/gen/core-v1.ts';
import { Nodes, PersistentVolumes, Pods, VolumeAttachments } from '../../../api/gen/resources.ts';
import type { VolumeAttachment } from '../../../api/gen/storage-v1.ts';
import { groupResourceOf } from '../../../api/resource-info.ts';
import { forbidden, notFound } from '../../../api/status-error.ts';
import { deepEqual } from '../../../base/equal.ts';
import type { Authorizer } from '../../authz/contract.ts';
import { claimNames } from '../../../component-helpers/pod-references.ts';
import type { CryptoPort } from '../../../platform/crypto.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { certificateProblem } from './node-certificate.ts';
import { mirrorPodProblem } from './mirror-pods.ts';
import { GATEWAY_PORTS_ANNOTATION } from '../../../component-helpers/gateway-class.ts';
import { wireguardPublicKey } from '../../../component-helpers/wireguard-annotations.ts';
import { forbiddenLabels } from './node-labels.ts';
import { audienceProblem } from './token-audience.ts';

type Check = (attributes: AdmissionAttributes, node: string, objects: ObjectStore) => string | undefined;

const CHECKS: Readonly<Record<string, Check>> = {
  pods: podProblem,
  persistentvolumeclaims: claimProblem,
  nodes: nodeProblem,
  serviceaccounts: tokenProblem,
  'leases.coordination.k8s.io': leaseProblem,
  'volumeattachments.storage.k8s.io': attachmentProblem,
  'csinodes.storage.k8s.io': (attributes, node) => ownNameProblem(attributes, node, 'CSINode'),
};

const CSR = 'certificatesigningrequests.certificates.k8s.io';

export function createNodeRestriction(
  objects: () => ObjectStore,
  authorizer: Authorizer,
  crypto: CryptoPort,
): AdmissionPlugin {
  async function checkAudience(attributes: AdmissionAttributes): Promise<void> {
    const { audiences = [], boundObjectRef } = (attributes.object as TokenRequest).spec ?? {};
    const pod = objects().get(Pods, attributes.namespace, boundObjectRef?.name ?? '');
    if (pod === undefined) throw notFound({ group: '', resource: 'pods' }, boundObjectRef?.name ?? '');
    const problem = await audienceProblem({ attributes, audiences, pod, objects: objects() }, authorizer);
    if (problem !== undefined) throw forbidden(attributes.resource, nameOf(attributes), problem);
  }
  async function checkCertificate(attributes: AdmissionAttributes, node: string): Promise<void> {
    const problem = await certificateProblem(attributes.object as CertificateSigningRequest, node, crypto);
    if (problem !== undefined) throw forbidden(attributes.resource, nameOf(attributes), problem);
  }
  return {
    name: 'NodeRestriction',
    handles: (operation, resource, subresource) =>
      groupResourceOf(resource) === CSR
        ? operation === 'CREATE' && subresource === ''
        : operation !== 'CONNECT' && Object.hasOwn(CHECKS, groupResourceOf(resource)),
    validate(attributes) {
      const node = nodeNameOf(attributes);
      if (node === undefined) return undefined;
      const problem =
        node === ''
          ? 'could not determine node from user'
          : CHECKS[groupResourceOf(attributes.resource)]?.(attributes, node, objects());
      if (problem !== undefined) throw forbidden(attributes.resource, nameOf(attributes), problem);
      if (groupResourceOf(attributes.resource) === CSR) return checkCertificate(attributes, node);
      return isTokenRequest(attributes) ? checkAudience(attributes) : undefined;
    },
  };
}

/** Undefined: not a node. Empty: a node without a name. */
function nodeNameOf(attributes: AdmissionAttributes): string | undefined {
  const { user } = attributes.context;
  if (!user.groups.includes('system:nodes')) return undefined;
  return user.name.startsWith('system:node:') ? user.name.slice('system:node:'.length) : '';
}

function nameOf(attributes: AdmissionAttributes): string {
  return attributes.name === ''
    ? (attributes.object?.metadata.name ?? attributes.object?.metadata.generateName ?? '')
    : attributes.name;
}

function podProblem(attributes: AdmissionAttributes, node: string, objects: ObjectStore): string | undefined {
  const { operation, subresource, namespace, name } = attributes;
  const stored = (): Pod | undefined => (attributes.oldObject as Pod | undefined) ?? objects.get(Pods, namespace, name);
  const foreign = (): boolean => stored() !== undefined && stored()?.spec?.nodeName !== node;
  switch (subresource) {
    case '':
      if (operation === 'CREATE') return mirrorPodProblem(attributes.object as Pod, node, objects);
      if (operation === 'DELETE')
        return foreign() ? `node "${node}" can only delete pods with spec.nodeName set to itself` : undefined;
      return `unexpected operation "${operation}", node "${node}" can only create and delete mirror pods`;
    case 'status':
      if (operation !== 'UPDATE') return `unexpected operation "${operation}"`;
      if (foreign()) return `node "${node}" can only update pod status for pods with spec.nodeName set to itself`;
      if (!deepEqual(attributes.object?.metadata.labels ?? {}, stored()?.metadata.labels ?? {}))
        return `node "${node}" cannot update labels through pod status`;
      if (
        !deepEqual(
          (attributes.object as Pod).status?.resourceClaimStatuses ?? [],
          stored()?.status?.resourceClaimStatuses ?? [],
        )
      )
        return `node "${node}" cannot update resource claim statuses`;
      if (
        !deepEqual(
          (attributes.object as Pod).status?.extendedResourceClaimStatus,
          stored()?.status?.extendedResourceClaimStatus,
        )
      )
        return `node "${node}" cannot update extended resource claim status`;
      return undefined;
    case 'eviction':
      if (operation !== 'CREATE') return `unexpected operation ${operation}`;
      return foreign() ? `node ${node} can only evict pods with spec.nodeName set to itself` : undefined;
    default:
      return `unexpected pod subresource "${subresource}", only 'status' and 'eviction' are allowed`;
  }
}

function nodeProblem(attributes: AdmissionAttributes, node: string, objects: ObjectStore): string | undefined {
  const { operation, subresource } = attributes;
  if (subresource !== '' && subresource !== 'status') return `unexpected node subresource "${subresource}"`;
  const name = nameOf(attributes);
  const wanted = attributes.object as Node | undefined;
  const old = attributes.oldObject as Node | undefined;
  // All nodes route these addresses there. Upstream leaves routes to other components.
  if (operation !== 'DELETE' && !deepEqual(wanted?.spec?.podCIDRs ?? [], old?.spec?.podCIDRs ?? []))
    return `node "${node}" is not allowed to set podCIDRs`;
  // Routes are published at the addresses of nodes with this annotation, and its ports are reserved. Only servers may
  // write it.
  if (operation !== 'DELETE' && gatewayPortsOf(wanted) !== gatewayPortsOf(old))
    return `node "${node}" is not allowed to set annotation ${GATEWAY_PORTS_ANNOTATION}`;
  const key = wireguardPublicKey(wanted);
  // Other nodes send to whoever holds the key; its owner has published it first.
  if (operation !== 'DELETE' && key !== undefined && key !== wireguardPublicKey(old)) {
    const holder = objects
      .list(Nodes)
      .find((other) => other.metadata.name !== node && wireguardPublicKey(other) === key);
    if (holder !== undefined)
      return `node "${node}" is not allowed to publish the WireGuard key of node "${holder.metadata.name}"`;
  }
  if (operation === 'CREATE') {
    const labels = forbiddenLabels(wanted?.metadata.labels ?? {}, {});
    if (labels.length > 0) return `node "${node}" is not allowed to set the following labels: ${labels.join(', ')}`;
    // The node could otherwise read the ConfigMap that its configuration names.
    if (wanted?.spec?.configSource !== undefined)
      return `node "${node}" is not allowed to create pods with a non-nil configSource`;
  }
  if (name !== node) return `node "${node}" is not allowed to modify node "${name}"`;
  if (operation === 'DELETE') return `node "${node}" is not allowed to delete its own Node object`;
  if (operation !== 'UPDATE') return undefined;
  const { configSource } = wanted?.spec ?? {};
  if (configSource !== undefined && !deepEqual(configSource, old?.spec?.configSource))
    return `node "${node}" is not allowed to update configSource to a new non-nil configSource`;
  if (!deepEqual(wanted?.spec?.taints ?? [], old?.spec?.taints ?? []))
    return `node "${node}" is not allowed to modify taints`;
  if (!deepEqual(wanted?.metadata.ownerReferences ?? [], old?.metadata.ownerReferences ?? []))
    return `node "${node}" is not allowed to modify ownerReferences`;
  const labels = forbiddenLabels(wanted?.metadata.labels ?? {}, old?.metadata.labels ?? {});
  return labels.length > 0 ? `is not allowed to modify labels: ${labels.join(', ')}` : undefined;
}

function gatewayPortsOf(node: Node | undefined): string | undefined {
  return node?.metadata.annotations?.[GATEWAY_PORTS_ANNOTATION];
}

/** The fields of a claim's status that the kubelet writes when it resizes a volume. */
const CLAIM_STATUS = ['capacity', 'conditions', 'allocatedResources', 'allocatedResourceStatuses'];

function claimProblem(attributes: AdmissionAttributes, node: string): string | undefined {
  if (attributes.subresource !== 'status') return 'may only update PVC status';
  if (attributes.operation !== 'UPDATE') return `unexpected operation "${attributes.operation}"`;
  const [now, before] = [attributes.object, attributes.oldObject].map((object) => {
    const { metadata, status, ...rest } = object as PersistentVolumeClaim;
    const { resourceVersion: _, managedFields: __, ...kept } = metadata;
    const others = Object.entries(status ?? {}).filter(([key]) => !CLAIM_STATUS.includes(key));
    return { ...rest, metadata: kept, status: Object.fromEntries(others) };
  });
  return deepEqual(now, before)
    ? undefined
    : `node "${node}" is not allowed to update fields other than status.capacity and status.conditions`;
}

function isTokenRequest({ resource, subresource, operation }: AdmissionAttributes): boolean {
  return groupResourceOf(resource) === 'serviceaccounts' && subresource === 'token' && operation === 'CREATE';
}

function tokenProblem(attributes: AdmissionAttributes, node: string, objects: ObjectStore): string | undefined {
  if (!isTokenRequest(attributes)) return undefined;
  const { apiVersion, kind, name = '', uid = '' } = (attributes.object as TokenRequest).spec?.boundObjectRef ?? {};
  if (apiVersion !== 'v1' || kind !== 'Pod' || name === '') return 'node requested token not bound to a pod';
  if (uid === '') return 'node requested token with a pod binding without a uid';
  const pod = objects.get(Pods, attributes.namespace, name);
  if (pod === undefined) throw notFound({ group: '', resource: 'pods' }, name);
  if (pod.metadata.uid !== uid)
    return `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
  return pod.spec?.nodeName === node ? undefined : 'node requested token bound to a pod scheduled on a different node';
}

function leaseProblem(attributes: AdmissionAttributes, node: string): string | undefined {
  if (attributes.namespace !== 'kube-node-lease')
    return `can only access leases in the "kube-node-lease" system namespace`;
  return ownNameProblem(attributes, node, 'node lease');
}

/**
 * The reason why the kubelet may not write the attachment: only attachments of volumes that its pods use. Beyond
 * upstream, where no kubelet may write any.
 */
function attachmentProblem(attributes: AdmissionAttributes, node: string, objects: ObjectStore): string | undefined {
  const { operation, name } = attributes;
  const wanted = (attributes.object ?? attributes.oldObject ?? objects.get(VolumeAttachments, '', name)) as
    | VolumeAttachment
    | undefined;
  if (operation !== 'CREATE' && operation !== 'DELETE') return `unexpected operation "${operation}"`;
  if (wanted !== undefined && wanted.spec.nodeName !== node) return `node "${node}" can only attach volumes to itself`;
  if (operation === 'DELETE') return undefined;
  const volume = objects.get(PersistentVolumes, '', wanted?.spec.source.persistentVolumeName ?? '');
  const claim = volume?.spec?.claimRef;
  const used = objects
    .list(Pods)
    .some(
      (pod) =>
        pod.spec?.nodeName === node &&
        claim?.name !== undefined &&
        pod.metadata.namespace === claim.namespace &&
        claimNames(pod).has(claim.name),
    );
  return used ? undefined : `node "${node}" can only attach persistent volumes that its pods use`;
}

function ownNameProblem(attributes: AdmissionAttributes, node: string, what: string): string | undefined {
  return nameOf(attributes) === node ? undefined : `can only access ${what} with the same name as the requesting node`;
}
