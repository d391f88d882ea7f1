/**
 * A directory or device of the node that a persistent volume names. Upstream: pkg/volume/local.
 *
 * Differs: the directory is used where it is; upstream binds it into the pod's directory first, one mount more for the
 * same view. A file system on a block device is not made or mounted yet.
 */
import { kindOfHostPath } from '../../host-path-check.ts';
import { fsGroupOf, setVolumeOwnership } from '../../volume-ownership.ts';
import type { VolumePlugin } from '../../volume-plugin.ts';

export const localPlugin: VolumePlugin = {
  name: 'kubernetes.io/local-volume',
  supports: (source) => source.local !== undefined,
  place: 'disk',
  ownsContent: false,
  live: false,
  async setUp({ pod, spec }, deps) {
    const { path } = spec.source.local!;
    if (path.split('/').includes('..')) throw new Error(`invalid path: ${path} path contains '..'`);
    const kind = await kindOfHostPath(path, deps.platform);
    if (kind === undefined) throw new Error(`path "${path}" does not exist`);
    if (spec.persistentVolume?.spec?.volumeMode === 'Block') {
      if (kind !== 'block') throw new Error(`path "${path}" is not a block device`);
      return { hostPath: path, readOnly: spec.readOnly, selinuxRelabel: false, block: true };
    }
    if (kind === 'block')
      throw new Error(`local volume "${path}" is a block device: mounting a file system from it is not supported yet`);
    if (kind !== 'directory') throw new Error(`path "${path}" is not a directory`);
    if (!spec.readOnly) {
      const { fsGroup, policy } = fsGroupOf(pod);
      await setVolumeOwnership({
        files: deps.platform.files,
        path,
        fsGroup,
        readOnly: false,
        ...(policy === undefined ? {} : { policy }),
      });
    }
    return { hostPath: path, readOnly: spec.readOnly, selinuxRelabel: true };
  },
};
