/** What clients' connections share: TLS options, and the wait for an event within their limits. */
import type { ConnectionOptions } from 'node:tls';
import type { TlsOptions } from '../net.ts';
import type { Socket } from 'node:net';
import type * as http from 'node:http';
import { onAbort } from '../../base/abort.ts';

export function tlsOptions(tls: TlsOptions = {}): ConnectionOptions {
  return {
    cert: tls.certPem,
    key: tls.keyPem,
    // As in Go, every certificate of the pool is trusted by itself, also a server's own.
    ...(tls.caPem === undefined ? {} : { ca: tls.caPem, allowPartialTrustChain: true }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    rejectUnauthorized: tls.insecureSkipVerify !== true,
  };
}

/** Waits for `subscribe`'s event, the end of the connection, the deadline or the signal. */
export async function waitFor<T>(
  stream: Socket | http.ClientRequest,
  limits: { readonly timeoutMs?: number; readonly signal?: AbortSignal },
  subscribe: (resolve: (value: T) => void) => void,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const deadline =
    limits.timeoutMs === undefined
      ? undefined
      : setTimeout(() => stream.destroy(timeoutError(limits.timeoutMs!)), limits.timeoutMs);
  const unhook = onAbort(limits.signal, () => {
    stream.destroy(asError(limits.signal!.reason));
  });
  stream.once('error', reject);
  stream.once('close', () => reject(Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' })));
  subscribe(resolve);
  try {
    return await promise;
  } catch (error) {
    throw limits.signal?.aborted ? limits.signal.reason : error;
  } finally {
    clearTimeout(deadline);
    unhook();
  }
}

export function timeoutError(timeoutMs: number): Error {
  return Object.assign(new Error(`timed out after ${timeoutMs} ms`), { code: 'ETIMEDOUT' });
}

export function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
