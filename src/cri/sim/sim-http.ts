/** HTTP servers of simulated containers, as handlers of the simulated network. */
import type { HttpHandler } from '../../platform/http.ts';
import type { Clock } from '../../platform/clock.ts';
import type { SimContainer } from './sim-container.ts';

const defaultPorts = [80, 8080];

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

/** Opens the ports of a container that has just started; gives how to close them; undefined when it has none. */
export function openPorts(
  container: SimContainer,
  clock: Clock,
  listen: (address: string, port: number, handler: HttpHandler) => () => void,
): (() => void) | undefined {
  const { image, podIp } = container.init;
  if (image.http === undefined || podIp === '') return undefined;
  const closes = (image.ports ?? defaultPorts).map((port) => listen(podIp, port, handlerOf(container, port, clock)));
  return () => {
    for (const close of closes) close();
  };
}
