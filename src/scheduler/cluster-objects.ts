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
} from '../api/gen/resources.ts';
import { deepEqual } from '../base/equal.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { Informer } from '../client/informer.ts';
import { createOptionalInformer, type OptionalInformerDeps } from '../client/optional-informer.ts';
import { withRuleTaints } from '../component-helpers/device-taint-rules.ts';
import type { ClusterObjects } from './framework/plugin-deps.ts';
import { createServiceSiblings, createSiblingSelector, selectingServices } from './framework/sibling-selector.ts';
import type { ClusterEvent } from './queue/cluster-event.ts';

/** The look-ups and what keeps them current. */
export interface FollowedObjects extends ClusterObjects {
  /** Registers the handlers that report events. */
  onEvent(notify: (event: ClusterEvent, old: unknown, now: unknown) => void): void;
  waitForSync(signal: AbortSignal): Promise<void>;
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
  const capacities = informers.informer(CSIStorageCapacities);
  const storageInformers = [claims, volumes, classes, csiNodes, csiDrivers, capacities];
  const resourceClaims = informers.informer(ResourceClaims);
  const slices = informers.informer(ResourceSlices);
  const deviceClasses = informers.informer(DeviceClasses);
  const taintRules = createOptionalInformer(deps, DeviceTaintRules);
  const namespaces = informers.informer(Namespaces);
  const budgets = informers.informer(PodDisruptionBudgets);
  const owners = {
    services: informers.informer(Services),
    replicationControllers: informers.informer(ReplicationControllers),
    replicaSets: informers.informer(ReplicaSets),
    statefulSets: informers.informer(StatefulSets),
  };
  return {
    pod: (namespace, name) => pods.get({ namespace, name }),
    claim: (namespace, name) => claims.get({ namespace, name }),
    volume: (name) => volumes.get({ name }),
    node: (name) => nodes.get({ name }),
    volumesOfClass: (name) => volumes.list().filter((volume) => (volume.spec?.storageClassName ?? '') === name),
    csiNode: (name) => csiNodes.get({ name }),
    csiDriver: (name) => csiDrivers.get({ name }),
    storageCapacities: () => capacities.list(),
    resourceClaim: (namespace, name) => resourceClaims.get({ namespace, name }),
    resourceClaims: () => resourceClaims.list(),
    resourceSlices: () => withRuleTaints(slices.list(), taintRules.list()),
    deviceClass: (name) => deviceClasses.get({ name }),
    storageClass: (name) => classes.get({ name }),
    namespaceLabels: (name) => namespaces.get({ name })?.metadata.labels,
    budgets: () => budgets.list(),
    siblings: createSiblingSelector(owners),
    serviceSiblings: createServiceSiblings(owners.services),
    servicesOf: (pod) => selectingServices(owners.services, pod),
    onEvent(notify) {
      const deviceInformers = [resourceClaims, slices, deviceClasses, taintRules];
      for (const informer of deviceInformers as unknown as Pick<Informer<KubernetesObject>, 'addHandler'>[]) {
        informer.addHandler({
          onAdd: (now) => notify('resource-claim', undefined, now),
          onUpdate: (old, now) => notify('resource-claim', old, now),
          onDelete: (old) => notify('resource-claim', old, undefined),
        });
      }
      for (const informer of storageInformers as unknown as Informer<KubernetesObject>[]) {
        informer.addHandler({
          onAdd: (now) => notify('storage', undefined, now),
          onUpdate: (old, now) => notify('storage', old, now),
          onDelete: (old) => notify('storage', old, undefined),
        });
      }
      namespaces.addHandler({
        onUpdate(old, now) {
          if (!deepEqual(old.metadata.labels, now.metadata.labels)) notify('namespace/update', old, now);
        },
      });
    },
    async waitForSync(signal) {
      const all = [...storageInformers, resourceClaims, slices, deviceClasses, namespaces, budgets];
      await Promise.all([
        taintRules.start(signal),
        ...[...all, ...Object.values(owners)].map((informer) => informer.waitForSync(signal)),
      ]);
    },
  };
}
