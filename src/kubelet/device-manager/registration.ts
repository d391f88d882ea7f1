/**
 * Registers device plugins: those that call `kubelet.sock` in the device plugin directory, and those that the plugin
 * manager finds. Watches each plugin's devices until it disconnects. Upstream:
 * pkg/kubelet/cm/devicemanager/plugin/v1beta1.
 */
import { onAbort } from '../../base/abort.ts';
import type { GrpcConnector } from '../../grpc/grpc-connector.ts';
import type { SocketServer } from '../../grpc/socket-server.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Files } from '../../platform/files.ts';
import type { Log } from '../../platform/log.ts';
import type { PluginHandler } from '../plugin-manager/plugin-manager.ts';
import type { DeviceInventory } from './device-inventory.ts';
import { countDevices, MAX_RESOURCES } from './device-limits.ts';
import { devicePluginTable, type PluginDevice, type RegisterRequest } from './device-plugin-api.ts';
import { connectEndpoint, type Endpoint } from './endpoint.ts';
import { background, isProgramError } from '../../platform/unexpected.ts';

const VERSION = 'v1beta1';
/** Limits a plugin's device messages: a burst, then a rate. A long list counts as one more for each 1,000 devices. */
const LIST_GAP_MS = 100;
const LIST_BURST = 10;
const DEVICES_PER_GAP = 1_000;
const CHECKPOINT = 'kubelet_internal_checkpoint';

export interface DeviceRegistrationDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly connect: GrpcConnector;
  readonly serve: SocketServer;
  readonly inventory: DeviceInventory;
  /** Called when devices were added or removed, or their health changed. */
  readonly onChange: (resource: string) => void;
}

export interface DeviceRegistration {
  /** For the plugin manager. */
  readonly pluginHandler: PluginHandler;
  /** Removes sockets of an earlier run, after which plugins register again, and serves. */
  start(signal: AbortSignal): Promise<void>;
}

export function createDeviceRegistration(deps: DeviceRegistrationDeps, directory: string): DeviceRegistration {
  const { inventory, files, log } = deps;
  let lifetime: AbortSignal | undefined;

  async function follow(resource: string, endpoint: Endpoint, signal: AbortSignal): Promise<void> {
    const pause = pacer(deps.clock, signal);
    const take = createListTaker(deps, resource);
    try {
      for await (const devices of endpoint.listAndWatch(signal)) {
        if (inventory.endpoint(resource) !== endpoint) return;
        if (take(devices)) deps.onChange(resource);
        await pause(devices.length);
      }
      log.info('Device plugin ended', { resource });
    } catch (error) {
      if (isProgramError(error))
        log.unexpected('ListAndWatch ended unexpectedly for device plugin', error, { resource });
      else if (!signal.aborted) log.warn('ListAndWatch ended unexpectedly for device plugin', { resource, err: error });
    } finally {
      endpoint.disconnect();
      if (!signal.aborted && inventory.disconnected(resource, endpoint)) deps.onChange(resource);
    }
  }

  async function connect(resource: string, socketPath: string): Promise<void> {
    const signal = lifetime;
    if (signal === undefined || signal.aborted) throw new Error('the kubelet does not take plugins now');
    if (!inventory.isKnown(resource) && inventory.resources().length >= MAX_RESOURCES)
      throw new Error(`device plugins of this node have ${MAX_RESOURCES} resources already`);
    const endpoint = await connectEndpoint(deps.connect, socketPath);
    inventory.connected(resource, endpoint)?.disconnect();
    log.info('Device plugin connected', { resource, path: socketPath });
    background(log, 'a device plugin is followed no more', follow(resource, endpoint, signal));
  }

  async function register(request: RegisterRequest): Promise<object> {
    const { version, endpoint, resourceName } = request;
    log.info('Got registration request from device plugin with resource', { resource: resourceName });
    checkVersions([version]);
    checkName(resourceName);
    if (endpoint === '' || endpoint.includes('/')) throw new Error(`the endpoint "${endpoint}" is no name of a socket`);
    await connect(resourceName, `${directory}/${endpoint}`);
    return {};
  }

  return {
    pluginHandler: {
      async validatePlugin({ name, supportedVersions }) {
        checkVersions(supportedVersions);
        checkName(name);
      },
      registerPlugin: ({ name, endpoint }) => connect(name, endpoint),
      async deregisterPlugin({ name }) {
        const endpoint = inventory.endpoint(name);
        if (endpoint === undefined) return;
        endpoint.disconnect();
        if (inventory.disconnected(name, endpoint)) deps.onChange(name);
      },
    },
    async start(signal) {
      lifetime = signal;
      await files.makeDir(directory, { mode: 0o750 });
      for (const name of await files.readDir(directory))
        if (name !== CHECKPOINT && (await files.lstat(`${directory}/${name}`)).kind !== 'directory')
          await files.remove(`${directory}/${name}`);
      const server = await deps.serve(`${directory}/kubelet.sock`, [devicePluginTable], {
        'v1beta1.Registration/Register': register,
      });
      const close = (): void => {
        server.close().catch((error: unknown) => log.error('cannot close the device plugin socket', { err: error }));
      };
      if (signal.aborted) close();
      else onAbort(signal, close);
    },
  };
}

/** Takes lists of one plugin's devices into the inventory. The function returns whether something changed for pods or the node. */
function createListTaker(
  { inventory, log }: Pick<DeviceRegistrationDeps, 'inventory' | 'log'>,
  resource: string,
): (devices: readonly PluginDevice[]) => boolean {
  let isFirst = true;
  let isRefusing = false;
  return (devices) => {
    const room = inventory.room(resource);
    if (countDevices(devices) > room) {
      if (!isRefusing)
        log.warn('Device plugin lists too many devices; they count as unhealthy until it lists fewer', {
          resource,
          devices: devices.length,
          limit: room,
        });
      isRefusing = true;
      return inventory.refused(resource);
    }
    isRefusing = false;
    log.debug('Device plugin told of its devices', { resource, devices: devices.length });
    const isChanged = inventory.update(resource, devices) || isFirst;
    isFirst = false;
    return isChanged;
  };
}

/** Delays messages that come faster than the limit; flow control then slows the plugin down. */
function pacer(clock: Clock, signal: AbortSignal): (devices: number) => Promise<void> {
  let spare = LIST_BURST;
  let lastMs = clock.monotonicMs();
  return async (devices) => {
    const nowMs = clock.monotonicMs();
    spare = Math.min(LIST_BURST, spare + (nowMs - lastMs) / LIST_GAP_MS) - 1 - devices / DEVICES_PER_GAP;
    lastMs = nowMs;
    if (spare < 0) await clock.sleep(-spare * LIST_GAP_MS, signal);
  };
}

function checkVersions(versions: readonly string[]): void {
  if (versions.includes(VERSION)) return;
  throw new Error(
    `requested API version "${versions.join(', ')}" is not supported by kubelet. Supported version is "${VERSION}"`,
  );
}

/** Checks for an extended resource: a name with a domain that is not Kubernetes' own. */
function checkName(resource: string): void {
  const match = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)\/([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)$/.exec(resource);
  if (
    match === null ||
    match[1] === 'kubernetes.io' ||
    match[1]!.endsWith('.kubernetes.io') ||
    resource.startsWith('requests.')
  )
    throw new Error(`the ResourceName "${resource}" is invalid`);
}
