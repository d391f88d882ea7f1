/**
 * A container runtime made of timers: sandboxes, containers, images and events behind the same interfaces as a real
 * one, on the ports, so that whole clusters run in virtual time. What the kubelet can observe is faithful: states,
 * times, exit codes, errors by code, logs in CRI's format.
 */
import { onAbort } from '../../base/abort.ts';
import { nthAddress, formatIp, parseCidr } from '../../base/cidr.ts';
import { Channel } from '../../base/channel.ts';
import { TextInterner } from '../../base/text-interner.ts';
import { wrapMethods } from '../../base/wrap-methods.ts';
import { CriError } from '../cri-error.ts';
import type { CriImageService, CriRuntimeService } from '../gen/cri-types.ts';
import type { CriEvent, CriRuntime } from '../runtime-service.ts';
import { createSimImages, type SimImageStore } from './sim-images.ts';
import { createSimRuntimeService } from './sim-runtime-service.ts';
import type { SimContainer } from './sim-container.ts';
import { openPorts } from './sim-http.ts';
import type { SimHttpAnswer, SimHttpCall } from './sim-image.ts';
import type { SimSandbox } from './sim-sandbox.ts';
import { createSimStreaming } from './sim-streaming.ts';
import type { SimRuntimeConfig, SimRuntimeDeps, SimState } from './sim-state.ts';

/** The runtime, with the test's controls. */
export interface SimRuntime extends CriRuntime {
  /** All state, for assertions. */
  readonly sandboxes: ReadonlyMap<string, SimSandbox>;
  readonly containers: ReadonlyMap<string, SimContainer>;
  readonly store: SimImageStore;
  /** Ends a container's process like a crash. */
  crash(containerId: string, code: number, reason?: string): Promise<void>;
  /** Loses a sandbox with its network, like a rebooted machine. */
  loseSandbox(sandboxId: string): Promise<void>;
  /** Makes the next calls of a method fail with this error; undefined lets them succeed again. */
  failCalls(method: keyof CriRuntimeService | keyof CriImageService, error: CriError | undefined): void;
  /** Breaks every subscription to events, like a restart of the runtime. */
  breakEvents(): void;
  /** An HTTP request to a pod's address; undefined when nothing listens there. */
  http(ip: string, call: Omit<SimHttpCall, 'uptimeMs'>): SimHttpAnswer | Promise<SimHttpAnswer> | undefined;
  /** Number of calls per method so far. */
  readonly calls: ReadonlyMap<string, number>;
}

function createAddresses(
  network: { readonly podCidr: string | undefined },
  state: () => Iterable<SimSandbox>,
): () => string {
  let next = 2;
  return () => {
    const cidr = parseCidr(network.podCidr ?? '');
    if (cidr === undefined)
      throw new CriError('Unknown', 'failed to setup network for sandbox: cni plugin not initialized');
    const isUsed = (address: string): boolean => {
      for (const { ip } of state()) if (ip === address) return true;
      return false;
    };
    for (let rounds = 0; rounds < 2;) {
      const address = nthAddress(cidr, next++);
      if (address === undefined) [next, rounds] = [2, rounds + 1];
      else if (!isUsed(formatIp(address))) return formatIp(address);
    }
    throw new CriError('Unknown', `failed to setup network for sandbox: no address is free in ${network.podCidr}`);
  };
}

/** Counts and fails calls of a service, in front of its methods. */
function instrument<T extends object>(
  service: T,
  calls: Map<string, number>,
  failures: ReadonlyMap<string, CriError>,
): T {
  return wrapMethods(service, (name, method) => (...args) => {
    calls.set(name, (calls.get(name) ?? 0) + 1);
    const failure = failures.get(name);
    return failure === undefined ? method(...args) : Promise.reject(failure);
  });
}

const STREAMING_PORT = 10_010;

