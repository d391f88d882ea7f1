/**
 * The kubelet's permissions for each resource, by the pods bound to its node. Upstream: node_authorizer.go
 * (authorizeGet and others).
 */
import { requiredFieldValue } from '../../api/field-selector.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { boundedFieldSelector } from '../generic-registry/bounded-selectors.ts';
import {
  NetworkPolicies,
  Nodes,
  PersistentVolumes,
  ResourceSlices,
  VolumeAttachments,
} from '../../api/gen/resources.ts';
import { claimNames, configMapNames, secretNames } from '../../component-helpers/pod-references.ts';
import { claimNamesOf } from '../../component-helpers/resource-claims.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { AuthorizationAttributes, AuthorizationDecision } from './contract.ts';
import type { VolumeSecrets } from './volume-secrets.ts';

export const ALLOW: AuthorizationDecision = { decision: 'allow', reason: '' };

export const NO_OPINION: AuthorizationDecision = { decision: 'noOpinion', reason: '' };

const MIRROR = 'kubernetes.io/config.mirror';

interface NodeView {
  readonly node: string;
  readonly pods: ReadonlyMap<string, Pod>;
  readonly objects: ObjectStore;
  readonly volumeSecrets: VolumeSecrets;
}

type Check = (attributes: AuthorizationAttributes, view: NodeView) => AuthorizationDecision;

const READ: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

const GET: ReadonlySet<string> = new Set(['get']);

export const CHECKS: Readonly<Record<string, Check>> = {
  '/secrets': namespaced(
    (attributes, view) =>
      somePod(attributes, view, (pod) => secretNames(pod).has(attributes.name)) || secretOfVolume(attributes, view),
  ),
  '/configmaps': namespaced(
    (attributes, view) =>
      somePod(attributes, view, (pod) => configMapNames(pod).has(attributes.name)) || configures(attributes, view),
  ),
  '/persistentvolumeclaims': (attributes, view) => {
    if (attributes.subresource === 'status')
      return (
        verbIn(attributes, STATUS_WRITES, 'can only update or patch the status of this type') ??
        decideByReference(attributes, view, (a, v) => somePod(a, v, (pod) => claimNames(pod).has(a.name)))
      );
    return (
      getOnly(attributes) ??
      decideByReference(attributes, view, (a, v) => somePod(a, v, (pod) => claimNames(pod).has(a.name)))
    );
  },
  'resource.k8s.io/resourceclaims': (attributes, view) =>
    getOnly(attributes) ??
    decideByReference(attributes, view, (a, v) => somePod(a, v, (pod) => claimNamesOf(pod).includes(a.name))),
  'resource.k8s.io/resourceslices': authorizeSlices,
  '/persistentvolumes': (attributes, view) => getOnly(attributes) ?? decideByReference(attributes, view, volumeOfPod),
  '/serviceaccounts': (attributes, view) => {
    const verdict =
      attributes.subresource === 'token'
        ? verbIn(attributes, CREATE, 'can only create tokens for individual service accounts')
        : getOnly(attributes);
    return (
      verdict ??
      decideByReference(attributes, view, (a, v) =>
        somePod(a, v, (pod) => (pod.spec?.serviceAccountName ?? '') === a.name),
      )
    );
  },
  '/nodes': authorizeNode,
  '/pods': authorizePod,
  '/namespaces': authorizeNamespace,
  'coordination.k8s.io/leases': (attributes, view) => {
    if (attributes.namespace !== 'kube-node-lease')
      return no(`can only access leases in the "kube-node-lease" system namespace`);
    return ownNamed(attributes, view, 'node lease');
  },
  'storage.k8s.io/volumeattachments': authorizeAttachment,
  'storage.k8s.io/csinodes': (attributes, view) => ownNamed(attributes, view, 'CSINode'),
};

const ATTACHMENT_VERBS: ReadonlySet<string> = new Set(['get', 'create', 'delete']);

const CREATE: ReadonlySet<string> = new Set(['create']);

const STATUS_WRITES: ReadonlySet<string> = new Set(['update', 'patch']);

