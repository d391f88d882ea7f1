/** The servers of simulated containers: HTTP handlers on the simulated network, or real servers of the test behind their ports. */
import type { HttpHandler } from '../../platform/http.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Duplex } from '../../platform/streams.ts';
import { CriError } from '../cri-error.ts';
import type { CriRuntimeService } from '../gen/cri-types.ts';
import type { SimRuntimeDeps, SimState } from './sim-state.ts';
import type { SimContainer } from './sim-container.ts';
import { portOfServer, type SimServer } from './sim-image.ts';

const DEFAULT_PORTS = [80, 8080];
const MAX_BODY_BYTES = 16 * 1024 * 1024;

function handlerOf(container: SimContainer, port: number, clock: Clock): HttpHandler {
  return async (request) => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, value ?? '']));
    const uptimeMs = clock.nowMs() - container.startedAtMs;
    const { method, path, query } = request;
    const hasBody = method !== 'GET' && method !== 'HEAD';
    const body = hasBody ? Buffer.from(await request.readBody(MAX_BODY_BYTES)).toString('utf8') : '';
    const answer = await awaitWithTimeHeld(clock, `${method} ${path} of a simulated container`, () =>
      container.init.image.http!({ method, path, query, headers, body, port, uptimeMs }),
    );
    return {
      kind: 'bytes',
      status: answer.status,
      headers: answer.headers ?? {},
      chunks: [Buffer.from(answer.body ?? '')],
    };
  };
}

/** Awaits a function of the test while virtual time stands still. */
export async function awaitWithTimeHeld<T>(clock: Clock, what: string, work: () => T | Promise<T>): Promise<T> {
  const result = work();
  if (!(result instanceof Promise)) return result;
  const release = clock.holdBusy(what);
  try {
    return await result;
  } finally {
    release();
  }
}

/** The handler of a container's port; undefined when the container does not listen there. */
function httpOf(container: SimContainer, port: number, clock: Clock): HttpHandler | undefined {
  const { image } = container.init;
  return image.http !== undefined && (image.ports ?? DEFAULT_PORTS).includes(port)
    ? handlerOf(container, port, clock)
    : undefined;
}

/** The ports of a container on which servers of the test answer. */
function serversOf({ init }: SimContainer): readonly (readonly [number, SimServer])[] {
  return Object.entries(init.image.servers ?? {}).map(([port, server]) => [Number(port), server]);
}

/**
 * Opens the ports of a container that has just started; returns a function that closes them; undefined without ports.
 */
export function openPorts(
  container: SimContainer,
  { clock, listen, listenServer }: Pick<SimRuntimeDeps, 'clock' | 'listen' | 'listenServer'>,
): (() => void) | undefined {
  const { image, podIp } = container.init;
  if (podIp === '' || (image.http === undefined && image.servers === undefined)) return undefined;
  const servers = serversOf(container);
  const taken = new Set(servers.map(([port]) => port));
  const httpPorts = image.http === undefined ? [] : (image.ports ?? DEFAULT_PORTS).filter((port) => !taken.has(port));
  const closes = [
    ...servers.map(([port, server]) => listenServer?.(podIp, port, () => portOfServer(server))),
    ...httpPorts.map((port) => listen?.(podIp, port, handlerOf(container, port, clock))),
  ];
  return () => {
    for (const close of closes) close?.();
  };
}

/**
 * The URL at which a client's port-forward reaches the servers of a pod's containers. Throws CriError where nothing
 * can be reached from outside.
 */
export function forwardUrl(
  state: SimState,
  { podSandboxId, port: ports = [] }: Parameters<CriRuntimeService['portForward']>[0],
): string {
  const { serveHttp } = state.deps;
  if (state.streamingAt === undefined || serveHttp === undefined)
    throw new CriError('Unimplemented', 'method PortForward not implemented');
  const token = state.newId().slice(0, 16);
  state.pendingStreams.set(token, {
    ports,
    serve: (port, socket) => serveOnPod(state, { podSandboxId, port, socket }),
  });
  return `http://${state.streamingAt}/portforward/${token}`;
}

interface ForwardedPort {
  readonly podSandboxId: string | undefined;
  readonly port: number;
  readonly socket: Duplex;
}

function serveOnPod(
  { containers, deps }: SimState,
  { podSandboxId, port, socket }: ForwardedPort,
): Promise<void> | undefined {
  for (const container of containers.values()) {
    if (container.init.sandboxId !== podSandboxId || container.state !== 'CONTAINER_RUNNING') continue;
    const server = serversOf(container).find(([own]) => own === port)?.[1];
    if (server !== undefined) return connectServer(deps, server)?.then((other) => joinStreams(socket, other));
    const handler = httpOf(container, port, deps.clock);
    if (handler !== undefined) return deps.serveHttp!(handler, socket);
  }
  return undefined;
}

/** Undefined while the server does not listen. */
function connectServer({ dialServer }: SimRuntimeDeps, server: SimServer): Promise<Duplex> | undefined {
  try {
    return dialServer?.(portOfServer(server));
  } catch {
    return undefined;
  }
}

/** Copies bytes both ways until both sides have ended; an error on one side ends the other. */
async function joinStreams(a: Duplex, b: Duplex): Promise<void> {
  const isOver = a.closed.then(() => b.destroy());
  await Promise.all([copyStream(a, b), copyStream(b, a), isOver]);
}

async function copyStream(from: Duplex, to: Duplex): Promise<void> {
  try {
    for await (const chunk of from.incoming) await to.write(chunk);
    await to.end();
  } catch (error) {
    to.destroy(error as Error);
    from.destroy(error as Error);
  }
}
