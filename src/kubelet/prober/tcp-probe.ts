/** A probe that succeeds when a connection opens. Upstream: pkg/probe/tcp. */
import { errorMessage } from '../../base/errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Net } from '../../platform/net.ts';
import type { ProbeOutcome } from './probe-outcome.ts';

/** Connection errors in Go's words, as upstream's events have them. */
export function dialErrorText(error: unknown, address: string): string {
  const code = (error as { code?: unknown }).code;
  const texts: Readonly<Record<string, string>> = {
    ECONNREFUSED: 'connect: connection refused',
    EHOSTUNREACH: 'connect: no route to host',
    ENETUNREACH: 'connect: network is unreachable',
    ECONNRESET: 'connect: connection reset by peer',
    ETIMEDOUT: 'i/o timeout',
  };
  const text = typeof code === 'string' ? texts[code] : undefined;
  return `dial tcp ${address}: ${text ?? errorMessage(error)}`;
}

/** `host:port` with brackets around IPv6. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Opens and closes one connection. */
export async function probeTcp(
  deps: { net: Net; clock: Clock },
  target: { host: string; port: number; timeoutMs: number },
): Promise<ProbeOutcome> {
  try {
    const socket = await deps.net.dial({ host: target.host, port: target.port, timeoutMs: target.timeoutMs });
    socket.destroy();
    return { result: 'success', output: '' };
  } catch (error) {
    return { result: 'failure', output: dialErrorText(error, joinHostPort(target.host, target.port)) };
  }
}