const SLICE_COLLECTION_VERBS: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection']);

const OWN_VERBS: ReadonlySet<string> = new Set(['get', 'create', 'update', 'patch', 'delete']);

const NODE_WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch']);

function no(reason: string): AuthorizationDecision {
  return { decision: 'noOpinion', reason };
}

function verbIn(
  attributes: AuthorizationAttributes,
  verbs: ReadonlySet<string>,
  why: string,
): AuthorizationDecision | undefined {
  return verbs.has(attributes.verb) ? undefined : no(why);
}

function getOnly(attributes: AuthorizationAttributes): AuthorizationDecision | undefined {
  return (
    verbIn(attributes, GET, 'can only get individual resources of this type') ??
    (attributes.subresource === '' ? undefined : no('cannot get subresource'))
  );
}

/** Allows reads of objects in a namespace to which something of the node refers. */
function namespaced(refers: (attributes: AuthorizationAttributes, view: NodeView) => boolean): Check {
  return (attributes, view) => {
    if (!READ.has(attributes.verb)) return no('can only read resources of this type');
    if (attributes.subresource !== '') return no('cannot read subresource');
    if (attributes.namespace === '') return no('can only read namespaced object of this type');
    return decideByReference(attributes, view, refers);
  };
}

function decideByReference(
  attributes: AuthorizationAttributes,
  view: NodeView,
  refers: (attributes: AuthorizationAttributes, view: NodeView) => boolean,
): AuthorizationDecision {
  if (attributes.name === '') return no('No Object name found');
  return refers(attributes, view) ? ALLOW : no(`no relationship found between node '${view.node}' and this object`);
}

/** Whether the node's configuration source refers to the object. */
function configures(attributes: AuthorizationAttributes, { node, objects }: NodeView): boolean {
  const source = objects.get(Nodes, '', node)?.spec?.configSource?.configMap;
  return source?.namespace === attributes.namespace && source.name === attributes.name;
}

function somePod(attributes: AuthorizationAttributes, view: NodeView, refers: (pod: Pod) => boolean): boolean {
  for (const pod of view.pods.values()) {
    if (pod.metadata.namespace === attributes.namespace && !isMirror(pod) && refers(pod)) return true;
  }
  return false;
}

/** Whether the volume is bound to a claim that one of the node's pods uses. */
function volumeOfPod(attributes: Pick<AuthorizationAttributes, 'name'>, view: NodeView): boolean {
  const claim = view.objects.get(PersistentVolumes, '', attributes.name)?.spec?.claimRef;
  if (claim?.name === undefined) return false;
  for (const pod of view.pods.values()) {
    if (pod.metadata.namespace === claim.namespace && !isMirror(pod) && claimNames(pod).has(claim.name)) return true;
  }
  return false;
}

/** Whether a volume of the node's pods needs the secret. Called only when no pod refers to the secret itself. */
function secretOfVolume(attributes: AuthorizationAttributes, view: NodeView): boolean {
  for (const name of view.volumeSecrets.volumesOf(`${attributes.namespace}/${attributes.name}`))
    if (volumeOfPod({ name }, view)) return true;
  return false;
}

function authorizeNode(attributes: AuthorizationAttributes, { node }: NodeView): AuthorizationDecision {
  if (attributes.subresource === 'status') return STATUS_WRITES.has(attributes.verb) ? ALLOW : NO_OPINION;
  if (attributes.subresource !== '') return NO_OPINION;
  if (NODE_WRITES.has(attributes.verb)) return ALLOW; // NodeRestriction checks which node
  if (!READ.has(attributes.verb)) return NO_OPINION;
  if (attributes.name === node) return ALLOW;
  return no(
    attributes.name === ''
      ? `node '${node}' cannot read all nodes, only its own Node object`
      : `node '${node}' cannot read '${attributes.name}', only its own Node object`,
  );
}

