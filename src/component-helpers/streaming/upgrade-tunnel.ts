/**
 * Forwards an upgrade request to a backend and joins the two connections once the backend has switched: exec, attach,
 * port-forward and proxied WebSockets, through the API server and through the kubelet. Upstream: apimachinery
 * util/proxy.UpgradeAwareHandler.
 *
 * Invariant: bytes of the client reach the backend only after its `101`; when a backend answers otherwise, only its
 * response is forwarded, since the client could otherwise use the credentials of this hop. Works on raw connections,
 * because old runtimes need the offered protocols unchanged: one header line each.
 */
import { badRequest } from '../../api/status-error.ts';
import { onAbort } from '../../base/abort.ts';
import type { CancelTimer } from '../../platform/clock.ts';
import type { HttpRequest } from '../../platform/http.ts';
import type { Net } from '../../platform/net.ts';
import type { ByteSink, Duplex } from '../../platform/streams.ts';
import { readHead, type ReadHead } from './answer-head.ts';
import { headForBrowser } from './console-cookie.ts';
import { type IdleLimit, requestHead, type TunnelRequest } from './request-head.ts';

/** The result of an upgrade request: the backend switched, or answered otherwise. */
export type TunnelAnswer =
  | { readonly kind: 'upgrade'; accept(client: Duplex): Promise<void>; dispose(): void }
  | {
      readonly kind: 'stream';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      run(sink: ByteSink): Promise<void>;
      /** Called instead of `run`: closes the backend's connection. */
      dispose(): void;
    };

const DIAL_TIMEOUT_MS = 30_000;

/** Whether the headers ask for an upgrade. */
export function isUpgradeRequest(headers: HttpRequest['headers']): boolean {
  return /(^|,)\s*upgrade\s*(,|$)/i.test(headers['connection'] ?? '') && headers['upgrade'] !== undefined;
}

/** The backend's answer to an upgrade request. */
export type UpgradeOutcome =
  | { readonly kind: 'switched'; readonly backend: Duplex; readonly head: ReadHead }
  | { readonly kind: 'refused'; readonly answer: TunnelAnswer };

/**
 * Connects, sends the request and waits for the response's head. Rejects when the backend cannot be reached or does
 * not answer in HTTP.
 */
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

/** As `dialUpgrade`, with the result as a response for the client. */
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

interface Pair {
  readonly client: Duplex;
  readonly backend: Duplex;
  /** Call whenever bytes were forwarded. */
  readonly active: () => void;
}

/** Calls back after `limit` without activity. One timer, restarted when it fires: passing bytes only read the clock. */
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
 * Resolves when both sides have ended. The client's end is forwarded while the backend continues; after the backend's
 * end the client's further bytes are read and discarded: closing with unread bytes would reset the connection and
 * could lose the end of the response.
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
    // One side disconnected; closing its connection informs the other.
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
