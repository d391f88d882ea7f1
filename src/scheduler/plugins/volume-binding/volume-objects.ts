/** The listers and types that the files of VolumeBinding share. */
import type { Client } from '../../../client/client.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { ClusterObjects } from '../../framework/plugin-deps.ts';

/** The listers of the plugin. */
export type VolumeObjects = Pick<
  ClusterObjects,
  'claim' | 'volume' | 'node' | 'storageClass' | 'volumesOfClass' | 'csiDriver' | 'storageCapacities'
>;

export interface VolumeBindingDeps extends VolumeObjects {
  readonly client: Client;
  readonly clock: Clock;
}
