/** A path of the node. Upstream: pkg/volume/hostpath. */
import { kindOfHostPath } from '../../host-path-check.ts';
import type { VolumePlugin, VolumePluginDeps } from '../../volume-plugin.ts';

export const hostPathPlugin: VolumePlugin = {
  name: 'kubernetes.io/host-path',
  supports: (source) => source.hostPath !== undefined,
  place: 'disk',
  ownsContent: false,
  live: false,
  async setUp({ spec }, deps) {
    const { path, type = '' } = spec.source.hostPath!;
    if (path.split('/').includes('..')) throw new Error(`path "${path}" contains ".."`);
    const block = spec.persistentVolume?.spec?.volumeMode === 'Block';
    await checkType(path, type, deps);
    if (block && (await kindOfHostPath(path, deps.platform)) !== 'block')
      throw new Error(`${path} is not a block device`);
    return { hostPath: path, readOnly: spec.readOnly, selinuxRelabel: false, ...(block ? { block } : {}) };
  },
};

/** The kind of file that must be at the path, by type, in upstream's words. */
const EXPECTATIONS: Readonly<Record<string, { readonly kind: string; readonly text: string }>> = {
  DirectoryOrCreate: { kind: 'directory', text: 'a directory' },
  Directory: { kind: 'directory', text: 'a directory' },
  FileOrCreate: { kind: 'file', text: 'a file' },
  File: { kind: 'file', text: 'a file' },
  Socket: { kind: 'socket', text: 'a socket file' },
  CharDevice: { kind: 'char', text: 'a character device' },
  BlockDevice: { kind: 'block', text: 'a block device' },
};

async function checkType(path: string, type: string, deps: VolumePluginDeps): Promise<void> {
  if (type === '') return;
  const { files } = deps.platform;
  const expected = Object.hasOwn(EXPECTATIONS, type) ? EXPECTATIONS[type] : undefined;
  if (expected === undefined) throw new Error(`${type} is an invalid volume type`);
  let kind = await kindOfHostPath(path, deps.platform);
  if (kind === undefined && type === 'DirectoryOrCreate') {
    await files.makeDir(path, { mode: 0o755 });
    kind = 'directory';
  } else if (kind === undefined && type === 'FileOrCreate') {
    await files.writeFile(path, '', { mode: 0o644 });
    kind = 'file';
  }
  if (kind !== expected.kind) throw new Error(`hostPath type check failed: ${path} is not ${expected.text}`);
}
