/**
 * A Gluster volume, mounted by the node's mount.glusterfs. Upstream had pkg/volume/glusterfs until v1.25.
 *
 * Nothing here reads the mounted directory, which may hang when the servers are gone.
 */
import { Endpoints as EndpointsResource } from '../../../../api/gen/resources.ts';
import { toolArgument } from '../../tool-arguments.ts';
import type { VolumePlugin, VolumePluginDeps } from '../../volume-plugin.ts';
import { podNamespace } from '../../../types/pod-update.ts';

export const glusterfsPlugin: VolumePlugin = {
  name: 'kubernetes.io/glusterfs',
  supports: (source) => source.glusterfs !== undefined,
  place: 'disk',
  ownsContent: false,
  live: false,
  async setUp({ pod, spec, dir }, deps) {
    const { files, mounter } = deps.platform;
    const source = spec.source.glusterfs!;
    // mount.glusterfs is a shell script that splits its arguments at spaces.
    for (const part of source.path.replace(/^\//, '').split('/')) toolArgument('path', part, 'name');
    const readOnly = spec.readOnly || (source.readOnly ?? false);
    const result = { hostPath: dir, readOnly, selinuxRelabel: false };
    if (await mounter.isMountPoint(dir)) return result;
    const claimNamespace = spec.persistentVolume?.spec?.claimRef?.namespace ?? podNamespace(pod);
    const namespace = ('endpointsNamespace' in source ? source.endpointsNamespace : undefined) ?? claimNamespace;
    const hosts = await serversOf(deps, namespace, source.endpoints);
    await files.makeDir(dir, { mode: 0o750 });
    const options = [
      ...(hosts.length > 1 ? [`backup-volfile-servers=${hosts.join(':')}`] : []),
      ...(spec.persistentVolume?.spec?.mountOptions ?? []),
      ...(readOnly ? ['ro'] : []),
    ];
    try {
      await mounter.mount({ source: `${hosts[0]}:${source.path}`, target: dir, type: 'glusterfs', options });
    } catch (error) {
      if (!(await mounter.isMountPoint(dir))) await files.removeDir(dir);
      throw namingMissingProgram(error);
    }
    return result;
  },
};

async function serversOf({ client }: VolumePluginDeps, namespace: string, name: string): Promise<readonly string[]> {
  const endpoints = await client.resource(EndpointsResource).get({ namespace, name });
  const hosts = (endpoints.subsets ?? []).flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip));
  if (hosts.length === 0)
    throw new Error(`glusterfs: failed to get endpoints ${namespace}/${name}[it has no addresses]`);
  return [...new Set(hosts)].sort();
}

/** Without the helper program, `mount` reports an unknown file system. */
function namingMissingProgram(error: unknown): unknown {
  if (!(error instanceof Error) || !error.message.includes('unknown filesystem type')) return error;
  return new Error(`the program mount.glusterfs is not installed on the node: ${error.message}`, { cause: error });
}
