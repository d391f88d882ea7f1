// Probes whether a server is ready.
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent, request } from 'node:https';

/** Repeated probes over one connection. */
export interface ReadinessProbe {
  /**
   * True for 200. It resolves in all cases (other status, refused, cut off, silent); otherwise the whole run would hang on one
   * request.
   */
  ready(): Promise<boolean>;
  close(): void;
}

/** Probes this URL, whatever its certificate is. */
export function readinessProbe(url: string): ReadinessProbe {
  const isSecure = url.startsWith('https:');
  const agent = isSecure
    ? new Agent({ keepAlive: true, rejectUnauthorized: false })
    : new HttpAgent({ keepAlive: true });
  const send = isSecure ? request : httpRequest;
  return {
    ready: () =>
      new Promise((resolve) => {
        const call = send(url, { agent, timeout: 2000 }, (response) => {
          response.resume().on('error', () => undefined);
          // Not 'close': on a persistent connection the request's own 'close' comes earlier.
          response.on('end', () => resolve(response.statusCode === 200));
        });
        call.on('timeout', () => call.destroy());
        call.on('error', () => resolve(false)).on('close', () => resolve(false));
        call.end();
      }),
    close: () => agent.destroy(),
  };
}
