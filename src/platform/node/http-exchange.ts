/** One HTTP request of a client and its response, or the upgraded connection. */
import * as http from 'node:http';
import * as https from 'node:https';
import { Readable } from 'node:stream';
import { onAbort } from '../../base/abort.ts';
import { hasErrorCode } from '../../base/errors.ts';
import type { HttpCall, HttpAnswer, HttpUpgrade } from '../net.ts';
import { tlsOptions, waitFor, timeoutError, asError } from './client-connection.ts';
import { leaveAfterMany } from './interim-answers.ts';
import { readThrottle } from './read-throttle.ts';
import { joinSmallChunks } from './small-chunks.ts';
import { duplexOf } from './streams.ts';

function startRequest(call: HttpCall, agent: http.Agent | false): http.ClientRequest {
  call.signal?.throwIfAborted();
  const url = new URL(call.url);
  const secure = url.protocol === 'https:';
  if (!secure && url.protocol !== 'http:') throw new TypeError(`not an HTTP URL: ${call.url}`);
  const options: https.RequestOptions = {
    method: call.method,
    headers: { ...call.headers, ...lengthOf(call) } as http.OutgoingHttpHeaders,
    agent,
    socketPath: call.unixPath,
    ...(secure ? tlsOptions(call.tls) : {}),
  };
  const request = secure ? https.request(url, options) : http.request(url, options);
  request.on('error', () => undefined); // the waiting side has its own listener
  request.on('information', leaveAfterMany);
  request.once('response', joinSmallChunks);
  // Answers of thousands of chunks at one instant are read little by little, as requests are.
  request.once('socket', (socket) => readThrottle.add(socket, `to ${url.host}`));
  return request;
}

/** The length of the body, which Node.js omits for DELETE: the server would read the body as the next request. */
function lengthOf({ body, headers = {} }: HttpCall): { 'content-length'?: string } {
  const hasLength = Object.keys(headers).some((name) => /^(content-length|transfer-encoding)$/i.test(name));
  if (body === undefined || hasLength || isChunks(body)) return {};
  return { 'content-length': String(Buffer.byteLength(body)) };
}

type Body = NonNullable<HttpCall['body']>;
const isChunks = (body: Body): body is AsyncIterable<Uint8Array> =>
  typeof body !== 'string' && !(body instanceof Uint8Array);
function send(request: http.ClientRequest, body: Body | undefined): void {
  if (body === undefined || !isChunks(body)) {
    request.end(body);
    return;
  }
  const chunks = Readable.from(body, { objectMode: false });
  chunks.once('error', (error) => request.destroy(error));
  request.once('close', () => chunks.destroy());
  chunks.pipe(request);
}

export async function exchange(call: HttpCall, agent: http.Agent): Promise<HttpAnswer> {
  const beganMs = performance.now();
  const request = startRequest(call, agent);
  try {
    const answer = waitFor<http.IncomingMessage>(request, headLimits(call), (resolve) =>
      request.once('response', resolve),
    );
    send(request, call.body);
    return toAnswer(call, await answer, beganMs);
  } catch (error) {
    // The server closed a kept-alive connection just when it was used: it has seen nothing of the request.
    const stale = request.reusedSocket && hasErrorCode(error, 'ECONNRESET');
    if (stale && ['GET', 'HEAD', 'OPTIONS'].includes(call.method) && !call.signal?.aborted)
      return exchange(call, agent);
    throw error;
  }
}

export async function upgrade(call: HttpCall): Promise<HttpUpgrade | HttpAnswer> {
  const beganMs = performance.now();
  const headers = { connection: 'Upgrade', ...call.headers };
  const request = startRequest({ ...call, headers }, false);
  const answer = waitFor<HttpUpgrade | HttpAnswer>(request, headLimits(call), (resolve) => {
    request.once('upgrade', (message, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      resolve({ status: 101, headers: flatHeaders(message), socket: duplexOf(socket) });
    });
    request.once('response', (message) => resolve(toAnswer(call, message, beganMs)));
  });
  send(request, call.body);
  return answer;
}

/** How long the head may take. */
function headLimits({
  timeoutMs = Infinity,
  headTimeoutMs = Infinity,
  signal,
}: HttpCall): Parameters<typeof waitFor>[1] {
  const leastMs = Math.min(timeoutMs, headTimeoutMs);
  return leastMs === Infinity ? { signal } : { signal, timeoutMs: leastMs };
}

function toAnswer(call: HttpCall, message: http.IncomingMessage, beganMs: number): HttpAnswer {
  message.on('error', () => undefined); // the reader of the body gets the error
  const { timeoutMs } = call;
  if (timeoutMs !== undefined) {
    const leftMs = Math.max(0, beganMs + timeoutMs - performance.now());
    const deadline = setTimeout(() => message.destroy(timeoutError(timeoutMs)), leftMs);
    message.once('close', () => clearTimeout(deadline));
  }
  if (call.signal !== undefined) {
    const leave = (): void => {
      message.destroy(asError(call.signal!.reason));
    };
    message.once('close', onAbort(call.signal, leave));
  }
  return {
    status: message.statusCode ?? 0,
    headers: flatHeaders(message),
    setCookie: message.headers['set-cookie'],
    body: message,
    cancel: () => message.destroy(),
  };
}

function flatHeaders(message: http.IncomingMessage): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(message.headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}
