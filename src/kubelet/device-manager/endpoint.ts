/** A registered device plugin: its calls and the stream of its devices. Upstream: pkg/kubelet/cm/devicemanager/endpoint.go. */
import type { GrpcCaller } from '../../grpc/grpc-caller.ts';
import type { GrpcConnector } from '../../grpc/grpc-connector.ts';
import { MAX_RESPONSE_CHARACTERS } from './device-limits.ts';
import {
  devicePluginTable,
  type ContainerAllocateResponse,
  type DevicePluginOptions,
  type PluginDevice,
} from './device-plugin-api.ts';

/** Upstream's deadlines: ten seconds for other calls, thirty for PreStartContainer. */
const PRE_START_TIMEOUT_MS = 30_000;
const CALL_TIMEOUT_MS = 120_000;
const OPTIONS_TIMEOUT_MS = 10_000;

/** The plugin as the manager calls it. */
export interface Endpoint {
  readonly options: DevicePluginOptions;
  allocate(ids: readonly string[]): Promise<ContainerAllocateResponse>;
  preferredAllocation(from: {
    readonly available: readonly string[];
    readonly mustInclude: readonly string[];
    readonly size: number;
  }): Promise<readonly string[]>;
  preStartContainer(ids: readonly string[]): Promise<void>;
  /** All devices, each time something changes. Ends or throws when the plugin disconnects. */
  listAndWatch(signal: AbortSignal): AsyncIterable<readonly PluginDevice[]>;
  disconnect(): void;
}

/** Connects to a plugin's socket, and asks for its options unless the registration contained them. */
export async function connectEndpoint(
  connect: GrpcConnector,
  socketPath: string,
  registered?: DevicePluginOptions,
): Promise<Endpoint> {
  const caller = connect(socketPath, [devicePluginTable]);
  const unary = (method: string, request: object, timeoutMs: number): Promise<object> =>
    caller.unary({ service: 'v1beta1.DevicePlugin', method }, request, { timeoutMs });
  const options =
    registered ?? ((await unary('GetDevicePluginOptions', {}, OPTIONS_TIMEOUT_MS)) as DevicePluginOptions);
  return {
    options,
    async allocate(ids) {
      const answer = await unary('Allocate', { containerRequests: [{ devicesIds: ids }] }, CALL_TIMEOUT_MS);
      const [response] = (answer as { containerResponses: ContainerAllocateResponse[] }).containerResponses;
      if (response === undefined) throw new Error('no containers return in allocation response');
      if (JSON.stringify(response).length > MAX_RESPONSE_CHARACTERS)
        throw new Error(`the allocation response is longer than ${MAX_RESPONSE_CHARACTERS} characters`);
      return response;
    },
    async preferredAllocation({ available, mustInclude, size }) {
      const request = { availableDeviceIDs: available, mustIncludeDeviceIDs: mustInclude, allocationSize: size };
      const answer = await unary('GetPreferredAllocation', { containerRequests: [request] }, CALL_TIMEOUT_MS);
      return (answer as { containerResponses: { deviceIDs: string[] }[] }).containerResponses[0]?.deviceIDs ?? [];
    },
    preStartContainer: async (ids) => {
      await unary('PreStartContainer', { devicesIds: ids }, PRE_START_TIMEOUT_MS);
    },
    listAndWatch: (signal) => watch(caller, signal),
    disconnect: () => caller.disconnect(),
  };
}

async function* watch(caller: GrpcCaller, signal: AbortSignal): AsyncIterable<readonly PluginDevice[]> {
  const method = { service: 'v1beta1.DevicePlugin', method: 'ListAndWatch' };
  for await (const message of caller.stream(method, {}, { signal }))
    yield (message as { devices: readonly PluginDevice[] }).devices;
}
