/** What a kubelet may do with each resource: what concerns the pods bound to its node. Upstream: node_authorizer.go (authorizeGet and others). */
import { parseFieldSelector, requiredFieldValue } from '../../api/field-selector.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
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

type Check = (asked: AuthorizationAttributes, view: NodeView) => AuthorizationDecision;

const READ: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

const GET: ReadonlySet<string> = new Set(['get']);

export const CHECKS: Readonly<Record<string, Check>> = {
  '/secrets': namespaced(
    (asked, view) => somePod(asked, view, (pod) => secretNames(pod).has(asked.name)) || secretOfVolume(asked, view),
  ),
  '/configmaps': namespaced(
    (asked, view) => somePod(asked, view, (pod) => configMapNames(pod).has(asked.name)) || configures(asked, view),
  ),
  '/persistentvolumeclaims': (asked, view) => {
    if (asked.subresource === 'status')
      return (
        verbIn(asked, STATUS_WRITES, 'can only update or patch the status of this type') ??
        related(asked, view, (a, v) => somePod(a, v, (pod) => claimNames(pod).has(a.name)))
      );
    return getOnly(asked) ?? related(asked, view, (a, v) => somePod(a, v, (pod) => claimNames(pod).has(a.name)));
  },
  'resource.k8s.io/resourceclaims': (asked, view) =>
    getOnly(asked) ?? related(asked, view, (a, v) => somePod(a, v, (pod) => claimNamesOf(pod).includes(a.name))),
  'resource.k8s.io/resourceslices': authorizeSlices,
  '/persistentvolumes': (asked, view) => getOnly(asked) ?? related(asked, view, volumeOfPod),
  '/serviceaccounts': (asked, view) => {
    const verdict =
      asked.subresource === 'token'
        ? verbIn(asked, CREATE, 'can only create tokens for individual service accounts')
        : getOnly(asked);
    return (
      verdict ?? related(asked, view, (a, v) => somePod(a, v, (pod) => (pod.spec?.serviceAccountName ?? '') === a.name))
    );
  },
  '/nodes': authorizeNode,
  '/pods': authorizePod,
  '/namespaces': authorizeNamespace,
  'coordination.k8s.io/leases': (asked, view) => {
    if (asked.namespace !== 'kube-node-lease')
      return no(`can only access leases in the "kube-node-lease" system namespace`);
    return ownNamed(asked, view, 'node lease');
  },
  'storage.k8s.io/volumeattachments': authorizeAttachment,
  'storage.k8s.io/csinodes': (asked, view) => ownNamed(asked, view, 'CSINode'),
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
  asked: AuthorizationAttributes,
  verbs: ReadonlySet<string>,
  why: string,
): AuthorizationDecision | undefined {
  return verbs.has(asked.verb) ? undefined : no(why);
}

function getOnly(asked: AuthorizationAttributes): AuthorizationDecision | undefined {
  return (
    verbIn(asked, GET, 'can only get individual resources of this type') ??
    (asked.subresource === '' ? undefined : no('cannot get subresource'))
  );
}

/** Reads of objects in a namespace that something of the node's must refer to. */
function namespaced(refers: (asked: AuthorizationAttributes, view: NodeView) => boolean): Check {
  return (asked, view) => {
    if (!READ.has(asked.verb)) return no('can only read resources of this type');
    if (asked.subresource !== '') return no('cannot read subresource');
    if (asked.namespace === '') return no('can only read namespaced object of this type');
    return related(asked, view, refers);
  };
}

function related(
  asked: AuthorizationAttributes,
  view: NodeView,
  refers: (asked: AuthorizationAttributes, view: NodeView) => boolean,
): AuthorizationDecision {
  if (asked.name === '') return no('No Object name found');
  return refers(asked, view) ? ALLOW : no(`no relationship found between node '${view.node}' and this object`);
}

/** Whether the node's own configuration is to come from there. */
function configures(asked: AuthorizationAttributes, { node, objects }: NodeView): boolean {
  const source = objects.get(Nodes, '', node)?.spec?.configSource?.configMap;
  return source?.namespace === asked.namespace && source.name === asked.name;
}

function somePod(asked: AuthorizationAttributes, view: NodeView, refers: (pod: Pod) => boolean): boolean {
  for (const pod of view.pods.values()) {
    if (pod.metadata.namespace === asked.namespace && !isMirror(pod) && refers(pod)) return true;
  }
  return false;
}

/** A volume is the node's when the claim it is bound to is used by one of its pods. */
function volumeOfPod(asked: Pick<AuthorizationAttributes, 'name'>, view: NodeView): boolean {
  const claim = view.objects.get(PersistentVolumes, '', asked.name)?.spec?.claimRef;
  if (claim?.name === undefined) return false;
  for (const pod of view.pods.values()) {
    if (pod.metadata.namespace === claim.namespace && !isMirror(pod) && claimNames(pod).has(claim.name)) return true;
  }
  return false;
}

