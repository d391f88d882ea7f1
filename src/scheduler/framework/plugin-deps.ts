/** What scheduler plugins may use: client, clock, recorder, and listers of other objects. */
import type { DeviceUse } from '../devices/device-use.ts';
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod, Service } from '../../api/gen/core-v1.ts';
import type { PodDisruptionBudget } from '../../api/gen/policy-v1.ts';
import type { DeviceClass, ResourceClaim, ResourceSlice } from '../../api/gen/resource-v1.ts';
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
} from '../../api/gen/storage-v1.ts';
import type { LabelMatcher, Labels } from '../../api/label-selector.ts';
import type { Stored } from '../../api/object.ts';
import type { Client } from '../../client/client.ts';
import type { SeriesEventRecorder } from '../../client/event-series-recorder.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Random } from '../../platform/random.ts';
import type { WaitingPods } from './waiting-pods.ts';

/** Finds the selector of the pods that belong to the same services and owner as this pod; undefined: none. */
export type SiblingSelector = (pod: Stored<Pod>) => LabelMatcher | undefined;

/** Listers for plugins; they answer from memory. */
export interface ClusterObjects {
  readonly pod: (namespace: string, name: string) => Pod | undefined;
  readonly claim: (namespace: string, name: string) => Stored<PersistentVolumeClaim> | undefined;
  readonly volume: (name: string) => Stored<PersistentVolume> | undefined;
  readonly node: (name: string) => Stored<Node> | undefined;
  /** Volumes of a storage class. */
  readonly volumesOfClass: (name: string) => readonly Stored<PersistentVolume>[];
  readonly csiNode: (name: string) => CSINode | undefined;
  readonly csiDriver: (name: string) => CSIDriver | undefined;
  /** Volumes that are attached to a node, or that will be. */
  readonly attachmentsTo: (nodeName: string) => readonly VolumeAttachment[];
  readonly storageCapacities: () => readonly CSIStorageCapacity[];
  readonly resourceClaim: (namespace: string, name: string) => ResourceClaim | undefined;
  /** The claim that the scheduler made for extended resources of the pod. */
  readonly extendedClaimOf: (pod: Stored<Pod>) => ResourceClaim | undefined;
  /** The devices that claims have. */
  readonly deviceUse: () => DeviceUse;
  /** The same list until a slice changes. */
  readonly resourceSlices: () => readonly ResourceSlice[];
  readonly deviceClass: (name: string) => DeviceClass | undefined;
  /** The device class with the extended resource's name; the newest of several. */
  readonly extendedResourceClass: (resource: string) => DeviceClass | undefined;
  readonly storageClass: (name: string) => StorageClass | undefined;
  readonly namespaceLabels: (namespace: string) => Labels;
  readonly budgets: () => readonly PodDisruptionBudget[];
  readonly siblings: SiblingSelector;
  /** The selector of the first service that selects the pod. */
  readonly serviceSiblings: SiblingSelector;
  /** Services that select the pod. */
  readonly servicesOf: (pod: Stored<Pod>) => readonly Service[];
}

/** Metrics of resource claims and devices. */
export interface DeviceMetrics {
  /** A claim for a pod's extended resources was created, or could not be. */
  claimCreated(status: 'success' | 'failure'): void;
  /** Binding has waited until devices of the driver were prepared. */
  waitedFor(wait: {
    readonly profile: string;
    readonly driver: string;
    readonly status: 'success' | 'failure' | 'timeout';
    readonly seconds: number;
  }): void;
}

export interface SchedulerPluginDeps extends ClusterObjects {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly recorder: SeriesEventRecorder;
  readonly schedulerName: string;
  readonly deviceMetrics: DeviceMetrics;
  /** Pods that wait at Permit. */
  readonly waitingPods: WaitingPods;
}
