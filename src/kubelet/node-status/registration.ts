/**
 * The Node object that the kubelet registers, and the corrections of an existing one. Pure. Upstream: initialNode and
 * tryRegisterWithAPIServer in pkg/kubelet/kubelet_node_status.go.
 */
import type { Node, NodeStatus } from '../../api/gen/core-v1.ts';
import { LOCAL_PATH_ROOT } from '../../component-helpers/local-path.ts';
import type { NodeFacts } from './node-facts.ts';

/** Tells the attach-detach controller to attach this node's volumes. */
const CONTROLLER_MANAGED_ATTACH = 'volumes.kubernetes.io/controller-managed-attach-detach';

/** Tells the cloud provider which of the machine's addresses the administrator configured. */
const PROVIDED_NODE_IP = 'alpha.kubernetes.io/provided-node-ip';

/** Keeps pods away until the cloud provider has initialized the node. */
const UNINITIALIZED = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
} as const;

/** Labels every node has. */
function wellKnownLabels({ config, host }: NodeFacts): Record<string, string> {
  return {
    'beta.kubernetes.io/arch': host.architecture,
    'beta.kubernetes.io/os': host.operatingSystem,
    'kubernetes.io/arch': host.architecture,
    'kubernetes.io/hostname': config.nodeName,
    'kubernetes.io/os': host.operatingSystem,
  };
}

function wellKnownAnnotations({ config }: NodeFacts): Record<string, string> {
  return {
    ...(config.volumes.attachesItself ? {} : { [CONTROLLER_MANAGED_ATTACH]: 'true' }),
    ...(config.externalCloud && config.nodeIps.length > 0 ? { [PROVIDED_NODE_IP]: config.nodeIps.join(',') } : {}),
    ...(config.localPathRoot === '' ? {} : { [LOCAL_PATH_ROOT]: config.localPathRoot }),
  };
}

export function initialNode(facts: NodeFacts, status: NodeStatus): Node {
  const { config } = facts;
  const taints = [...config.registerWithTaints];
  if (config.externalCloud) taints.push(UNINITIALIZED);
  if (!config.registerSchedulable) taints.push({ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' });
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: config.nodeName,
      labels: { ...wellKnownLabels(facts), ...config.nodeLabels },
      annotations: wellKnownAnnotations(facts),
    },
    spec: {
      ...(taints.length === 0 ? {} : { taints }),
      ...(config.registerSchedulable ? {} : { unschedulable: true }),
      ...(config.providerId === '' ? {} : { providerID: config.providerId }),
    },
    status,
  };
}

/** A merge patch with missing labels and annotations of an existing Node; undefined when there are none. */
export function reconcileExistingNode(facts: NodeFacts, node: Node): object | undefined {
  const labels = missingEntries({ ...wellKnownLabels(facts), ...facts.config.nodeLabels }, node.metadata.labels);
  const annotations = {
    ...missingEntries(wellKnownAnnotations(facts), node.metadata.annotations),
    ...annotationToRemove(facts, node),
  };
  const change = { ...(labels && { labels }), ...(Object.keys(annotations).length > 0 && { annotations }) };
  return Object.keys(change).length === 0 ? undefined : { metadata: change };
}

/**
 * The annotation to remove from a node whose volumes a controller attached before and that now attaches them itself.
 */
function annotationToRemove({ config }: NodeFacts, node: Node): Record<string, null> {
  const marked = node.metadata.annotations?.[CONTROLLER_MANAGED_ATTACH] !== undefined;
  return config.volumes.attachesItself && marked ? { [CONTROLLER_MANAGED_ATTACH]: null } : {};
}

function missingEntries(
  wanted: Readonly<Record<string, string>>,
  present: Readonly<Record<string, string>> = {},
): Record<string, string> | undefined {
  const entries = Object.entries(wanted).filter(([key, value]) => present[key] !== value);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
