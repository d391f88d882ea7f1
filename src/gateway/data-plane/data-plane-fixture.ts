/** A data plane on its own ports with servers behind it, for tests over real sockets. */
import { once } from 'node:events';
import { createServer, request, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo, type Server as NetServer, type Socket } from 'node:net';
import type { Clock } from '../../platform/clock.ts';
import { createNodeClock } from '../../platform/node/clock.ts';
import { freePort } from '../../platform/node/free-port-fixture.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import type { Backend, DataPlaneReport, Endpoint, Listener, Route, Snapshot } from '../snapshot/snapshot.ts';
import { DataPlane } from './data-plane.ts';
import type { PlaneLimits } from './plane-limits.ts';
import type { StalledBodies } from './stalled-bodies.ts';

/** Functions that end resources after a test, in reverse order. */
const ending: (() => unknown)[] = [];

export async function endAll(): Promise<void> {
  for (const end of ending.splice(0).toReversed()) await end();
}

export interface TestPlane {
  readonly plane: DataPlane;
  readonly port: number;
  readonly tlsPort: number;
  /** Serves these routes on the plain port and, with certificates, on the TLS port. */
  serve(
    routes: readonly Route[],
    backends: Snapshot['backends'],
    certificates?: Listener['certificates'],
  ): Promise<void>;
  readonly reports: readonly DataPlaneReport[];
}

/** With a virtual clock, time advances for the data plane but not for its sockets. */
export async function startPlane(
  clock: Clock = createNodeClock(),
  limits?: PlaneLimits,
  stalled?: StalledBodies,
): Promise<TestPlane> {
  const reports: DataPlaneReport[] = [];
  const { log } = createSimPlatform();
  const report = (made: DataPlaneReport): void => void reports.push(made);
  const plane = new DataPlane({ clock, log, report, limits, stalled });
  const [port, tlsPort] = [await freePort(), await freePort()];
  let generation = 0;
  ending.push(() => plane.stop());
  return {
    plane,
    port,
    tlsPort,
    reports,
    async serve(routes, backends, certificates) {
      const plain = { port, isTls: false, routes, certificates: [] };
      const listeners =
        certificates === undefined ? [plain] : [plain, { port: tlsPort, isTls: true, routes, certificates }];
      await plane.apply(++generation, { listeners, backends });
    },
  };
}

/** A route with defaults for the parts that a test leaves out. */
export function route(parts: Partial<Route> & { readonly path?: Route['match']['path'] } = {}): Route {
  const { path = { type: 'prefix', value: '/' }, ...others } = parts;
  return {
    source: 'test',
    host: '',
    wildcardDepth: 'one',
    match: { path },
    backends: [{ backend: 'b', weight: 1 }],
    emptyStatus: 503,
    ...others,
  };
}

/** An HTTP/1.1 server on loopback. */
export async function startBackend(listener: RequestListener): Promise<Backend & { readonly server: Server }> {
  const server = createServer(listener);
  return { protocol: 'http', endpoints: [await startServer(server)], server };
}

/** Listens on a free port of loopback. The server and its connections end after the test. */
export async function startServer(server: NetServer): Promise<Endpoint> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ending.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { address: '127.0.0.1', port: portOf(server) };
}

export function portOf(server: { address(): unknown }): number {
  return (server.address() as AddressInfo).port;
}

/** Lets sockets and timers run. */
export function turn(): Promise<void> {
  return createNodeClock().yield();
}

export function atEnd(end: () => unknown): void {
  ending.push(end);
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends one request on a new connection. */
export async function get(
  port: number,
  path: string,
  options: {
    readonly headers?: Record<string, string>;
    readonly method?: string;
    readonly body?: string;
  } = {},
): Promise<Answer> {
  const { headers, method, body } = options;
  const client = request({ host: '127.0.0.1', port, path, method, headers, agent: false });
  client.end(body);
  const [answer] = (await once(client, 'response')) as [import('node:http').IncomingMessage];
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: text };
}

/** Sends bytes unchanged; resolves to everything received until the end. */
export async function raw(port: number, text: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => undefined);
  socket.write(text);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}
