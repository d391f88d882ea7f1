// Finds what is wrong with one response.
import { gunzipSync } from 'node:zlib';
import { decodeProtobuf, isProtobuf } from '../../../src/api/codec/protobuf.ts';
import { parseYaml } from '../../../src/api/codec/yaml.ts';
import { type Answer, bytesOf, type Exchange, type RawExchange } from '../exchange.ts';
import { isAllowed, isAllowedForHead } from './allowed-statuses.ts';
import { judgeGrpc, judgeKubelet } from './kubelet-answers.ts';

export interface Problem {
  /** Equal for problems of the same kind. */
  readonly signature: string;
  readonly detail: string;
}

interface StatusObject {
  readonly kind?: string;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
}

function readStatus({ headers, body }: Answer): StatusObject | undefined {
  try {
    const bytes = headers?.['content-encoding'] === 'gzip' ? gunzipSync(body!) : body!;
    if (isProtobuf(bytes)) return decodeProtobuf(bytes) as StatusObject;
    const text = bytes.toString();
    return (headers?.['content-type']?.includes('yaml') ? parseYaml(text).value : JSON.parse(text)) as StatusObject;
  } catch {
    return undefined;
  }
}

const problem = (signature: string, detail: string): Problem => ({ signature, detail: detail.slice(0, 600) });

/** Names, numbers and quoted values differ between exchanges. */
const general = (text: string): string => text.replaceAll(/"[^"]*"|\d+|fuzz\S*/g, '…').slice(0, 90);

export function judgeAnswer(exchange: Exchange, answer: Answer, isKubelet = false): Problem | undefined {
  if (answer.outcome === 'late') return problem('late', `no answer within the deadline: ${answer.status ?? 'no head'}`);
  if (exchange.kind === 'grpc') return judgeGrpc(exchange, answer);
  const { status, body } = answer;
  if (status === undefined) return undefined;
  if (isKubelet) return judgeKubelet(exchange, answer);
  if (exchange.kind === 'raw') return status >= 500 ? judgeRaw(exchange, answer) : undefined;
  if (exchange.kind !== 'http' || answer.outcome !== 'answered' || status < 400) return undefined;
  const path = bytesOf(exchange.path).toString('latin1');
  if (exchange.method === 'HEAD')
    return status < 500 || isAllowedForHead({ status, path }) ? undefined : problem(`HEAD ${status}`, path);
  const text = body?.toString() ?? '';
  const said = readStatus(answer);
  const { reason = '', message = text } = said ?? {};
  if (status >= 500)
    return isAllowed({ status, reason, message, path }) ? undefined : problem(`${status} ${general(message)}`, text);
  if (isHttpLayer(status, text) || /\/proxy/.test(path)) return undefined;
  if (said?.kind !== 'Status' || said.code !== status || typeof said.message !== 'string')
    return problem(`${status} without a Status: ${general(text)}`, text);
  if (!said.reason && ![405, 431].includes(status))
    return problem(`${status} without a reason: ${general(message)}`, text);
  return undefined;
}

/**
 * Refusals of HTTP itself, before there is a request or outside of the API: as net/http's, they have no body or a line of text.
 */
function isHttpLayer(status: number, text: string): boolean {
  if (status === 404 && text === '404 page not found\n') return true;
  return [400, 408, 413, 417, 431].includes(status) && !text.startsWith('{') && text.length < 100;
}

function judgeRaw({ kind, parts }: RawExchange, { status = 0, body }: Answer): Problem | undefined {
  const text = body?.toString('latin1') ?? '';
  const at = text.search(/HTTP\/1\.1 5/);
  const own = text.slice(at);
  const message = /"message": ?"([^"]*)/.exec(own)?.[1] ?? '';
  const reason = /"reason": ?"([^"]*)/.exec(own)?.[1] ?? '';
  // In a pipeline this may be the response to any request.
  const sent = parts.map((part) => bytesOf(part).toString('latin1')).join('');
  const paths = [...sent.matchAll(/^[A-Z]+ (\S+) HTTP\/1/gm)].map(([, path]) => path!);
  if (paths.some((path) => isAllowed({ status, reason, message, path }))) return undefined;
  return problem(`${kind} ${status} ${general(message)}`, `${paths.join(' ')}: ${own}`);
}
