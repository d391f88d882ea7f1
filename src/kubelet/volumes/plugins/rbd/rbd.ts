/**
 * An image of a Ceph cluster, mapped by the node's rbd program. Upstream had pkg/volume/rbd until v1.30.
 */
import type { RBDPersistentVolumeSource, RBDVolumeSource } from '../../../../api/gen/core-v1.ts';
import { runTool, tryTool } from '../../run-tool.ts';
import { secretKeyOf, secretValues } from '../../secret-values.ts';
import { setUpShared, tearDownShared } from '../../shared-devices.ts';
import { toolArgument } from '../../tool-arguments.ts';
import type { VolumePlugin, VolumePluginDeps } from '../../volume-plugin.ts';

const NAME = 'kubernetes.io/rbd';

interface Image {
  readonly pool: string;
  readonly image: string;
}

export const rbdPlugin: VolumePlugin = {
  name: NAME,
  supports: (source) => source.rbd !== undefined,
  place: 'disk',
  ownsContent: false,
  live: false,
  async setUp(request, deps) {
    const source = request.spec.source.rbd!;
    checkSource(source);
    const { pool = 'rbd', image, fsType = '' } = source;
    const secrets = await secretValues(deps.client, secretKeyOf(source.secretRef, request.pod.metadata.namespace));
    return setUpShared(request, deps, {
      plugin: NAME,
      key: `${pool}-image-${image}`,
      data: { pool, image },
      fsType,
      readOnly: request.spec.readOnly || (source.readOnly ?? false),
      block: request.spec.persistentVolume?.spec?.volumeMode === 'Block',
      attach: async () => (await mapped(deps, { pool, image })) ?? map(deps, source, Object.values(secrets)[0]),
    });
  },
  tearDown: (request, deps) =>
    tearDownShared(request, deps, {
      plugin: NAME,
      async detach({ pool = '', image = '' }) {
        const device = await mapped(deps, { pool, image });
        if (device !== undefined) await runTool(deps.platform.exec, 'rbd', ['unmap', device]);
      },
    }),
};

/** The device of a mapped image. Older rbd programs print an object by number, newer ones a list. */
async function mapped({ platform }: VolumePluginDeps, { pool, image }: Image): Promise<string | undefined> {
  const text = await runTool(platform.exec, 'rbd', ['showmapped', '--format', 'json']);
  const entries = Object.values(JSON.parse(text === '' ? '[]' : text) as Record<string, Record<string, string>>);
  return entries.find((entry) => entry['pool'] === pool && entry['name'] === image)?.['device'];
}

/** Rejects texts that rbd would parse as an option, as several values, or as a file of the node. */
function checkSource({ pool, image, user, keyring, monitors }: RBDVolumeSource | RBDPersistentVolumeSource): void {
  toolArgument('image', image, 'text');
  if (pool !== undefined) toolArgument('pool', pool, 'text');
  if (user !== undefined) toolArgument('user', user, 'name');
  if (keyring !== undefined) toolArgument('keyring', keyring, 'absolutePath');
  for (const monitor of monitors) toolArgument('monitor', monitor, 'monitor');
}

async function map(
  { platform }: VolumePluginDeps,
  source: RBDVolumeSource | RBDPersistentVolumeSource,
  key: string | undefined,
): Promise<string> {
  const { exec, log } = platform;
  const { pool = 'rbd', image, user = 'admin', keyring = '/etc/ceph/keyring', monitors } = source;
  const options = [`--pool=${pool}`, `--id=${user}`, '-m', monitors.join(',')];
  const readOnly = source.readOnly === true ? ['--read-only'] : [];
  if (key !== undefined) return runTool(exec, 'rbd', ['map', image, ...options, `--key=${key}`, ...readOnly]);
  const { exitCode, stdout, stderr } = await tryTool(exec, 'rbd', [
    'map',
    image,
    ...options,
    `--keyring=${keyring}`,
    ...readOnly,
  ]);
  if (exitCode === 0) return stdout.trim();
  // The pod names the keyring file, and rbd prints its invalid lines: they must not appear in an event.
  log.warn('rbd map failed', { image, pool, exitCode, stderr: stderr.trim() });
  throw new Error(`rbd failed: exit status ${exitCode}; its output is in the kubelet's log`);
}
