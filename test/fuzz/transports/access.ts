// The address of a target, the credentials, and the time limits of responses.
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { bytesOf, type HttpExchange } from '../exchange.ts';

export interface TcpAccess {
  readonly host: string;
  readonly port: number;
  /** Absent for plain HTTP. */
  readonly tls?: {
    readonly cert?: string;
    readonly key?: string;
    readonly rejectUnauthorized?: boolean;
  };
  /** Headers of every request, such as a token. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

/** A unix socket without TLS. */
export interface SocketAccess {
  readonly socketPath: string;
}

export type Access = TcpAccess | SocketAccess;

/** Later responses count as failed; the machine may be busy. */
export const LATE_MS = 30_000;

/** The time for which an endless response is read. */
export const OPEN_MS = 40;

/** Whether the response may be endless: a watch, a stream, a proxied request. */
export function isOpenEnded(exchange: HttpExchange): boolean {
  return /watch|follow|exec|attach|portforward|portForward|proxy|ontainerLogs|\/run/.test(
    bytesOf(exchange.path).toString('latin1'),
  );
}

/** A connection; `opened` is the event after which bytes can be sent. */
export function open(access: Access, protocol: string): { readonly socket: Socket; readonly opened: string } {
  if ('socketPath' in access) return { socket: connectPlain(access.socketPath), opened: 'connect' };
  const { host, port, tls } = access;
  if (tls === undefined) return { socket: connectPlain(port, host), opened: 'connect' };
  const socket = connectTls({ host, port, ...tls, ALPNProtocols: [protocol], servername: '' });
  return { socket, opened: 'secureConnect' };
}
