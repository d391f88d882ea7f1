/**
 * An NFS export. Upstream: pkg/volume/nfs.
 *
 * The mount program runs in its own process with a deadline; nothing here reads the mounted directory, which may hang
 * when the server is gone.
 */
import { toolArgument } from '../../tool-arguments.ts';
import type { VolumePlugin } from '../../volume-plugin.ts';

export const nfsPlugin: VolumePlugin = {
  name: 'kubernetes.io/nfs',
  supports: (source) => source.nfs !== undefined,
  place: 'disk',
  ownsContent: false,
  live: false,
  async setUp({ spec, dir }, deps) {
    const { files, mounter } = deps.platform;
    const { server, path, readOnly: sourceReadOnly = false } = spec.source.nfs!;
    toolArgument('server', server, 'host');
    toolArgument('path', path, 'text');
    const readOnly = spec.readOnly || sourceReadOnly;
    const result = { hostPath: dir, readOnly, selinuxRelabel: false };
    if (await mounter.isMountPoint(dir)) return result;
    await files.makeDir(dir, { mode: 0o750 });
    const host = server.includes(':') && !server.startsWith('[') ? `[${server}]` : server;
    const options = [...(spec.persistentVolume?.spec?.mountOptions ?? []), ...(readOnly ? ['ro'] : [])];
    try {
      await mounter.mount({ source: `${host}:${path}`, target: dir, type: 'nfs', options });
    } catch (error) {
      if (!(await mounter.isMountPoint(dir))) await files.removeDir(dir);
      throw error;
    }
    return result;
  },
};
