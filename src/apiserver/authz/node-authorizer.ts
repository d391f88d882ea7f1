/**
 * The Node authorizer: what a kubelet may read follows from the pods bound to its node. Everything a kubelet needs
 * without regard to pods is allowed by the rules of `system:node`; secrets, config maps, claims, volumes, tokens and
 * leases only where a pod of the node refers to them (or they are the node's own). Upstream: plugin/pkg/auth/authorizer/node.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { PersistentVolumeClaims, Pods } from '../../api/gen/resources.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from './contract.ts';
import { ruleAllows } from './rule-matching.ts';

const ALLOW: AuthorizationDecision = { decision: 'allow', reason: '' };
const NO_OPINION: AuthorizationDecision = { decision: 'noOpinion', reason: '' };
const PREFIX = 'system:node:';

/** The authorizer and its end. */
export interface NodeAuthorizer extends Authorizer {
  stop(): void;
}

/** Creates the authorizer. `nodeRules`: the rules of the cluster role `system:node`. */
export function createNodeAuthorizer(objects: ObjectStore, nodeRules: readonly PolicyRule[]): NodeAuthorizer {
  const podsByNode = new Map<string, Map<string, Pod>>();
  const stop = objects.onChange(Pods, (pod, old) => {
    const key = `${(pod ?? old)?.metadata.namespace}/${(pod ?? old)?.metadata.name}`;
    if (old?.spec?.nodeName !== undefined && old.spec.nodeName !== pod?.spec?.nodeName) podsByNode.get(old.spec.nodeName)?.delete(key);
    const node = pod?.spec?.nodeName;
    if (pod === undefined || node === undefined || node === '') return;
    let pods = podsByNode.get(node);
    if (pods === undefined) podsByNode.set(node, (pods = new Map()));
    pods.set(key, pod);
  });
  return {
    stop,
    authorize(asked) {
      const { user } = asked;
      if (!user.groups.includes('system:nodes') || !user.name.startsWith(PREFIX)) return NO_OPINION;
      const node = user.name.slice(PREFIX.length);
      const check = asked.isResourceRequest ? CHECKS[`${asked.apiGroup}/${asked.resource}`] : undefined;
      if (check !== undefined) return check(asked, { node, pods: podsByNode.get(node)?.values() ?? [], objects });
      return nodeRules.some((rule) => ruleAllows(rule, asked)) ? ALLOW : NO_OPINION;
    },
  };
}

interface NodeView {
  readonly node: string;
  readonly pods: Iterable<Pod>;
  readonly objects: ObjectStore;
}
type Check = (asked: AuthorizationAttributes, view: NodeView) => AuthorizationDecision;

const READ: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

/** Resources whose names must be referred to by a pod of the node. */
function referenced(refers: (pod: Pod, asked: AuthorizationAttributes, view: NodeView) => boolean, verbs: ReadonlySet<string> = READ): Check {
  return (asked, view) => {
    if (!verbs.has(asked.verb)) return deny(asked, view.node);
    if (asked.name === '') return { decision: 'noOpinion', reason: `No Object name found` };
    for (const pod of view.pods) {
      if ((asked.namespace === '' || pod.metadata.namespace === asked.namespace) && refers(pod, asked, view)) return ALLOW;
    }
    return deny(asked, view.node);
  };
}

function deny(asked: AuthorizationAttributes, node: string): AuthorizationDecision {
  return { decision: 'noOpinion', reason: `no relationship found between node '${node}' and this object` + (asked.subresource === '' ? '' : ` (${asked.subresource})`) };
}

const CLAIM_VERBS: ReadonlySet<string> = new Set(['get', 'patch', 'update']);
const CHECKS: Readonly<Record<string, Check>> = {
  '/secrets': referenced((pod, asked) => secretNames(pod).has(asked.name)),
  '/configmaps': referenced((pod, asked) => configMapNames(pod).has(asked.name)),
  '/persistentvolumeclaims': referenced((pod, asked) => claimNames(pod).has(asked.name), CLAIM_VERBS),
  '/persistentvolumes': referenced((pod, asked, view) => {
    for (const claim of claimNames(pod)) {
      if (view.objects.get(PersistentVolumeClaims, pod.metadata.namespace ?? '', claim)?.spec?.volumeName === asked.name) return true;
    }
    return false;
  }),
  '/serviceaccounts': (asked, view) => {
    if (asked.subresource !== 'token') return READ.has(asked.verb) && !isListing(asked) ? referencedAccount(asked, view) : deny(asked, view.node);
    return asked.verb === 'create' ? referencedAccount(asked, view) : deny(asked, view.node);
  },
  'coordination.k8s.io/leases': (asked, view) => {
    const own = asked.namespace === 'kube-node-lease' && (asked.name === view.node || (asked.verb === 'create' && asked.name === ''));
    return own ? ALLOW : deny(asked, view.node);
  },
  'storage.k8s.io/csinodes': (asked, view) => (asked.name === view.node || (asked.verb === 'create' && asked.name === '') ? ALLOW : deny(asked, view.node)),
};

function isListing(asked: AuthorizationAttributes): boolean {
  return asked.verb === 'list' || asked.verb === 'watch';
}

const referencedAccount: Check = (asked, view) =>
  referenced((pod) => (pod.spec?.serviceAccountName ?? 'default') === asked.name, new Set(['get', 'create']))(asked, view);

/** Names of the secrets a pod refers to. */
export function secretNames(pod: Pod): Set<string> {
  const names = new Set<string>();
  const add = (name: string | undefined): void => void (name !== undefined && names.add(name));
  for (const reference of pod.spec?.imagePullSecrets ?? []) add(reference.name);
  for (const volume of pod.spec?.volumes ?? []) {
    add(volume.secret?.secretName);
    for (const source of volume.projected?.sources ?? []) add(source.secret?.name);
    add(volume.csi?.nodePublishSecretRef?.name);
    add(volume.iscsi?.secretRef?.name);
    add(volume.rbd?.secretRef?.name);
    add(volume.cephfs?.secretRef?.name);
    add(volume.flexVolume?.secretRef?.name);
  }
  for (const container of containersOf(pod)) {
    for (const env of container.env ?? []) add(env.valueFrom?.secretKeyRef?.name);
    for (const from of container.envFrom ?? []) add(from.secretRef?.name);
  }
  return names;
}

/** Names of the config maps a pod refers to. */
export function configMapNames(pod: Pod): Set<string> {
  const names = new Set<string>();
  const add = (name: string | undefined): void => void (name !== undefined && names.add(name));
  for (const volume of pod.spec?.volumes ?? []) {
    add(volume.configMap?.name);
    for (const source of volume.projected?.sources ?? []) add(source.configMap?.name);
  }
  for (const container of containersOf(pod)) {
    for (const env of container.env ?? []) add(env.valueFrom?.configMapKeyRef?.name);
    for (const from of container.envFrom ?? []) add(from.configMapRef?.name);
  }
  return names;
}

function claimNames(pod: Pod): Set<string> {
  const names = new Set<string>();
  for (const volume of pod.spec?.volumes ?? []) {
    if (volume.persistentVolumeClaim !== undefined) names.add(volume.persistentVolumeClaim.claimName);
    if (volume.ephemeral !== undefined) names.add(`${pod.metadata.name}-${volume.name}`);
  }
  return names;
}

function containersOf(pod: Pod): { env?: { valueFrom?: { secretKeyRef?: { name?: string }; configMapKeyRef?: { name?: string } } }[]; envFrom?: { secretRef?: { name?: string }; configMapRef?: { name?: string } }[] }[] {
  const spec = pod.spec;
  return spec === undefined ? [] : [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
}
