/** Volumes: the volume manager. Needs the core's view, which finds pods, plugins and the node. */
import type { KubeletCore } from '../../kubelet-contract.ts';
import type { VolumeManager } from '../../volumes/volume-manager-contract.ts';
import type { KubeletContext } from '../context.ts';

export interface KubeletVolumesDeps {
  readonly context: KubeletContext;
  readonly core: KubeletCore;
}

export interface KubeletVolumes {
  readonly volumeManager: VolumeManager;
}
