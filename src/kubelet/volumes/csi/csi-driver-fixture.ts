/** A CSI driver in the manner of the host-path one, for a simulated host: staging and publishing are entries in its mount table. */
import type { FakeMethod, FakeSockets } from '../../../grpc/grpc-connector-fixture.ts';
import type { SimPlatform } from '../../../platform/sim/sim-platform.ts';

/** The capabilities of the driver, and its node information. */
export interface FakeDriverOptions {
  readonly capabilities?: readonly string[];
  readonly info?: object;
}

export interface FakeDriver {
  /** Requests of the methods that do something, oldest first. */
  readonly requests: { readonly method: string; readonly request: Readonly<Record<string, unknown>> }[];
  /** Methods in order, with the last part of the volume's id or path: `NodeStageVolume handle-1`. */
  readonly calls: string[];
  /** Methods that hang or fail while set. */
  readonly faults: Map<string, () => Promise<object>>;
}

const ENDPOINT = '/csi/csi.sock';

/** Serves the driver at `/csi/csi.sock`. */
export function serveFakeDriver(
  platform: SimPlatform,
  sockets: FakeSockets,
  options: FakeDriverOptions = {},
): FakeDriver {
  const { mounter, files } = platform;
  const driver: FakeDriver = { requests: [], calls: [], faults: new Map() };
  const method =
    (name: string, run: (request: Record<string, string>) => Promise<object>): FakeMethod =>
    async (request: Record<string, string>) => {
      driver.requests.push({ method: name, request });
      driver.calls.push(`${name} ${request['volumeId']}`);
      await driver.faults.get(name)?.();
      return run(request);
    };
  const mount = async (target: string): Promise<object> => {
    await files.makeDir(target);
    if (!(await mounter.isMountPoint(target))) await mounter.mount({ source: 'disk', target, type: 'ext4' });
    return {};
  };
  const unmount = async (target: string, removes: boolean): Promise<object> => {
    await mounter.unmount(target);
    if (removes) await files.remove(target);
    return {};
  };
  const methods: Readonly<Record<string, FakeMethod>> = {
    NodeGetInfo: () => options.info ?? { nodeId: 'id-of-node-1' },
    NodeGetCapabilities: () => ({
      capabilities: (options.capabilities ?? ['STAGE_UNSTAGE_VOLUME']).map((type) => ({ rpc: { type } })),
    }),
    NodeStageVolume: method('NodeStageVolume', ({ stagingTargetPath }) => mount(stagingTargetPath!)),
    NodeUnstageVolume: method('NodeUnstageVolume', ({ stagingTargetPath }) => unmount(stagingTargetPath!, false)),
    NodePublishVolume: method('NodePublishVolume', async ({ targetPath, volumeCapability }) => {
      if ((volumeCapability as { block?: object } | undefined)?.block === undefined) return mount(targetPath!);
      if (!(await files.exists(targetPath!))) files.makeSpecial(targetPath!, 'block');
      return {};
    }),
    NodeUnpublishVolume: method('NodeUnpublishVolume', ({ targetPath }) => unmount(targetPath!, true)),
    NodeExpandVolume: method('NodeExpandVolume', async () => ({})),
    NodeGetVolumeStats: method('NodeGetVolumeStats', async () => ({
      usage: [
        { unit: 'BYTES', total: 100, used: 40, available: 60 },
        { unit: 'INODES', total: 10, used: 4, available: 6 },
      ],
    })),
  };
  sockets.serve(ENDPOINT, methods);
  return driver;
}

/** The plugin as it registers. */
export const fakeDriverPlugin = {
  name: 'disks.example.com',
  endpoint: ENDPOINT,
  supportedVersions: ['1.5.0'],
} as const;
