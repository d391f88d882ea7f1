/** HTTP servers of simulated containers, as handlers of the simulated network. */
import type { HttpHandler } from '../../platform/http.ts';
import type { Clock } from '../../platform/clock.ts';
import { CriError } from '../cri-error.ts';
import type { CriRuntimeService } from '../gen/cri-types.ts';
import type { SimState } from './sim-state.ts';
import type { SimContainer } from './sim-container.ts';

const DEFAULT_PORTS = [80, 8080];

function handlerOf(container: SimContainer, port: number, clock: Clock): HttpHandler {
  return (request) => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, value ?? '']));
    const uptimeMs = clock.nowMs() - container.startedAtMs;
    const answer = container.init.image.http!({ method: request.method, path: request.path, headers, port, uptimeMs });
    return {
      kind: 'bytes',
      status: answer.status,
      headers: answer.headers ?? {},
      chunks: [Buffer.from(answer.body ?? '')],
    };
  };
}

/** What a container serves on a port; undefined: nothing listens there. */
function httpOf(container: SimContainer, port: number, clock: Clock): HttpHandler | undefined {
  const { image } = container.init;
  return image.http !== undefined && (image.ports ?? DEFAULT_PORTS).includes(port)
    ? handlerOf(container, port, clock)
    : undefined;
}

/** Opens the ports of a container that has just started; gives how to close them; undefined when it has none. */
export function openPorts(
  container: SimContainer,
  clock: Clock,
  listen: (address: string, port: number, handler: HttpHandler) => () => void,
): (() => void) | undefined {
  const { image, podIp } = container.init;
  if (image.http === undefined || podIp === '') return undefined;
  const closes = (image.ports ?? DEFAULT_PORTS).map((port) => listen(podIp, port, handlerOf(container, port, clock)));
  return () => {
    for (const close of closes) close();
  };
}

/** Where a client's port-forward reaches the servers of a pod's containers. Throws CriError when nobody can from outside. */
export function forwardUrl(
  state: SimState,
  { podSandboxId, port: ports = [] }: Parameters<CriRuntimeService['portForward']>[0],
): string {
  const { clock, serveHttp } = state.deps;
  if (state.streamingAt === undefined || serveHttp === undefined)
    throw new CriError('Unimplemented', 'method PortForward not implemented');
  const token = state.newId().slice(0, 16);
  const handlerOfPort = (port: number): HttpHandler | undefined => {
    for (const container of state.containers.values()) {
      if (container.init.sandboxId !== podSandboxId || container.state !== 'CONTAINER_RUNNING') continue;
      const handler = httpOf(container, port, clock);
      if (handler !== undefined) return handler;
    }
    return undefined;
  };
  state.pendingStreams.set(token, {
    ports,
    serve(port, socket) {
      const handler = handlerOfPort(port);
      return handler && serveHttp(handler, socket);
    },
  });
  return `http://${state.streamingAt}/portforward/${token}`;
}
