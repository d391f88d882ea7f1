/** A device plugin behind a fake socket. */
import { Channel } from '../../base/channel.ts';
import type { FakeSockets } from '../../grpc/grpc-connector-fixture.ts';
import { devicePluginTable, type PluginDevice } from './device-plugin-api.ts';

const DIRECTORY = '/var/lib/kubelet/device-plugins';

export interface FakeDevicePlugin {
  /** The calls it received: `Allocate a,b`. */
  readonly calls: string[];
  register(): Promise<void>;
  /** Sends its devices: `a`, or `a!` for an unhealthy one. */
  tell(...devices: readonly string[]): void;
  /** Closes its socket. */
  stop(): void;
  /** Thrown by the next Allocate. */
  failure: Error | undefined;
  /** Further variables for each container. */
  environment: Readonly<Record<string, string>>;
}

/** A plugin of a resource with these devices; with `numa` the digit in a name is its NUMA node. */
export function createFakeDevicePlugin(
  sockets: FakeSockets,
  of: { readonly resource: string; readonly numa?: boolean; readonly prefers?: readonly string[] },
): FakeDevicePlugin {
  const calls: string[] = [];
  const socket = `${of.resource.replace('/', '_')}.sock`;
  const channels = new Set<Channel<object>>();
  let devices: readonly string[] = [];
  const deviceOf = (text: string): PluginDevice => {
    const ID = text.replace('!', '');
    const node = Number(/\d/.exec(ID)?.[0] ?? 0);
    const topology = of.numa === true ? { topology: { nodes: [{ ID: node }] } } : {};
    return { ID, health: text.endsWith('!') ? 'Unhealthy' : 'Healthy', ...topology };
  };
  const message = (): object => ({ devices: devices.map(deviceOf) });
  const plugin: FakeDevicePlugin = {
    calls,
    failure: undefined,
    environment: {},
    async register() {
      sockets.serve(`${DIRECTORY}/${socket}`, {
        GetDevicePluginOptions: () => ({
          preStartRequired: true,
          getPreferredAllocationAvailable: of.prefers !== undefined,
        }),
        async *ListAndWatch() {
          const channel = new Channel<object>();
          channels.add(channel);
          yield message();
          yield* channel;
        },
        GetPreferredAllocation: () => ({ containerResponses: [{ deviceIDs: of.prefers ?? [] }] }),
        Allocate({ containerRequests }: { containerRequests: { devicesIds: string[] }[] }) {
          const ids = containerRequests[0]!.devicesIds.join(',');
          calls.push(`Allocate ${ids}`);
          if (plugin.failure !== undefined) throw plugin.failure;
          return {
            containerResponses: [
              {
                envs: { ...plugin.environment, DEVICES: ids },
                devices: [{ containerPath: '/dev/fake', hostPath: '/dev/null', permissions: 'rw' }],
                mounts: [{ containerPath: '/fake', hostPath: '/tmp', readOnly: true }],
                annotations: { 'example.com/devices': ids },
                cdiDevices: [{ name: `example.com/fake=${ids}` }],
              },
            ],
          };
        },
        PreStartContainer({ devicesIds }: { devicesIds: string[] }) {
          calls.push(`PreStartContainer ${devicesIds.join(',')}`);
          return {};
        },
      });
      const caller = sockets.connect(`${DIRECTORY}/kubelet.sock`, [devicePluginTable]);
      const request = { version: 'v1beta1', endpoint: socket, resourceName: of.resource };
      await caller.unary({ service: 'v1beta1.Registration', method: 'Register' }, request, {});
    },
    tell(...now) {
      devices = now;
      for (const channel of channels) channel.trySend(message());
    },
    stop() {
      sockets.close(`${DIRECTORY}/${socket}`);
      for (const channel of channels) channel.close();
      channels.clear();
    },
  };
  return plugin;
}
