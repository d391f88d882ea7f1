/** Ends TLS of a connection whose inner bytes go to a backend. */
import type { Socket } from 'node:net';
import { TLSSocket, type SecureContext } from 'node:tls';
import type { Clock } from '../../platform/clock.ts';
import { certificateFor, type ByServerName } from './certificate-for.ts';

/**
 * Calls `serve` with the inner connection after the handshake, which has `limitMs`. No protocol is negotiated, because the
 * backend's is unknown.
 */
export function terminateTls(
  socket: Socket,
  options: { readonly certificates: ByServerName<SecureContext>; readonly clock: Clock; readonly limitMs: number },
  serve: (inner: Socket) => void,
): void {
  const { certificates, clock, limitMs } = options;
  // One side may still send after the other has ended.
  socket.allowHalfOpen = true;
  const inner = new TLSSocket(socket, {
    isServer: true,
    minVersion: 'TLSv1.2',
    secureContext: certificates.get(''),
    SNICallback: (name, callback) => callback(null, certificateFor(certificates, name)),
  });
  const late = clock.setTimer(limitMs, () => socket.destroy());
  socket.once('close', late);
  inner.on('error', () => socket.destroy());
  inner.once('secure', () => {
    late();
    serve(inner);
  });
}
