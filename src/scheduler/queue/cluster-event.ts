/** Events in the cluster that may make pods schedulable. Upstream: framework.ClusterEvent. */

/** Kinds that plugins read beside nodes and pods. */
export type LookedUpKind = keyof typeof LOOKED_UP;

/** A change of such an object. */
export type LookedUpEvent = `${LookedUpKind}/${'add' | 'update' | 'delete'}`;

/** The kind of object and its change. */
export type ClusterEvent = keyof typeof LABELS | LookedUpEvent;

const LABELS = {
  'node/add': 'NodeAdd',
  'node/update-allocatable': 'NodeUpdateNodeAllocatable',
  'node/update-label': 'NodeUpdateNodeLabel',
  'node/update-taint': 'NodeUpdateNodeTaint',
  'node/update-condition': 'NodeUpdateNodeCondition',
  'node/update-declared-feature': 'NodeUpdateNodeDeclaredFeature',
  'node/delete': 'NodeDelete',
  'assigned-pod/add': 'AssignedPodAdd',
  'assigned-pod/update': 'AssignedPodUpdate',
  'assigned-pod/delete': 'AssignedPodDelete',
  'pod/update': 'UnschedulablePodUpdate',
  'namespace/update': 'NamespaceUpdate',
} as const;

const LOOKED_UP = {
  'persistent-volume-claim': 'PersistentVolumeClaim',
  'persistent-volume': 'PersistentVolume',
  'storage-class': 'StorageClass',
  'csi-node': 'CSINode',
  'csi-driver': 'CSIDriver',
  'csi-storage-capacity': 'CSIStorageCapacity',
  'volume-attachment': 'VolumeAttachment',
  'resource-claim': 'ResourceClaim',
  'resource-slice': 'ResourceSlice',
  'device-class': 'DeviceClass',
} as const;

const ACTIONS: Readonly<Record<string, string>> = { add: 'Add', update: 'Update', delete: 'Delete' };

/** The event's label in metrics: upstream's resource and action. */
export function eventLabel(event: ClusterEvent): string {
  if (event in LABELS) return LABELS[event as keyof typeof LABELS];
  const [kind, action = ''] = event.split('/');
  return `${LOOKED_UP[kind as LookedUpKind]}${ACTIONS[action]}`;
}
