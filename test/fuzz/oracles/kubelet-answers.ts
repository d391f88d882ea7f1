// Finds what is wrong with a response of a kubelet's server or of its sockets.
import { type Answer, bytesOf, type Exchange, type GrpcExchange } from '../exchange.ts';
import type { Problem } from './answers.ts';

interface AllowedFault {
  readonly status: number;
  readonly path: RegExp;
  readonly text: RegExp;
  readonly because: string;
}

const allowedFaults: readonly AllowedFault[] = [
  {
    status: 500,
    path: /\/(exec|attach|run)\//,
    text: /^container not found \(/,
    because: 'upstream answers so where the container does not run',
  },
  {
    status: 500,
    path: /\/portForward\//,
    text: /^cannot find a ready sandbox for pod /,
    because: 'a pod whose sandbox is not there; upstream answers so',
  },
  {
    status: 500,
    path: /\/checkpoint\//,
    text: /^(cannot parse value of timeout parameter|checkpointing of .* failed \(rpc error)/,
    because: 'upstream answers so for a bad timeout, and for a runtime that fails',
  },
  {
    status: 500,
    path: /\/(run|exec|attach|portForward|containerLogs|runningpods|stats|metrics)(\/|\?|$)/,
    text: /rpc error: code = |^the runtime's address of the stream is no URL: |ECONNREFUSED/,
    because: 'the runtime failed, or answered what cannot be read or reached',
  },
  {
    status: 500,
    path: /^\/stats\/|^\/metrics/,
    text: /^E[A-Z]+: /,
    because: 'the runtime named a file system that is not there',
  },
  {
    status: 501,
    path: /^\/debug(\/|\?|$)/,
    text: /^profiling is not served$/,
    because: 'profiles are refused',
  },
];

const general = (text: string): string => text.replaceAll(/"[^"]*"|\d+|fuzz\S*/g, '…').slice(0, 90);

export function judgeKubelet(exchange: Exchange, answer: Answer): Problem | undefined {
  const { status = 0, body } = answer;
  const text = body?.toString('latin1') ?? '';
  if (status < 500 || (exchange.kind === 'http' && answer.outcome !== 'answered')) return undefined;
  const paths = pathsOf(exchange);
  const own = exchange.kind === 'raw' ? (text.split(/HTTP\/1\.1 5\d\d[^]*?\r\n\r\n/)[1] ?? '') : text;
  const last = exchange.kind === 'peers' ? exchange.requests.at(-1) : exchange;
  const isHead = last?.kind === 'http' && last.method === 'HEAD';
  const isAllowed = allowedFaults.some(
    (fault) =>
      fault.status === status &&
      (paths.length === 0 || paths.some((path) => fault.path.test(path))) &&
      (isHead || fault.text.test(own.trim())),
  );
  if (isAllowed) return undefined;
  return {
    signature: `kubelet ${status} ${general(own)}`,
    detail: `${paths.join(' ').slice(0, 300)}: ${own.slice(0, 300)}`,
  };
}

function pathsOf(exchange: Exchange): string[] {
  switch (exchange.kind) {
    case 'http':
      return [bytesOf(exchange.path).toString('latin1')];
    case 'raw': {
      const sent = exchange.parts.map((part) => bytesOf(part).toString('latin1')).join('');
      return [...sent.matchAll(/^[A-Z]+ (?:https?:\/\/[^/]*)?(\S+) HTTP\/1/gm)].map(([, path]) => path!);
    }
    case 'peers':
      return exchange.requests.map(({ path }) => bytesOf(path).toString('latin1'));
    default:
      return [];
  }
}

/** Texts of internal errors, which must not reach clients. */
const PROGRAM_ERROR =
  /is not a function|Cannot read|undefined|is not iterable|Invalid (array|string) length|Maximum call/;

/** By RFC 9113 a body of another length than announced ends its stream, whatever was sent before. */
function isCutByLength({ headers, parts }: GrpcExchange): boolean {
  const announced = headers.find(([name]) => name === 'content-length')?.[1];
  return announced !== undefined && Number(announced) !== parts.reduce((sum, part) => sum + bytesOf(part).length, 0);
}

/** Every accepted call must end with a status and a message of the service. */
export function judgeGrpc(exchange: GrpcExchange, { outcome, headers = {} }: Answer): Problem | undefined {
  const { path, headers: sent } = exchange;
  if (outcome === 'closed') {
    const status = headers[':status'];
    // Malformed requests are refused before there is a call, as by any HTTP/2 server.
    const isRequest = sent.length === 1 && path.startsWith('/');
    if ((status === undefined && !isRequest) || Number(status) >= 400 || isCutByLength(exchange)) return undefined;
    return { signature: 'gRPC answer without a status', detail: `${path}: ${JSON.stringify(headers)}` };
  }
  const { 'grpc-status': status = '', 'grpc-message': message = '' } = headers;
  if (!/^([0-9]|1[0-6])$/.test(status)) return { signature: `grpc-status ${status}`, detail: `${path}: ${message}` };
  if (!PROGRAM_ERROR.test(decodeURIComponent(message))) return undefined;
  return { signature: `gRPC ${status} ${general(message)}`, detail: `${path}: ${message.slice(0, 300)}` };
}
