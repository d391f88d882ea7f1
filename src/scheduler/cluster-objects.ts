/** Follows the objects that plugins look up beside nodes and pods, and turns their changes into events that wake waiting pods. */
import {
  CSIDrivers,
  CSINodes,
  CSIStorageCapacities,
  Namespaces,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  PodDisruptionBudgets,
  Pods,
  ReplicaSets,
  ReplicationControllers,
  DeviceClasses,
  DeviceTaintRules,
  ResourceClaims,
  ResourceSlices,
  Services,
  StatefulSets,
  StorageClasses,
  VolumeAttachments,
} from '../api/gen/resources.ts';
import { deepEqual } from '../base/equal.ts';
import type { DeviceClass, ResourceClaim } from '../api/gen/resource-v1.ts';
import type { VolumeAttachment } from '../api/gen/storage-v1.ts';
import type { KubernetesObject, Stored } from '../api/object.ts';
import type { Informer } from '../client/informer.ts';
import { createOptionalInformer, type OptionalInformerDeps } from '../client/optional-informer.ts';
import { DEVICE_CLASS_RESOURCES, isExtendedClaim, isExtendedClaimOf } from '../component-helpers/resource-claims.ts';
import { controllerOf } from '../component-helpers/owner-references.ts';
import { withRuleTaints } from '../component-helpers/device-taint-rules.ts';
import { DeviceUse } from './devices/device-use.ts';
import type { ClusterObjects } from './framework/plugin-deps.ts';
import { createServiceSiblings, createSiblingSelector, selectingServices } from './framework/sibling-selector.ts';
import type { ClusterEvent, LookedUpKind } from './queue/cluster-event.ts';

/** The look-ups and what keeps them current. */
export interface FollowedObjects extends ClusterObjects {
  /** Registers the handlers that report events. */
  onEvent(notify: (event: ClusterEvent, old: unknown, now: unknown) => void): void;
  waitForSync(signal: AbortSignal): Promise<void>;
}

const CLASSES_BY_RESOURCE = 'extended-resource';
const ATTACHMENTS_BY_NODE = 'attached-to';
const EXTENDED_CLAIMS = 'extended-claim-owner';

function followAttachments({ informers }: OptionalInformerDeps): Informer<VolumeAttachment> {
  const attachments = informers.informer(VolumeAttachments);
  attachments.addIndex(ATTACHMENTS_BY_NODE, ({ spec }) => [spec.nodeName]);
  return attachments;
}

function followDeviceClasses({ informers }: OptionalInformerDeps): Informer<DeviceClass> {
  const deviceClasses = informers.informer(DeviceClasses);
  deviceClasses.addIndex(CLASSES_BY_RESOURCE, ({ metadata, spec }) => [
    `${DEVICE_CLASS_RESOURCES}${metadata.name}`,
    ...(spec.extendedResourceName === undefined ? [] : [spec.extendedResourceName]),
  ]);
  return deviceClasses;
}

/** What pods are spread by. */
function followOwners({ informers }: OptionalInformerDeps): Parameters<typeof createSiblingSelector>[0] {
  return {
    services: informers.informer(Services),
    replicationControllers: informers.informer(ReplicationControllers),
    replicaSets: informers.informer(ReplicaSets),
    statefulSets: informers.informer(StatefulSets),
  };
}

function followDeviceUse(claims: Informer<ResourceClaim>): DeviceUse {
  const use = new DeviceUse();
  claims.addIndex(EXTENDED_CLAIMS, (claim) => {
    const owner = isExtendedClaim(claim) ? controllerOf(claim) : undefined;
    return owner === undefined ? [] : [owner.uid];
  });
  claims.addHandler({
    onAdd: (claim) => use.set(claim),
    onUpdate(before, claim) {
      if (before.metadata.uid !== claim.metadata.uid) use.delete(before);
      use.set(claim);
    },
    onDelete: (claim) => use.delete(claim),
  });
  return use;
}

/** The list, made again after a change of what it is made of. */
function listUntilChange<T>(
  sources: readonly { addHandler(handler: { onAdd(): void; onUpdate(): void; onDelete(): void }): unknown }[],
  make: () => readonly T[],
): () => readonly T[] {
  let list: readonly T[] | undefined;
  const forget = (): void => {
    list = undefined;
  };
  for (const source of sources) source.addHandler({ onAdd: forget, onUpdate: forget, onDelete: forget });
  return () => (list ??= make());
}

