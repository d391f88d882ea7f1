/**
 * Connections that switch to another protocol, such as WebSocket: the request is forwarded with its `Upgrade`, and once the
 * backend agrees, both connections are joined. HTTP/2's form of it (RFC 8441) is not offered; browsers then use HTTP/1.1.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { headLines } from './backends/http1-backend.ts';
import { tlsOptions } from './backends/verify-backend.ts';
import { CONNECT_TIMEOUT_MS, type BackendRequest } from './backends/backend-call.ts';
import type { Clock } from '../../platform/clock.ts';
import { leaveAfterMany } from '../../platform/node/interim-answers.ts';
import type { Backend, Endpoint, Route } from '../snapshot/snapshot.ts';
import { destroyOnceSent, joinConnections } from './join-connections.ts';
import { applyChanges, responseLines, type HeaderLines } from './header-lines.ts';
import type { ForwardDeps } from './forward.ts';
import { pump, type PumpDeps } from './pump.ts';

/** The time in which a refused client must read the rest of its response. */
const REFUSED_MS = 10_000;

/** A request to switch, with its backend. */
export interface UpgradeRequest {
  readonly socket: Socket;
  /** The client's bytes after the headers. */
  readonly head: Buffer;
  readonly protocol: string;
  readonly method: string;
  readonly clientAddress: string;
  readonly backend: Backend;
  readonly route: Route;
  readonly request: Pick<BackendRequest, 'target' | 'authority' | 'headers'>;
  readonly responseHeaders: readonly Parameters<typeof applyChanges>[1][];
}

/** Resolves when the connections are joined, or the client has its response. */
export async function forwardUpgrade(deps: ForwardDeps, upgrade: UpgradeRequest): Promise<void> {
  const { backends, clock } = deps;
  const { socket, backend, clientAddress } = upgrade;
  socket.on('error', () => socket.destroy());
  for (const endpoint of backends.order(backend, clientAddress)) {
    if (socket.destroyed) return;
    if (await tryEndpoint(deps, endpoint, upgrade)) return;
    backends.failed(endpoint);
  }
  refuseUpgrade(socket, clock, { status: 502, text: 'the backend cannot be reached' });
}

/** Responds to a request to switch and ends its connection, even when the client keeps its side open. */
export function refuseUpgrade(
  socket: Socket,
  clock: Clock,
  { status, text }: { readonly status: number; readonly text: string },
): void {
  const body = `${text}\n`;
  const head = `HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}\r\ncontent-type: text/plain; charset=utf-8\r\n`;
  socket.end(`${head}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`);
  destroyAfterResponse(socket, clock);
}

/** Reads and drops the client's further bytes: unread bytes would reset the connection and lose the response. */
function destroyAfterResponse(socket: Socket, clock: Clock): void {
  destroyOnceSent(socket, clock, REFUSED_MS);
  socket.resume();
}

const LATE = { status: 504, text: 'no answer in time' };
const BROKEN = { status: 502, text: 'the backend ended the request' };
const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  404: 'Not Found',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

/** Resolves to false when the endpoint could not be reached. */
function tryEndpoint(deps: PumpDeps, { address, port }: Endpoint, upgrade: UpgradeRequest): Promise<boolean> {
  const { clock } = deps;
  const { socket, backend, protocol, method, request } = upgrade;
  const whole: BackendRequest = { ...request, method, hasBody: false, takesTrailers: false, sendBody: () => undefined };
  const headers = [...headLines(whole), 'connection', 'Upgrade', 'upgrade', protocol];
  const options = { host: address, port, method, path: request.target, headers, agent: false as const };
  const isTls = backend.protocol === 'https' || backend.protocol === 'h2';
  const client = isTls ? httpsRequest({ ...options, ...tlsOptions(backend, whole.authority) }) : httpRequest(options);
  return new Promise((resolve) => {
    let isConnected = false;
    let isLate = false;
    let cancel = clock.setTimer(CONNECT_TIMEOUT_MS, () => client.destroy(new Error('connect timed out')));
    const startAnswerTimer = (): void => {
      cancel();
      const limitMs = upgrade.route.requestTimeoutMs || upgrade.route.responseTimeoutMs || 0;
      if (limitMs > 0)
        cancel = clock.setTimer(limitMs, () => {
          isLate = true;
          client.destroy(new Error('no answer in time'));
        });
    };
    const onClientGone = (): void => {
      client.destroy();
    };
    socket.once('close', onClientGone);
    client.once('socket', (own: Socket) =>
      own.once(isTls ? 'secureConnect' : 'connect', () => {
        isConnected = true;
        startAnswerTimer();
      }),
    );
    client.on('information', leaveAfterMany);
    client.on('error', () => {
      cancel();
      socket.off('close', onClientGone);
      if (isConnected && !socket.destroyed) refuseUpgrade(socket, clock, isLate ? LATE : BROKEN);
      resolve(isConnected || socket.destroyed);
    });
    client.once('response', (answer) => {
      cancel();
      refusedByBackend(deps, answer, upgrade);
      resolve(true);
    });
    client.once('upgrade', (answer, backendSocket, backendHead) => {
      cancel();
      socket.write(
        headText(answer, [
          ...changedResponseLines(answer.rawHeaders, upgrade),
          'connection',
          'Upgrade',
          'upgrade',
          protocol,
        ]),
      );
      if (backendHead.length > 0) socket.write(backendHead);
      if (upgrade.head.length > 0) backendSocket.write(upgrade.head);
      joinConnections(socket, backendSocket, clock);
      resolve(true);
    });
    client.end();
  });
}

/** Forwards the backend's ordinary response and ends the connection. */
function refusedByBackend(deps: PumpDeps, answer: IncomingMessage, upgrade: UpgradeRequest): void {
  const { socket } = upgrade;
  const lines = changedResponseLines(answer.rawHeaders, upgrade);
  socket.write(headText(answer, [...lines, 'connection', 'close']));
  socket.resume();
  const target = {
    write: (chunk: Buffer) => socket.write(chunk),
    onDrain: (callback: () => void) => {
      socket.on('drain', callback);
    },
  };
  const onEnd = (): void => {
    socket.end();
    destroyAfterResponse(socket, deps.clock);
  };
  pump(answer, target, deps, { onEnd, onStalled: () => socket.destroy() });
  answer.on('error', () => socket.destroy());
}

function changedResponseLines(raw: HeaderLines, { responseHeaders }: UpgradeRequest): string[] {
  let lines = responseLines(raw);
  for (const changes of responseHeaders) lines = applyChanges(lines, changes);
  return lines;
}

function headText({ statusCode, statusMessage }: IncomingMessage, lines: HeaderLines): string {
  let text = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`;
  for (let at = 0; at < lines.length; at += 2) text += `${lines[at]}: ${lines[at + 1]}\r\n`;
  return `${text}\r\n`;
}
