/**
 * The gRPC health check over a plain connection, without a gRPC library: one HTTP/2 request, and only as much of the
 * answer as tells SERVING from anything else. Loaded at the first gRPC probe. Upstream: pkg/probe/grpc.
 */
import type { Clock } from '../../platform/clock.ts';
import type { Net } from '../../platform/net.ts';
import type { ProbeOutcome } from './probe-outcome.ts';
import { joinHostPort } from './tcp-probe.ts';

const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const ACK = 1;
const END_STREAM = 1;
const END_HEADERS = 4;
const SERVING = 1;

function frame(type: number, payload: Uint8Array, { flags = 0, stream = 0 } = {}): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** HPACK: literals without indexing or Huffman coding, which any peer must understand. */
function headerBlock(headers: readonly (readonly [string, string])[]): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of headers) parts.push(Buffer.from([0]), hpackString(name), hpackString(value));
  return Buffer.concat(parts);
}

function hpackString(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const prefix = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest >>= 7) prefix.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...prefix, rest]), bytes]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest >>>= 7) bytes.push((rest & 127) | 128);
  return [...bytes, rest];
}

/** The request's bytes: preface, settings, headers and one message with the service's name. */
export function healthCheckRequest(authority: string, service: string): Buffer {
  const name = Buffer.from(service);
  const message =
    name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, ...varint(name.length)]), name]);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  const headers = headerBlock([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', '/grpc.health.v1.Health/Check'],
    [':authority', authority],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ['user-agent', 'kube-probe/1.36'],
  ]);
  return Buffer.concat([
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    frame(SETTINGS, Buffer.alloc(0)),
    frame(HEADERS, headers, { flags: END_HEADERS, stream: 1 }),
    frame(DATA, Buffer.concat([prefix, message]), { flags: END_STREAM, stream: 1 }),
  ]);
}

/** The serving status in a HealthCheckResponse; 0 (UNKNOWN) when it has none. */
function servingStatus(message: Buffer): number {
  return message.length >= 2 && message[0] === 0x08 ? message[1]! : 0;
}

interface Reading {
  status: number | undefined;
  done: boolean;
  problem: string | undefined;
}

/** Reads whole frames off `buffer`, answers settings and pings, and returns what is left over. */
function readFrames(buffer: Buffer, state: Reading & { body: Buffer }, reply: (bytes: Buffer) => void): Buffer {
  let rest = buffer;
  while (rest.length >= 9 && !state.done) {
    const length = rest.readUIntBE(0, 3);
    if (rest.length < 9 + length) break;
    const type = rest[3]!;
    const flags = rest[4]!;
    const payload = rest.subarray(9, 9 + length);
    rest = rest.subarray(9 + length);
    if (type === SETTINGS && (flags & ACK) === 0) reply(frame(SETTINGS, Buffer.alloc(0), { flags: ACK }));
    else if (type === PING && (flags & ACK) === 0) reply(frame(PING, payload, { flags: ACK }));
    else if (type === DATA) state.body = Buffer.concat([state.body, payload]);
    else if (type === RST_STREAM || type === GOAWAY)
      Object.assign(state, { done: true, problem: 'connection closed by the server' });
    if (state.body.length >= 5 && state.body.length >= 5 + state.body.readUInt32BE(1)) {
      state.status = servingStatus(state.body.subarray(5, 5 + state.body.readUInt32BE(1)));
      state.done = true;
    } else if ((type === DATA || type === HEADERS) && (flags & END_STREAM) !== 0) state.done = true;
  }
  return rest;
}

/** Asks once. */
export async function probeGrpc(
  deps: { net: Net; clock: Clock },
  target: { host: string; port: number; service: string; timeoutMs: number },
): Promise<ProbeOutcome> {
  const address = joinHostPort(target.host, target.port);
  const timedOut: ProbeOutcome = {
    result: 'failure',
    output: `timeout: failed to connect service "${address}" within ${target.timeoutMs / 1000}s: context deadline exceeded`,
  };
  let socket: Awaited<ReturnType<Net['dial']>>;
  try {
    socket = await deps.net.dial({ host: target.host, port: target.port, timeoutMs: target.timeoutMs });
  } catch {
    return timedOut;
  }
  let expired = false;
  const cancel = deps.clock.setTimer(target.timeoutMs, () => {
    expired = true;
    socket.destroy();
  });
  const state: Reading & { body: Buffer } = {
    status: undefined,
    done: false,
    problem: undefined,
    body: Buffer.alloc(0),
  };
  try {
    await socket.write(healthCheckRequest(address, target.service));
    let buffer: Buffer = Buffer.alloc(0);
    for await (const chunk of socket.incoming) {
      buffer = readFrames(
        Buffer.concat([buffer, chunk]),
        state,
        (bytes) => void socket.write(bytes).catch(() => undefined),
      );
      if (state.done) break;
    }
  } catch (error) {
    state.problem = error instanceof Error ? error.message : String(error);
  } finally {
    cancel();
    socket.destroy();
  }
  if (expired) return timedOut;
  if (state.status === SERVING) return { result: 'success', output: 'service healthy' };
  if (state.status !== undefined)
    return {
      result: 'failure',
      output: `service unhealthy (responded with "${['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'][state.status] ?? state.status}")`,
    };
  return {
    result: 'failure',
    output: `error: health rpc probe failed: ${state.problem ?? 'the service answered with an error'}`,
  };
}