/** Makes the informers; they run when the factory is started. */
export function followClusterObjects(deps: OptionalInformerDeps): FollowedObjects {
  const { informers } = deps;
  const pods = informers.informer(Pods);
  const claims = informers.informer(PersistentVolumeClaims);
  const volumes = informers.informer(PersistentVolumes);
  const classes = informers.informer(StorageClasses);
  const nodes = informers.informer(Nodes);
  const csiNodes = informers.informer(CSINodes);
  const csiDrivers = informers.informer(CSIDrivers);
  const attachments = followAttachments(deps);
  const capacities = informers.informer(CSIStorageCapacities);
  const resourceClaims = informers.informer(ResourceClaims);
  const deviceUse = followDeviceUse(resourceClaims);
  const slices = informers.informer(ResourceSlices);
  const deviceClasses = followDeviceClasses(deps);
  const lookedUp = {
    'persistent-volume-claim': claims,
    'persistent-volume': volumes,
    'storage-class': classes,
    'csi-node': csiNodes,
    'csi-driver': csiDrivers,
    'csi-storage-capacity': capacities,
    'volume-attachment': attachments,
    'resource-claim': resourceClaims,
    'resource-slice': slices,
    'device-class': deviceClasses,
  } satisfies Record<LookedUpKind, unknown>;
  const taintRules = createOptionalInformer(deps, DeviceTaintRules);
  const resourceSlices = listUntilChange([slices, taintRules], () => withRuleTaints(slices.list(), taintRules.list()));
  const namespaces = informers.informer(Namespaces);
  const budgets = informers.informer(PodDisruptionBudgets);
  const owners = followOwners(deps);
  return {
    pod: (namespace, name) => pods.get({ namespace, name }),
    claim: (namespace, name) => claims.get({ namespace, name }),
    volume: (name) => volumes.get({ name }),
    node: (name) => nodes.get({ name }),
    volumesOfClass: (name) => volumes.list().filter((volume) => (volume.spec?.storageClassName ?? '') === name),
    csiNode: (name) => csiNodes.get({ name }),
    csiDriver: (name) => csiDrivers.get({ name }),
    attachmentsTo: (node) => attachments.byIndex(ATTACHMENTS_BY_NODE, node),
    storageCapacities: () => capacities.list(),
    resourceClaim: (namespace, name) => resourceClaims.get({ namespace, name }),
    extendedClaimOf: (pod) =>
      resourceClaims.byIndex(EXTENDED_CLAIMS, pod.metadata.uid).find((claim) => isExtendedClaimOf(claim, pod)),
    deviceUse: () => deviceUse,
    resourceSlices,
    deviceClass: (name) => deviceClasses.get({ name }),
    extendedResourceClass: (resource) => newestOf(deviceClasses.byIndex(CLASSES_BY_RESOURCE, resource)),
    storageClass: (name) => classes.get({ name }),
    namespaceLabels: (name) => namespaces.get({ name })?.metadata.labels,
    budgets: () => budgets.list(),
    siblings: createSiblingSelector(owners),
    serviceSiblings: createServiceSiblings(owners.services),
    servicesOf: (pod) => selectingServices(owners.services, pod),
    onEvent(notify) {
      for (const [kind, informer] of Object.entries(lookedUp) as [LookedUpKind, Informer<KubernetesObject>][])
        informer.addHandler({
          onAdd: (now) => notify(`${kind}/add`, undefined, now),
          onUpdate: (old, now) => notify(`${kind}/update`, old, now),
          onDelete: (old) => notify(`${kind}/delete`, old, undefined),
        });
      // A DeviceTaintRule adds taints to devices of ResourceSlices.
      taintRules.addHandler({
        onAdd: (now) => notify('resource-slice/update', undefined, now),
        onUpdate: (old, now) => notify('resource-slice/update', old, now),
        onDelete: (old) => notify('resource-slice/update', old, undefined),
      });
      namespaces.addHandler({
        onUpdate(old, now) {
          if (!deepEqual(old.metadata.labels, now.metadata.labels)) notify('namespace/update', old, now);
        },
      });
    },
    async waitForSync(signal) {
      const all = [...Object.values(lookedUp), namespaces, budgets];
      await Promise.all([
        taintRules.start(signal),
        ...[...all, ...Object.values(owners)].map((informer) => informer.waitForSync(signal)),
      ]);
    },
  };
}

/** The newest class; the first by name among those created in the same second. */
function newestOf(classes: readonly Stored<DeviceClass>[]): DeviceClass | undefined {
  const bornOf = ({ metadata }: DeviceClass): string => metadata.creationTimestamp ?? '';
  const isBefore = (a: Stored<DeviceClass>, b: Stored<DeviceClass>): boolean =>
    bornOf(a) > bornOf(b) || (bornOf(a) === bornOf(b) && a.metadata.name < b.metadata.name);
  let newest = classes[0];
  for (const one of classes) if (newest !== undefined && isBefore(one, newest)) newest = one;
  return newest;
}