function listenForStreams(
  { listen, crypto, inflate, clock }: SimRuntimeDeps,
  { nodeAddress }: SimRuntimeConfig,
  pending: SimState['pendingStreams'],
): string | undefined {
  if (listen === undefined || crypto === undefined || inflate === undefined || nodeAddress === undefined)
    return undefined;
  const take = (token: string) => {
    const found = pending.get(token);
    pending.delete(token);
    return found;
  };
  listen(nodeAddress, STREAMING_PORT, createSimStreaming(take, { crypto, inflate, pace: clock }));
  return `${nodeAddress}:${STREAMING_PORT}`;
}

/** Ports are open while a container runs; listeners get both changes. */
function createChangeHandler(deps: SimRuntimeDeps, emit: (event: CriEvent) => void): SimState['onChange'] {
  const open = new Map<string, () => void>();
  return (container, type, exitCode) => {
    const { init } = container;
    if (type === 'stopped') {
      open.get(init.id)?.();
      open.delete(init.id);
    } else if (deps.listen !== undefined) {
      const close = openPorts(container, deps);
      if (close !== undefined) open.set(init.id, close);
    }
    emit({ containerId: init.id, type, exitCode });
  };
}

export function createSimRuntime(deps: SimRuntimeDeps, config: SimRuntimeConfig = {}): SimRuntime {
  const random = deps.random.fork('sim-runtime');
  const sandboxes = new Map<string, SimSandbox>();
  const containers = new Map<string, SimContainer>();
  const subscriptions = new Set<Channel<CriEvent>>();
  const calls = new Map<string, number>();
  const failures = new Map<string, CriError>();
  const store = createSimImages(deps, config);
  const network = { podCidr: config.networkReady === 'with-range' ? undefined : (config.podCidr ?? '10.244.0.0/16') };
  const pendingStreams = new Map() as SimState['pendingStreams'];
  const state: SimState = {
    deps,
    network,
    config,
    sandboxes,
    containers,
    store,
    texts: deps.texts ?? new TextInterner(),
    starts: new Map(),
    pendingStreams,
    streamingAt: listenForStreams(deps, config, pendingStreams),
    newId: () => Buffer.from(random.bytes(32)).toString('hex'),
    allocateIp: createAddresses(network, () => sandboxes.values()),
    emit(event) {
      for (const subscription of subscriptions) subscription.trySend(event);
    },
    onChange: createChangeHandler(deps, (event) => state.emit(event)),
  };

  async function* events(signal: AbortSignal): AsyncIterable<CriEvent> {
    signal.throwIfAborted();
    const channel = new Channel<CriEvent>();
    subscriptions.add(channel);
    const unhook = onAbort(signal, () => channel.close());
    try {
      yield* channel;
      signal.throwIfAborted();
      throw new CriError('Unavailable', 'event stream closed');
    } finally {
      subscriptions.delete(channel);
      unhook();
    }
  }

  const service = createSimRuntimeService(state);
  return {
    runtime: instrument(service, calls, failures),
    images: instrument(store.service, calls, failures),
    events,
    sandboxes,
    containers,
    store,
    calls,
    async crash(containerId, code, reason) {
      await containers.get(containerId)?.exit(code, reason);
    },
    async loseSandbox(sandboxId) {
      const sandbox = sandboxes.get(sandboxId);
      if (sandbox === undefined) return;
      sandbox.ready = false;
      for (const container of containers.values())
        if (container.init.sandboxId === sandboxId) await container.exit(255);
      state.emit({ containerId: sandboxId, type: 'stopped', exitCode: 255 });
    },
    failCalls(method, error) {
      if (error === undefined) failures.delete(method);
      else failures.set(method, error);
    },
    breakEvents() {
      for (const subscription of [...subscriptions]) subscription.close();
    },
    http(ip, call) {
      for (const container of containers.values()) {
        const { http } = container.init.image;
        if (container.init.podIp !== ip || container.state !== 'CONTAINER_RUNNING' || http === undefined) continue;
        return http({ ...call, uptimeMs: deps.clock.nowMs() - container.startedAtMs });
      }
      return undefined;
    },
  };
}
