import type { KubeletVolumes, KubeletVolumesDeps } from './types.ts';

/** Which volume manager it is, the caller of `createKubelet` decides. */
export function createKubeletVolumes({ context, core }: KubeletVolumesDeps): KubeletVolumes {
  return { volumeManager: context.deps.volumes(core) };
}
