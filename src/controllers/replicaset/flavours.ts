/** The differences between ReplicaSets and ReplicationControllers. The controller is the same, as upstream's. */
import { ReplicaSets, ReplicationControllers } from '../../api/gen/resources.ts';
import { compileLabelMap, compileLabelSelector, nothing, type LabelMatcher } from '../../api/label-selector.ts';
import type { ReplicaSetStatus } from '../../api/gen/apps-v1.ts';
import type { PodTemplateSpec } from '../../api/gen/core-v1.ts';
import type { NamespacedObjectMeta } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';

/** An object that keeps a number of pods. */
export interface ReplicaOwner extends KubernetesObject {
  metadata: NamespacedObjectMeta;
  spec?: { readonly replicas?: number; readonly minReadySeconds?: number; readonly template?: PodTemplateSpec };
  status?: ReplicaSetStatus;
}

/** One of the two kinds. */
export interface ReplicaFlavour {
  readonly name: string;
  readonly queueName: string;
  readonly account: string;
  readonly info: ResourceInfo<ReplicaOwner>;
  /** Whether the status has terminatingReplicas. */
  readonly countsTerminating: boolean;
  selectorOf(owner: ReplicaOwner): LabelMatcher;
}

/** apps/v1 ReplicaSet. */
export const replicaSetFlavour: ReplicaFlavour = {
  name: 'replicaset-controller',
  queueName: 'replicaset',
  account: 'replicaset-controller',
  info: ReplicaSets as ResourceInfo<ReplicaOwner>,
  countsTerminating: true,
  selectorOf: (owner) => compileLabelSelector((owner as { spec?: { selector?: object } }).spec?.selector),
};

/** v1 ReplicationController. */
export const replicationControllerFlavour: ReplicaFlavour = {
  name: 'replicationcontroller-controller',
  queueName: 'replicationmanager',
  account: 'replication-controller',
  info: ReplicationControllers as ResourceInfo<ReplicaOwner>,
  countsTerminating: false,
  selectorOf(owner) {
    const selector = (owner as { spec?: { selector?: Record<string, string> } }).spec?.selector;
    return selector === undefined || Object.keys(selector).length === 0 ? nothing : compileLabelMap(selector);
  },
};
