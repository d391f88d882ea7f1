/**
 * The CRI client: both services of a runtime behind a unix socket, and its events. gRPC is loaded at the first call, or
 * earlier by `warm()`. Upstream: cri-client.
 */
import type { CriCallOptions } from './call-options.ts';
import { createContainerdEvents, eventsTable } from './containerd-events.ts';
import { endTask, removeWithTasks, tasksTable } from './containerd-tasks.ts';
import { tracedCall } from './traced-call.ts';
import type { Clock } from '../platform/clock.ts';
import { createSettledEvents } from './settled-events.ts';
import { isCriCode } from './cri-error.ts';
import type { GrpcCaller } from '../grpc/grpc-caller.ts';
import type { GrpcConnector } from '../grpc/grpc-connector.ts';
import { criTable } from './gen/cri-table.ts';
import type { ContainerEventType, CriImageService, CriRuntimeService } from './gen/cri-types.ts';
import type { CriEvent, CriRuntime } from './runtime-service.ts';

export interface CriClientConfig {
  /** `unix:///run/containerd/containerd.sock` or a bare path. */
  readonly endpoint: string;
  /** Deadline of calls without one of their own. Upstream's default is two minutes. */
  readonly requestTimeoutMs?: number;
  /** Namespace of containerd that holds the CRI's containers, for its own event service. */
  readonly containerdNamespace?: string;
}

export interface CriClientDeps {
  readonly clock: Clock;
  /** How to reach the runtime. Default: gRPC over its socket, with containerd's namespace in each call. */
  readonly connectGrpc?: GrpcConnector;
}

/** The client; `warm` loads gRPC ahead of the first call. */
export interface CriClient extends CriRuntime {
  warm(): Promise<void>;
}

const DEFAULT_TIMEOUT_MS = 120_000;
/** As upstream's kubelet. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** A container in a list has some forty values. */
const MAX_MESSAGE_VALUES = 1_000_000;
/** Methods that may take longer than the default: a sandbox twice as long, a pull until the caller aborts. */
const TIMEOUT_FACTORS: Readonly<Record<string, number>> = { RunPodSandbox: 2, StopPodSandbox: 2, PullImage: 0 };

const EVENT_TYPES: Readonly<Record<ContainerEventType, CriEvent['type']>> = {
  CONTAINER_CREATED_EVENT: 'created',
  CONTAINER_STARTED_EVENT: 'started',
  CONTAINER_STOPPED_EVENT: 'stopped',
  CONTAINER_DELETED_EVENT: 'deleted',
};

/** The socket's path of a CRI endpoint. Throws when it is invalid. */
export function socketPathOf(endpoint: string): string {
  if (endpoint.startsWith('/')) return endpoint;
  if (endpoint.startsWith('unix:')) return endpoint.slice('unix:'.length).replace(/^\/\/+/, '/');
  throw new Error(`CRI endpoint ${endpoint}: only unix sockets are supported`);
}

/** The deadline of one call: the method's; StopContainer and ExecSync add their own timeout. */
function deadlineMs(method: string, request: object, baseMs: number): number | undefined {
  const { timeoutSeconds } = request as { timeoutSeconds?: number };
  if (method === 'ExecSync' && !timeoutSeconds) return undefined;
  const ms = baseMs * (TIMEOUT_FACTORS[method] ?? 1) + (timeoutSeconds ?? 0) * 1000;
  return ms === 0 ? undefined : ms;
}

/** Connects at the first call. After a failure the next call connects again. */
export function createCriClient({ clock, connectGrpc }: CriClientDeps, config: CriClientConfig): CriClient {
  const socketPath = socketPathOf(config.endpoint);
  const baseMs = config.requestTimeoutMs ?? DEFAULT_TIMEOUT_MS;
  const headers = { 'containerd-namespace': config.containerdNamespace ?? 'k8s.io' };
  const tables = [criTable, eventsTable, tasksTable];
  let caller: Promise<GrpcCaller> | undefined;
  const connect = async (): Promise<GrpcCaller> => {
    if (connectGrpc !== undefined) return connectGrpc(socketPath, tables);
    const { createGrpcCaller } = await import('../grpc/grpc-caller.ts');
    return createGrpcCaller(
      { clock },
      {
        target: { socketPath },
        tables,
        headers,
        maxMessageBytes: MAX_MESSAGE_BYTES,
        maxMessageValues: MAX_MESSAGE_VALUES,
      },
    );
  };
  const load = (): Promise<GrpcCaller> => (caller ??= connect());

  const serviceOf = <T>(name: keyof typeof criTable.services): T => {
    const service = `${criTable.package}.${name}`;
    const methods: Record<string, unknown> = {};
    for (const [method, types] of Object.entries(criTable.services[name])) {
      const local = method.charAt(0).toLowerCase() + method.slice(1);
      methods[local] = types.includes(' stream ')
        ? async function* (request: object, options: CriCallOptions = {}) {
            yield* (await load()).stream({ service, method }, request, options);
          }
        : async (request: object, { span, ...options }: CriCallOptions = {}) => {
            const own = options.timeoutMs ?? deadlineMs(method, request, baseMs);
            const timeoutMs = own === 0 ? undefined : own;
            const call = async (traceHeaders?: Readonly<Record<string, string>>) =>
              (await load()).unary({ service, method }, request, { ...options, timeoutMs, headers: traceHeaders });
            return span === undefined ? call() : tracedCall(span, { service, method }, call);
          };
    }
    return methods as T;
  };

  const runtime = removingTasks(serviceOf<CriRuntimeService>('RuntimeService'), load);
  const images = serviceOf<CriImageService>('ImageService');
  return {
    runtime,
    images,
    warm: async () => {
      await load();
    },
    events: (signal) =>
      eventsOf({
        runtime,
        containerd: createSettledEvents({
          clock,
          runtime,
          source: createContainerdEvents(load, headers['containerd-namespace']),
        }),
        signal,
      }),
  };
}

/** The service with removals that also kill tasks unknown to CRI. */
function removingTasks(service: CriRuntimeService, load: () => Promise<GrpcCaller>): CriRuntimeService {
  const end = async (containerId: string): Promise<void> => endTask(await load(), containerId);
  return {
    ...service,
    removeContainer: (request, options) => removeWithTasks(() => service.removeContainer(request, options), end),
    removePodSandbox: (request, options) => removeWithTasks(() => service.removePodSandbox(request, options), end),
  };
}

/** CRI's own events where the runtime has them, containerd's event service otherwise. */
async function* eventsOf(from: {
  runtime: CriRuntimeService;
  containerd: (signal: AbortSignal) => AsyncIterable<CriEvent>;
  signal: AbortSignal;
}): AsyncIterable<CriEvent> {
  try {
    for await (const event of from.runtime.getContainerEvents({}, { signal: from.signal })) {
      yield { containerId: event.containerId, type: EVENT_TYPES[event.containerEventType] };
    }
    return;
  } catch (error) {
    if (!isCriCode(error, 'Unimplemented')) throw error;
  }
  yield* from.containerd(from.signal);
}
