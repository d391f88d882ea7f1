/**
 * Registers plugins by the sockets in the plugin directory with the handler of their type, and deregisters them when
 * their sockets are removed. Upstream: pkg/kubelet/pluginmanager (manager, reconciler, operationexecutor).
 *
 * Invariants: one task at a time per socket, independent of other sockets; a recreated socket is a new plugin; failed
 * calls are retried with back-off.
 */
import { onAbort } from '../../base/abort.ts';
import { createBackoff, type Backoff } from '../../base/backoff.ts';
import { errorMessage } from '../../base/errors.ts';
import type { GrpcConnector } from '../../grpc/grpc-connector.ts';
import type { CancelTimer } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { startPluginWatcher } from './plugin-watcher.ts';
import { getPluginInfo, notifyRegistrationStatus, registrationTable } from './registration-client.ts';
import { background } from '../../platform/unexpected.ts';

/** A plugin as passed to its handler. */
export interface Plugin {
  readonly name: string;
  /** Socket of its service. */
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

/** Handles plugins of one type. A rejection is reported to the plugin, and the call is tried again later. */
export interface PluginHandler {
  validatePlugin(plugin: Plugin): Promise<void>;
  registerPlugin(plugin: Plugin, signal: AbortSignal): Promise<void>;
  /** Its socket was removed or recreated. */
  deregisterPlugin(plugin: Plugin, signal: AbortSignal): Promise<void>;
}

/** The types of plugins, as in PluginInfo. */
export type PluginType = 'CSIPlugin' | 'DRAPlugin' | 'DevicePlugin';

export interface PluginManager {
  /** Sets the handler of a type. Before the start. */
  addHandler(type: PluginType, handler: PluginHandler): void;
  start(signal: AbortSignal): void;
}

export interface PluginManagerDeps {
  readonly platform: Pick<Platform, 'files' | 'clock' | 'log'>;
  readonly connect: GrpcConnector;
}

const BACKOFF_SHAPE = { initialMs: 500, maxMs: 122_000 } as const;

interface Entry {
  readonly socketPath: string;
  readonly backoff: Backoff;
  /** Stamp of the current socket; undefined: it was removed. */
  wanted: string | undefined;
  registered?: { readonly stamp: string; readonly plugin: Plugin; readonly handler: PluginHandler };
  working: boolean;
  /** The desired state changed during the task. */
  again: boolean;
  cancelRetry?: CancelTimer | undefined;
}

/** Makes the manager of `<kubelet root>/plugins_registry`. No I/O before the start. */
export function createPluginManager(deps: PluginManagerDeps, directory: string): PluginManager {
  const { clock, files } = deps.platform;
  const log = deps.platform.log.child('plugin-manager');
  const handlers = new Map<string, PluginHandler>();
  const entries = new Map<string, Entry>();

  function setSockets(sockets: ReadonlyMap<string, string>, signal: AbortSignal): void {
    for (const [socketPath, stamp] of sockets) {
      const entry = entries.get(socketPath) ?? newEntry(socketPath);
      entries.set(socketPath, entry);
      setDesired(entry, stamp, signal);
    }
    for (const entry of entries.values()) if (!sockets.has(entry.socketPath)) setDesired(entry, undefined, signal);
  }

  function setDesired(entry: Entry, stamp: string | undefined, signal: AbortSignal): void {
    if (entry.wanted === stamp) return;
    entry.wanted = stamp;
    entry.backoff.reset();
    work(entry, signal);
  }

  function work(entry: Entry, signal: AbortSignal): void {
    entry.cancelRetry?.();
    if (signal.aborted) return;
    entry.again = entry.working;
    if (entry.working) return;
    entry.working = true;
    background(
      log,
      'a plugin could not be registered',
      reconcile(entry, signal).finally(() => {
        entry.working = false;
        if (entry.again) work(entry, signal);
        else if (entry.wanted === undefined && entry.registered === undefined) entries.delete(entry.socketPath);
        else if (entry.wanted !== entry.registered?.stamp && !signal.aborted)
          entry.cancelRetry = clock.setTimer(entry.backoff.nextMs(), () => work(entry, signal));
      }),
    );
  }

  async function reconcile(entry: Entry, signal: AbortSignal): Promise<void> {
    const { socketPath, registered } = entry;
    try {
      if (registered !== undefined && registered.stamp !== entry.wanted) {
        await registered.handler.deregisterPlugin(registered.plugin, signal);
        delete entry.registered;
        log.info('Plugin deregistered', { plugin: registered.plugin.name, path: socketPath });
      }
      if (entry.wanted === undefined || entry.registered !== undefined) return;
      await register(entry, entry.wanted, signal);
    } catch (error) {
      if (!signal.aborted) log.error('Plugin registration failed', { path: socketPath, err: error });
    }
  }

  async function register(entry: Entry, stamp: string, signal: AbortSignal): Promise<void> {
    const { socketPath } = entry;
    const caller = deps.connect(socketPath, [registrationTable]);
    try {
      const info = await getPluginInfo(caller, signal);
      const plugin = { ...info, endpoint: info.endpoint === '' ? socketPath : info.endpoint };
      const notify = (problem?: string): Promise<void> => notifyRegistrationStatus(caller, problem, signal);
      const failed = async (text: string, cause?: unknown): Promise<never> => {
        await notify(text).catch((error: unknown) =>
          log.warn('Cannot tell a plugin of its failed registration', { path: socketPath, err: error }),
        );
        throw new Error(text, { cause });
      };
      // Upstream dials any endpoint as a unix socket; our connector would take another text for a URL.
      if (!plugin.endpoint.startsWith('/'))
        return await failed(`the endpoint "${plugin.endpoint.slice(0, 200)}" is not the absolute path of a socket`);
      const handler = handlers.get(info.type);
      if (handler === undefined)
        return await failed(`no handler registered for plugin type: ${info.type} at socket ${socketPath}`);
      await handler
        .validatePlugin(plugin)
        .catch((error: unknown) => failed(`plugin validation failed with err: ${errorMessage(error)}`, error));
      await handler
        .registerPlugin(plugin, signal)
        .catch((error: unknown) => failed(`plugin registration failed with err: ${errorMessage(error)}`, error));
      // Registered from here on: if the notification fails, the plugin is deregistered like any other.
      entry.registered = { stamp, plugin, handler };
      await notify();
      log.info('Plugin registered', { type: info.type, plugin: info.name, path: socketPath });
    } finally {
      caller.disconnect();
    }
  }

  return {
    addHandler: (type, handler) => handlers.set(type, handler),
    start: (signal) => {
      onAbort(signal, () => entries.forEach((entry) => entry.cancelRetry?.()));
      startPluginWatcher({ files, clock, log, onSockets: (sockets) => setSockets(sockets, signal) }, directory, signal);
    },
  };
}

function newEntry(socketPath: string): Entry {
  return { socketPath, backoff: createBackoff(BACKOFF_SHAPE), wanted: undefined, working: false, again: false };
}
