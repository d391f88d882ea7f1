/**
 * HTTP/1.1 to endpoints with persistent connections, by Node's own client. undici is faster, but has its own objects for response
 * headers and upgrades, and would be another dependency.
 */
import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Clock } from '../../../platform/clock.ts';
import { leaveAfterMany } from '../../../platform/node/interim-answers.ts';
import { readThrottle } from '../../../platform/node/read-throttle.ts';
import { joinSmallChunks } from '../../../platform/node/small-chunks.ts';
import type { Backend, Endpoint } from '../../snapshot/snapshot.ts';
import { tlsOptions } from './verify-backend.ts';
import { headerCount } from '../header-lines.ts';
import {
  CONNECT_TIMEOUT_MS,
  NotSentError,
  StaleConnectionError,
  type BackendAnswer,
  type BackendCall,
  type BackendRequest,
  type Connector,
} from './backend-call.ts';

/** Servers in Node and Go keep idle connections longer; the agent respects a server's shorter `keep-alive` timeout. */
const IDLE_MS = 4_000;
const KEPT_PER_ENDPOINT = 256;
const KEPT = { keepAlive: true, maxFreeSockets: KEPT_PER_ENDPOINT, timeout: IDLE_MS, scheduling: 'lifo' } as const;

export class Http1Connector implements Connector {
  readonly #clock: Clock;
  readonly #agent: Agent;
  readonly #isTls: boolean;

  constructor(clock: Clock, isTls: boolean) {
    this.#clock = clock;
    this.#isTls = isTls;
    this.#agent = isTls ? new TlsAgent(KEPT) : new Agent(KEPT);
  }

  close(): void {
    this.#agent.destroy();
  }

  call({ address, port }: Endpoint, request: BackendRequest, backend: Backend): BackendCall {
    const { method, target: path, hasBody } = request;
    const options = { host: address, port, method, path, agent: this.#agent, headers: headLines(request) };
    const client = this.#isTls
      ? httpsRequest({ ...options, ...tlsOptions(backend, request.authority) })
      : httpRequest(options);
    const answer = new Promise<BackendAnswer>((resolve, reject) => {
      let isConnected = false;
      client.on('error', (error) => {
        if (!isConnected) reject(new NotSentError(error));
        else reject(client.reusedSocket ? new StaleConnectionError(error) : error);
      });
      client.on('information', leaveAfterMany);
      client.once('response', (message) => {
        joinSmallChunks(message);
        resolve(answerOf(message, method));
      });
      client.once('upgrade', (_message, socket) => {
        socket.destroy();
        reject(new Error('the endpoint switched to another protocol unasked'));
      });
      this.#whenConnected(client, `to ${address}`, () => {
        isConnected = true;
        if (hasBody) request.sendBody(bodyTarget(client));
        else client.end();
      });
    });
    return { answer, cancel: () => client.destroy() };
  }

  #whenConnected(client: ClientRequest, flow: string, callback: () => void): void {
    client.once('socket', (socket: Socket) => {
      readThrottle.add(socket, flow);
      if (!socket.connecting) return callback();
      const cancel = this.#clock.setTimer(CONNECT_TIMEOUT_MS, () => client.destroy(new Error('connect timed out')));
      socket.once(this.#isTls ? 'secureConnect' : 'connect', () => {
        cancel();
        callback();
      });
      socket.once('close', cancel);
    });
  }
}

export function headLines({ authority, headers, hasBody, takesTrailers }: BackendRequest): string[] {
  const lines = ['host', authority, ...headers];
  // Node.js does not frame the body of a GET without a length: the backend would read it as the next request.
  if (hasBody && headerCount(headers, 'content-length') === 0) lines.push('transfer-encoding', 'chunked');
  if (takesTrailers) lines.push('te', 'trailers');
  return lines;
}

function bodyTarget(client: ClientRequest): Parameters<BackendRequest['sendBody']>[0] {
  return {
    write: (chunk) => client.write(chunk),
    onDrain(callback) {
      client.on('drain', callback);
    },
    end(trailers) {
      const pairs: [string, string][] = [];
      for (let at = 0; at < trailers.length; at += 2) pairs.push([trailers[at]!, trailers[at + 1]!]);
      if (pairs.length > 0 && client.chunkedEncoding) client.addTrailers(pairs);
      client.end();
    },
  };
}

function answerOf(message: IncomingMessage, method: string): BackendAnswer {
  const status = message.statusCode ?? 502;
  return {
    status,
    headers: message.rawHeaders,
    hasBody: method !== 'HEAD' && status !== 204 && status !== 304,
    body: message,
    trailers: () => message.rawTrailers,
    errorCode: () => undefined,
  };
}
