/**
 * Hands an upgrade request on to a backend and joins the two connections once the backend has switched: exec, attach,
 * port-forward and proxied WebSockets, through the API server and through the kubelet. Upstream: apimachinery
 * util/proxy.UpgradeAwareHandler.
 *
 * Invariant: bytes of the client reach the backend only after its `101`; a backend that answers otherwise gets its answer
 * passed on and nothing more, else the client could speak to it with our credentials. Works on raw connections, because
 * the protocols offered must reach old runtimes as they came: one header line each.
 */
import { onAbort } from '../../base/abort.ts';
import { badRequest } from '../../api/status-error.ts';
import { headerValueOf, isHeaderName, isHeaderValue } from '../../base/header-text.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { HttpRequest } from '../../platform/http.ts';
import type { Net, TlsOptions } from '../../platform/net.ts';
import type { ByteSink, Duplex } from '../../platform/streams.ts';
import { cookiesForBackend, headForBrowser } from './console-cookie.ts';
import { readHead, type ReadHead } from './answer-head.ts';

/** The request to hand on. */
export interface TunnelRequest {
  readonly method: string;
  /** http: or https:, with path and query. */
  readonly url: string;
  /** The client's own, lower-case names; those of this hop are left out here. */
  readonly headers: HttpRequest['headers'];
  /** Text in the place of the client's headers of these names; `host` in the place of the URL's. */
  readonly added?: Readonly<Record<string, string | readonly string[]>>;
  readonly tls?: TlsOptions;
  readonly signal: AbortSignal;
  /** Both connections are closed when nothing has passed in either direction for so long. Absent: never. */
  readonly idle?: IdleLimit;
}

/** How long a joined pair may be silent. */
export interface IdleLimit {
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  readonly timeoutMs: number;
}

/** What came of it: the backend switched, or it answered. */
export type TunnelAnswer =
  | { readonly kind: 'upgrade'; accept(client: Duplex): Promise<void>; dispose(): void }
  | {
      readonly kind: 'stream';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      run(sink: ByteSink): Promise<void>;
      /** Called instead of `run`: leaves the backend. */
      dispose(): void;
    };

const DIAL_TIMEOUT_MS = 30_000;
const HOP_HEADERS = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'keep-alive',
  'authorization',
  'te',
  'trailer',
  'proxy-authorization',
  'proxy-connection',
]);
const BEARER_PROTOCOL = 'base64url.bearer.authorization.k8s.io.';

/** Whether the headers ask for an upgrade. */
export function isUpgradeRequest(headers: HttpRequest['headers']): boolean {
  return /(^|,)\s*upgrade\s*(,|$)/i.test(headers['connection'] ?? '') && headers['upgrade'] !== undefined;
}

/** What a backend made of an upgrade request. */
export type UpgradeOutcome =
  | { readonly kind: 'switched'; readonly backend: Duplex; readonly head: ReadHead }
  | { readonly kind: 'refused'; readonly answer: TunnelAnswer };

/** Dials, asks, and waits for the backend's head. Rejects when it cannot be reached or speaks no HTTP. */
export async function dialUpgrade(net: Net, request: TunnelRequest): Promise<UpgradeOutcome> {
  if (!isUpgradeRequest(request.headers)) throw badRequest('Upgrade request required');
  const url = new URL(request.url);
  const head = requestHead(request, url);
  const tls = url.protocol === 'https:';
  const backend = await net.dial({
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port) || (tls ? 443 : 80),
    tls: tls ? (request.tls ?? {}) : undefined,
    timeoutMs: DIAL_TIMEOUT_MS,
    signal: request.signal,
  });
  const unhook = onAbort(request.signal, () => backend.destroy());
  backend.closed.then(unhook, unhook);
  try {
    await backend.write(head);
    const answer = await readHead(backend.incoming);
    return answer.status === 101
      ? { kind: 'switched', backend, head: answer }
      : { kind: 'refused', answer: refusal(backend, answer) };
  } catch (error) {
    backend.destroy();
    throw error;
  }
}

/** As `dialUpgrade`; what comes of it is an answer for the client. */
export async function openTunnel(net: Net, request: TunnelRequest): Promise<TunnelAnswer> {
  const outcome = await dialUpgrade(net, request);
  if (outcome.kind === 'refused') return outcome.answer;
  const { backend, head } = outcome;
  return {
    kind: 'upgrade',
    async accept(client) {
      const watch = watchSilence(request.idle, () => {
        client.destroy(new Error('the stream was idle for too long'));
        backend.destroy();
      });
      await join({ client, backend, active: watch.active }, head).finally(watch.stop);
    },
    dispose: () => backend.destroy(),
  };
}

