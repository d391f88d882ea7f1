/**
 * A volume that a program of the node's plugin directory mounts. Upstream: pkg/volume/flexvolume.
 *
 * Differs: the kubelet calls a driver's attach, not a controller on another machine.
 */
import { encodedSecretValues, secretKeyOf } from '../../secret-values.ts';
import { setUpShared, tearDownShared, type SharedDevice } from '../../shared-devices.ts';
import { fsGroupOf } from '../../volume-ownership.ts';
import type { SetUpRequest, VolumePlugin, VolumePluginDeps } from '../../volume-plugin.ts';

const NAME = 'kubernetes.io/flexvolume';

interface DriverCall {
  readonly driver: string;
  readonly command: string;
  readonly args: readonly string[];
}

export const flexVolumePlugin: VolumePlugin = {
  name: NAME,
  supports: (source) => source.flexVolume !== undefined,
  place: 'disk',
  ownsContent: false,
  live: false,
  async setUp(request, deps) {
    const { driver, fsType = '', readOnly = false } = request.spec.source.flexVolume!;
    const { attach, fsGroup, selinuxRelabel } = await deps.flexDrivers.capabilities(driver);
    const options = JSON.stringify(await optionsOf(request, deps));
    const common = { plugin: NAME, fsType, readOnly: request.spec.readOnly || readOnly, block: false, fsGroup };
    const device = attach ? await attachable(request, deps, options) : mountable(request, deps, options);
    return { ...(await setUpShared(request, deps, { ...common, ...device })), selinuxRelabel };
  },
  tearDown: (request, deps) =>
    tearDownShared(request, deps, {
      plugin: NAME,
      unpublish: ({ driver = '' }, dir) => callIfSupported(deps, { driver, command: 'unmount', args: [dir] }),
      unmountDevice: ({ driver = '' }, path) =>
        callIfSupported(deps, { driver, command: 'unmountdevice', args: [path] }),
      async detach({ driver = '', volumeName = '' }) {
        if (volumeName === '') return;
        await callIfSupported(deps, { driver, command: 'detach', args: [volumeName, deps.node().nodeName] });
      },
    }),
};

type FlexDevice = Pick<SharedDevice, 'key' | 'data' | 'attach' | 'mountDevice' | 'publish'>;

/** Whether the driver supports the command; otherwise the kubelet acts itself. */
async function callIfSupported(
  { flexDrivers }: VolumePluginDeps,
  { driver, command, args }: DriverCall,
): Promise<boolean> {
  return (await flexDrivers.call(driver, command, args)) !== undefined;
}

/** A driver without attach: each pod's volume is mounted separately. */
function mountable({ spec, pod }: SetUpRequest, deps: VolumePluginDeps, options: string): FlexDevice {
  const { driver } = spec.source.flexVolume!;
  return {
    key: `${pod.metadata.uid}-${spec.name}`,
    data: { driver, volumeName: '' },
    attach: async () => '',
    mountDevice: async () => true,
    async publish(dir) {
      if (await callIfSupported(deps, { driver, command: 'mount', args: [dir, options] })) return true;
      throw new Error(`flexVolume driver ${driver} neither attaches nor mounts`);
    },
  };
}

/**
 * A driver with attach: the device is attached to the node and mounted once, then bind-mounted into pods unless the
 * driver does it.
 */
async function attachable({ spec }: SetUpRequest, deps: VolumePluginDeps, options: string): Promise<FlexDevice> {
  const { driver } = spec.source.flexVolume!;
  const named = await deps.flexDrivers.call(driver, 'getvolumename', [options]);
  const volumeName = named?.volumeName ?? spec.persistentVolume?.metadata.name ?? spec.name;
  return {
    key: `${driver}-${volumeName}`,
    data: { driver, volumeName },
    async attach() {
      const attached = await deps.flexDrivers.call(driver, 'attach', [options, deps.node().nodeName]);
      const waited = await deps.flexDrivers.call(driver, 'waitforattach', [attached?.device ?? '', options]);
      return waited?.device ?? attached?.device ?? '';
    },
    mountDevice: (path, target) =>
      callIfSupported(deps, { driver, command: 'mountdevice', args: [target, path, options] }),
    publish: (dir) => callIfSupported(deps, { driver, command: 'mount', args: [dir, options] }),
  };
}

/** Options for the driver, with secrets in base64 as in the API. */
async function optionsOf({ pod, spec }: SetUpRequest, deps: VolumePluginDeps): Promise<Record<string, string>> {
  const { fsType = '', readOnly = false, options = {}, secretRef } = spec.source.flexVolume!;
  const { name: podName = '', namespace = '', uid = '' } = pod.metadata;
  const secrets = await encodedSecretValues(deps.client, secretKeyOf(secretRef, namespace));
  const { fsGroup } = fsGroupOf(pod);
  return {
    ...options,
    'kubernetes.io/fsType': fsType,
    'kubernetes.io/readwrite': spec.readOnly || readOnly ? 'ro' : 'rw',
    'kubernetes.io/pvOrVolumeName': spec.persistentVolume?.metadata.name ?? spec.name,
    'kubernetes.io/pod.name': podName,
    'kubernetes.io/pod.namespace': namespace,
    'kubernetes.io/pod.uid': uid,
    'kubernetes.io/serviceAccount.name': pod.spec?.serviceAccountName ?? '',
    ...(fsGroup === undefined ? {} : { 'kubernetes.io/mounterArgs.FsGroup': String(fsGroup) }),
    ...Object.fromEntries(Object.entries(secrets).map(([key, value]) => [`kubernetes.io/secret/${key}`, value])),
  };
}
