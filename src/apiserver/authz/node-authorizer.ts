/**
 * The Node authorizer: what a kubelet may read depends on the pods bound to its node. What a kubelet needs regardless
 * of pods is allowed by the rules of `system:node`; secrets, config maps, claims, volumes, tokens, leases, nodes and
 * pods only where a pod of the node refers to them (or they are the node's own). Mirror pods grant nothing, since
 * nodes create them themselves. Upstream: plugin/pkg/auth/authorizer/node (with AuthorizeNodeWithSelectors).
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { Pods } from '../../api/gen/resources.ts';
import { ruleAllows } from '../../component-helpers/rbac/rule-matching.ts';
import { nodeIdentity } from '../../component-helpers/user-names.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { Authorizer } from './contract.ts';
import { ALLOW, CHECKS, NO_OPINION } from './node-checks.ts';
import { createVolumeSecrets } from './volume-secrets.ts';

/** `stop` ends its indexes. */
export interface NodeAuthorizer extends Authorizer {
  stop(): void;
}

/** Creates the authorizer. `nodeRules`: the rules of the cluster role `system:node`. */
export function createNodeAuthorizer(objects: ObjectStore, nodeRules: readonly PolicyRule[]): NodeAuthorizer {
  const podsByNode = new Map<string, Map<string, Pod>>();
  const leave = (pod: Pod): void => {
    const node = pod.spec?.nodeName ?? '';
    const pods = podsByNode.get(node);
    pods?.delete(keyOf(pod));
    if (pods?.size === 0) podsByNode.delete(node);
  };
  const stop = objects.onChange(Pods, (pod, old) => {
    if (old !== undefined) leave(old);
    const node = pod?.spec?.nodeName ?? '';
    if (pod === undefined || node === '') return;
    let pods = podsByNode.get(node);
    if (pods === undefined) podsByNode.set(node, (pods = new Map()));
    pods.set(keyOf(pod), pod);
  });
  const volumeSecrets = createVolumeSecrets(objects);
  return {
    stop() {
      stop();
      volumeSecrets.stop();
    },
    authorize(attributes) {
      const node = nodeIdentity(attributes.user);
      if (node === undefined) return NO_OPINION;
      const check = attributes.isResourceRequest ? CHECKS[`${attributes.apiGroup}/${attributes.resource}`] : undefined;
      if (check !== undefined)
        return check(attributes, { node, pods: podsByNode.get(node) ?? NO_PODS, objects, volumeSecrets });
      return nodeRules.some((rule) => ruleAllows(rule, attributes)) ? ALLOW : NO_OPINION;
    },
  };
}

const NO_PODS: ReadonlyMap<string, Pod> = new Map();

function keyOf(pod: Pod): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}
