/**
 * A directory or device of the node that a persistent volume names. Upstream: pkg/volume/local. A directory of the
 * `local-path` provisioner is created here, writable for any user of the pod.
 *
 * Differs: the directory is mounted into containers directly; upstream first bind-mounts it into the pod's directory,
 * which is one mount more.
 */
import { LOCAL_PATH_PROVISIONER, PROVISIONED_BY } from '../../../../component-helpers/local-path.ts';
import { kindOfHostPath } from '../../host-path-check.ts';
import { fsGroupOf, setMountOwnership } from '../../volume-ownership.ts';
import { setUpShared, tearDownShared } from '../../shared-devices.ts';
import type { VolumePlugin, VolumePluginDeps, VolumeSpec } from '../../volume-plugin.ts';

const NAME = 'kubernetes.io/local-volume';

export const localPlugin: VolumePlugin = {
  name: NAME,
  supports: (source) => source.local !== undefined,
  place: 'disk',
  ownsContent: false,
  live: false,
  async setUp(request, deps) {
    const { pod, spec } = request;
    const { path } = spec.source.local!;
    if (path.split('/').includes('..')) throw new Error(`invalid path: ${path} path contains '..'`);
    let kind = await kindOfHostPath(path, deps.platform);
    if (kind === undefined && isOurs(spec)) {
      await makeDirectory(path, deps);
      kind = 'directory';
    }
    if (kind === undefined) throw new Error(`path "${path}" does not exist`);
    if (spec.persistentVolume?.spec?.volumeMode === 'Block') {
      if (kind !== 'block') throw new Error(`path "${path}" is not a block device`);
      return { hostPath: path, readOnly: spec.readOnly, selinuxRelabel: false, block: true };
    }
    if (kind === 'block') {
      return setUpShared(request, deps, {
        plugin: NAME,
        key: spec.persistentVolume?.metadata.name ?? path,
        data: {},
        fsType: spec.source.local!.fsType ?? '',
        readOnly: spec.readOnly,
        block: false,
        attach: async () => path,
      });
    }
    if (kind !== 'directory') throw new Error(`path "${path}" is not a directory`);
    if (!spec.readOnly) await setMountOwnership(deps.platform, { path, readOnly: false, ...fsGroupOf(pod) });
    return { hostPath: path, readOnly: spec.readOnly, selinuxRelabel: true };
  },
  tearDown: (request, deps) => tearDownShared(request, deps, { plugin: NAME, detach: async () => undefined }),
};

function isOurs({ persistentVolume }: VolumeSpec): boolean {
  return persistentVolume?.metadata.annotations?.[PROVISIONED_BY] === LOCAL_PATH_PROVISIONER;
}

async function makeDirectory(path: string, { platform }: VolumePluginDeps): Promise<void> {
  // Pods use a bind mount; other users of the machine must not reach the directory.
  await platform.files.makeDir(path.slice(0, path.lastIndexOf('/')), { mode: 0o700 });
  await platform.files.makeDir(path);
  await platform.files.chmod(path, 0o777); // the umask reduces the mode at creation
}