function authorizePod(attributes: AuthorizationAttributes, view: NodeView): AuthorizationDecision {
  const own = (): boolean => view.pods.has(`${attributes.namespace}/${attributes.name}`);
  if (attributes.subresource === 'status') return STATUS_WRITES.has(attributes.verb) ? ALLOW : NO_OPINION;
  if (attributes.subresource === 'eviction') return attributes.verb === 'create' ? ALLOW : NO_OPINION;
  if (attributes.subresource !== '') return NO_OPINION;
  if (attributes.verb === 'create' || attributes.verb === 'delete') return ALLOW;
  if (attributes.verb === 'get') return decideByReference(attributes, view, own);
  if (attributes.verb !== 'list' && attributes.verb !== 'watch') return NO_OPINION;
  if (selectedNode(attributes.fieldSelector) === view.node || appliesPolicies(view)) return ALLOW;
  return attributes.name === ''
    ? no('can only list/watch pods with spec.nodeName field selector')
    : decideByReference(attributes, view, own);
}

/** Beyond upstream: nodes apply network policies, which select any pods, also by the labels of their namespaces. */
function appliesPolicies({ objects }: NodeView): boolean {
  return objects.list(NetworkPolicies).length > 0;
}

function authorizeNamespace({ verb, subresource }: AuthorizationAttributes, view: NodeView): AuthorizationDecision {
  if (subresource !== '' || (verb !== 'list' && verb !== 'watch')) return NO_OPINION;
  return appliesPolicies(view) ? ALLOW : no('can only list/watch namespaces while there are network policies');
}

/** Unlike upstream's nodes, these do not create slices, so NodeRestriction does not check them. */
function authorizeSlices(attributes: AuthorizationAttributes, view: NodeView): AuthorizationDecision {
  if (attributes.subresource !== '') return no('cannot authorize ResourceSlice subresources');
  if (SLICE_COLLECTION_VERBS.has(attributes.verb))
    return selectedNode(attributes.fieldSelector) === view.node
      ? ALLOW
      : no('can only list/watch/deletecollection resourceslices with nodeName field selector');
  if (!GET.has(attributes.verb)) return no('can only read and delete resourceslices');
  return decideByReference(
    attributes,
    view,
    ({ name }, { objects, node }) => objects.get(ResourceSlices, '', name)?.spec.nodeName === node,
  );
}

function selectedNode(fieldSelector: string | undefined): string | undefined {
  if (fieldSelector === undefined) return undefined;
  try {
    return requiredFieldValue(boundedFieldSelector(fieldSelector), 'spec.nodeName');
  } catch {
    return undefined; // the handler refuses the selector
  }
}

function ownNamed(attributes: AuthorizationAttributes, { node }: NodeView, what: string): AuthorizationDecision {
  const denied = verbIn(attributes, OWN_VERBS, `can only get, create, update, patch, or delete a ${what}`);
  if (denied !== undefined) return denied;
  // The name of a create is in the body: NodeRestriction checks it.
  return attributes.verb === 'create' || attributes.name === node
    ? ALLOW
    : no(`can only access ${what} with the same name as the requesting node`);
}

/**
 * Beyond upstream's reads of the node's own attachments: a kubelet that attaches volumes itself creates and deletes
 * them. NodeRestriction checks the body of a create.
 */
function authorizeAttachment(attributes: AuthorizationAttributes, { node, objects }: NodeView): AuthorizationDecision {
  const denied =
    verbIn(attributes, ATTACHMENT_VERBS, 'can only get, create or delete individual resources of this type') ??
    (attributes.subresource === '' ? undefined : no('cannot get subresource'));
  if (denied !== undefined || attributes.verb === 'create') return denied ?? ALLOW;
  const volumeAttachment = attributes.name === '' ? undefined : objects.get(VolumeAttachments, '', attributes.name);
  if (attributes.name === '') return no('No Object name found');
  if (volumeAttachment === undefined || volumeAttachment.spec.nodeName === node) return ALLOW;
  return no(`no relationship found between node '${node}' and this object`);
}

function isMirror(pod: Pod): boolean {
  return pod.metadata.annotations?.[MIRROR] !== undefined;
}