/** Throws for what Go's net/http would not send: a line break in a name or value would begin a request of its own. */
function requestHead(request: TunnelRequest, url: URL): Uint8Array {
  const { host = url.host, ...added } = request.added ?? {};
  if (!isHeaderName(request.method)) throw badRequest(`invalid method ${JSON.stringify(request.method)}`);
  const lines = [`${request.method} ${url.pathname}${url.search} HTTP/1.1`];
  const push = (name: string, value: string): void => {
    if (!isHeaderName(name)) throw badRequest(`invalid header name ${JSON.stringify(name)}`);
    if (!isHeaderValue(value)) throw badRequest(`invalid value of header ${name}`);
    lines.push(`${name}: ${value}`);
  };
  push('Host', [host].flat().join());
  push('Connection', 'Upgrade');
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || HOP_HEADERS.has(name) || name.startsWith('impersonate-') || name.startsWith('x-remote-'))
      continue;
    for (const line of headerLines(name, value)) push(name, line);
  }
  for (const [name, value] of Object.entries(added)) for (const line of [value].flat()) push(name, headerValueOf(line));
  if (request.method !== 'GET') push('Content-Length', '0');
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

/** Servers join repeated headers; old runtimes look at whole lines. Tokens hidden among the protocols stay here. */
function headerLines(name: string, value: string): readonly string[] {
  if (name === 'cookie') return [cookiesForBackend(value) ?? []].flat();
  const parts = (): string[] => value.split(',').map((part) => part.trim());
  if (name === 'x-stream-protocol-version') return parts();
  if (name === 'sec-websocket-protocol')
    return [
      parts()
        .filter((part) => !part.startsWith(BEARER_PROTOCOL))
        .join(', '),
    ];
  return [value];
}

interface Pair {
  readonly client: Duplex;
  readonly backend: Duplex;
  /** Something has passed. */
  readonly active: () => void;
}

/** Calls back once nothing was active for the limit. One timer, set anew when it rings: bytes cost a look at the clock. */
function watchSilence(
  limit: IdleLimit | undefined,
  onSilence: () => void,
): { readonly active: () => void; readonly stop: () => void } {
  if (limit === undefined) return { active: () => undefined, stop: () => undefined };
  const { clock, timeoutMs } = limit;
  let lastMs = clock.monotonicMs();
  let cancel: CancelTimer = () => undefined;
  const arm = (delayMs: number): void => {
    cancel = clock.setTimer(delayMs, () => {
      const leftMs = lastMs + timeoutMs - clock.monotonicMs();
      if (leftMs > 0) arm(leftMs);
      else onSilence();
    });
  };
  arm(timeoutMs);
  return {
    active: () => {
      lastMs = clock.monotonicMs();
    },
    stop: () => cancel(),
  };
}

/**
 * Ends when both sides have ended. The client's end is passed on while the backend goes on answering; after the backend's
 * end what the client still sends is read and dropped: closing on unread bytes would reset the connection and could take the
 * last of the answer with it.
 */
async function join(pair: Pair, head: ReadHead): Promise<void> {
  const { client, backend } = pair;
  const up = sendUp(pair);
  try {
    await client.write(headForBrowser(head.raw));
    for await (const chunk of head.rest) {
      pair.active();
      await client.write(chunk);
    }
    backend.destroy();
    await client.end();
    await up;
  } catch {
    // One side broke off; the other is told by its connection ending.
    client.destroy();
  } finally {
    backend.destroy();
  }
}

async function sendUp({ client, backend, active }: Pair): Promise<void> {
  let open = true;
  try {
    for await (const chunk of client.incoming) {
      active();
      if (!open) continue;
      await backend.write(chunk).catch(() => {
        open = false;
      });
    }
    if (open) await backend.end();
  } catch {
    backend.destroy();
  }
}

function refusal(backend: Duplex, head: ReadHead): TunnelAnswer {
  const headers: Record<string, string> = {};
  for (const name of [
    'content-type',
    'www-authenticate',
    'sec-websocket-version',
    'x-accepted-stream-protocol-versions',
  ]) {
    if (head.headers[name] !== undefined) headers[name] = head.headers[name];
  }
  return {
    kind: 'stream',
    status: head.status,
    headers,
    dispose: () => backend.destroy(),
    async run(sink) {
      try {
        for await (const chunk of head.body()) await sink.write(chunk);
      } finally {
        backend.destroy();
      }
    },
  };
}
