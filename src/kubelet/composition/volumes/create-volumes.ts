/** Creates the volumes' subject. */
import type { KubeletVolumes, KubeletVolumesDeps } from './types.ts';

/** The caller of `createKubelet` decides which volume manager is used. */
export function createKubeletVolumes({ context, core }: KubeletVolumesDeps): KubeletVolumes {
  return { volumeManager: context.deps.volumes(core) };
}