/** Secrets that the volumes of the node's pods are mounted with. Asked only when no pod names the secret itself. */
function secretOfVolume(asked: AuthorizationAttributes, view: NodeView): boolean {
  for (const name of view.volumeSecrets.volumesOf(`${asked.namespace}/${asked.name}`))
    if (volumeOfPod({ name }, view)) return true;
  return false;
}

function authorizeNode(asked: AuthorizationAttributes, { node }: NodeView): AuthorizationDecision {
  if (asked.subresource === 'status') return STATUS_WRITES.has(asked.verb) ? ALLOW : NO_OPINION;
  if (asked.subresource !== '') return NO_OPINION;
  if (NODE_WRITES.has(asked.verb)) return ALLOW; // Whose node it is, NodeRestriction checks.
  if (!READ.has(asked.verb)) return NO_OPINION;
  if (asked.name === node) return ALLOW;
  return no(
    asked.name === ''
      ? `node '${node}' cannot read all nodes, only its own Node object`
      : `node '${node}' cannot read '${asked.name}', only its own Node object`,
  );
}

function authorizePod(asked: AuthorizationAttributes, view: NodeView): AuthorizationDecision {
  const own = (): boolean => view.pods.has(`${asked.namespace}/${asked.name}`);
  if (asked.subresource === 'status') return STATUS_WRITES.has(asked.verb) ? ALLOW : NO_OPINION;
  if (asked.subresource === 'eviction') return asked.verb === 'create' ? ALLOW : NO_OPINION;
  if (asked.subresource !== '') return NO_OPINION;
  if (asked.verb === 'create' || asked.verb === 'delete') return ALLOW;
  if (asked.verb === 'get') return related(asked, view, own);
  if (asked.verb !== 'list' && asked.verb !== 'watch') return NO_OPINION;
  if (selectedNode(asked.fieldSelector) === view.node || appliesPolicies(view)) return ALLOW;
  return asked.name === ''
    ? no('can only list/watch pods with spec.nodeName field selector')
    : related(asked, view, own);
}

/** Beyond upstream: nodes apply network policies, which select any pods, by the labels of their namespaces too. */
function appliesPolicies({ objects }: NodeView): boolean {
  return objects.list(NetworkPolicies).length > 0;
}

function authorizeNamespace({ verb, subresource }: AuthorizationAttributes, view: NodeView): AuthorizationDecision {
  if (subresource !== '' || (verb !== 'list' && verb !== 'watch')) return NO_OPINION;
  return appliesPolicies(view) ? ALLOW : no('can only list/watch namespaces while there are network policies');
}

/** Unlike upstream's, nodes make no slices: NodeRestriction does not look at them here. */
function authorizeSlices(asked: AuthorizationAttributes, view: NodeView): AuthorizationDecision {
  if (asked.subresource !== '') return no('cannot authorize ResourceSlice subresources');
  if (SLICE_COLLECTION_VERBS.has(asked.verb))
    return selectedNode(asked.fieldSelector) === view.node
      ? ALLOW
      : no('can only list/watch/deletecollection resourceslices with nodeName field selector');
  if (!GET.has(asked.verb)) return no('can only read and delete resourceslices');
  return related(
    asked,
    view,
    ({ name }, { objects, node }) => objects.get(ResourceSlices, '', name)?.spec.nodeName === node,
  );
}

function selectedNode(fieldSelector: string | undefined): string | undefined {
  if (fieldSelector === undefined) return undefined;
  try {
    return requiredFieldValue(parseFieldSelector(fieldSelector), 'spec.nodeName');
  } catch {
    return undefined; // The handler refuses the selector.
  }
}

function ownNamed(asked: AuthorizationAttributes, { node }: NodeView, what: string): AuthorizationDecision {
  const denied = verbIn(asked, OWN_VERBS, `can only get, create, update, patch, or delete a ${what}`);
  if (denied !== undefined) return denied;
  // A create carries its name in the body: NodeRestriction checks it.
  return asked.verb === 'create' || asked.name === node
    ? ALLOW
    : no(`can only access ${what} with the same name as the requesting node`);
}

/**
 * Beyond upstream's reads of its own attachments: a kubelet that attaches for itself makes and deletes them. What a create
 * is about, NodeRestriction checks.
 */
function authorizeAttachment(asked: AuthorizationAttributes, { node, objects }: NodeView): AuthorizationDecision {
  const denied =
    verbIn(asked, ATTACHMENT_VERBS, 'can only get, create or delete individual resources of this type') ??
    (asked.subresource === '' ? undefined : no('cannot get subresource'));
  if (denied !== undefined || asked.verb === 'create') return denied ?? ALLOW;
  const found = asked.name === '' ? undefined : objects.get(VolumeAttachments, '', asked.name);
  if (asked.name === '') return no('No Object name found');
  if (found === undefined || found.spec.nodeName === node) return ALLOW;
  return no(`no relationship found between node '${node}' and this object`);
}

function isMirror(pod: Pod): boolean {
  return pod.metadata.annotations?.[MIRROR] !== undefined;
}
