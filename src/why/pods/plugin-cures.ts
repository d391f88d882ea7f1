/** Cures for each scheduler plugin that rejects nodes, one row for each. */

export interface PluginCure {
  readonly text: string;
  /** The command for the nearest of the rejected nodes and the pod's namespace. */
  readonly command?: (node: string, namespace: string) => string;
}

const claims = (_node: string, namespace: string): string => `kubectl get pvc -n ${namespace}`;

export const PLUGIN_CURES: Readonly<Record<string, PluginCure>> = {
  NodeResourcesFit: { text: 'request less, end other pods, or add a node with room' },
  NodeName: { text: 'spec.nodeName names a node that does not exist or does not match' },
  NodePorts: { text: 'end the pod that holds the host port, choose another port, or leave out hostPort' },
  NodeAffinity: {
    text: 'label a node as nodeSelector and nodeAffinity ask, or change them',
    command: () => 'kubectl get nodes --show-labels',
  },
  NodeUnschedulable: { text: 'let pods onto the node again', command: (node) => `kubectl uncordon ${node}` },
  TaintToleration: {
    text: 'tolerate the taint in the pod, or remove it from the node',
    command: (node) => `kubectl describe node ${node}`,
  },
  InterPodAffinity: { text: 'change podAffinity or podAntiAffinity, or add nodes where their terms hold' },
  PodTopologySpread: {
    text: 'add nodes in the topologies that have fewest pods, raise maxSkew, or label nodes that lack the topologyKey',
  },
  VolumeBinding: { text: 'see the claims of the pod, and from which nodes their volumes can be used', command: claims },
  VolumeRestrictions: { text: 'another pod uses the volume: end it, or use a volume that may be shared' },
  VolumeZone: { text: 'the volume is in another zone: add a node there, or use another volume', command: claims },
  NodeVolumeLimits: { text: 'the node has as many volumes attached as it can: add a node' },
  DynamicResources: {
    text: 'see the resource claims of the pod',
    command: (_node, namespace) => `kubectl get resourceclaims -n ${namespace}`,
  },
  NodeDeclaredFeatures: { text: 'the nodes lack a feature the pod needs: upgrade their kubelets' },
  NodeLabel: {
    text: 'give nodes the labels that the scheduler asks for, or take those away that it keeps pods from (its configuration)',
    command: () => 'kubectl get nodes --show-labels',
  },
  ServiceAffinity: {
    text: 'give nodes the labels of those where the other pods of the service run, or make room there',
    command: () => 'kubectl get nodes --show-labels',
  },
};
