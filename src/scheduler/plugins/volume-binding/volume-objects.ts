/** What VolumeBinding looks up and works with. */
import type { Client } from '../../../client/client.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { ClusterObjects } from '../../framework/plugin-deps.ts';

/** What the plugin looks up. */
export type VolumeObjects = Pick<
  ClusterObjects,
  'claim' | 'volume' | 'node' | 'storageClass' | 'volumesOfClass' | 'csiDriver' | 'storageCapacities'
>;

export interface VolumeBindingDeps extends VolumeObjects {
  readonly client: Client;
  readonly clock: Clock;
}
