// Asks a server whether it is ready.
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent, request } from 'node:https';

/** Asks again and again, over one connection. */
export interface ReadinessProbe {
  /** True for 200. Answered, refused, cut off or silent: it resolves, or the whole run would hang on one request. */
  ready(): Promise<boolean>;
  close(): void;
}

/** Asks this URL, whoever its certificate says it is. */
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
          // Not its 'close': over a connection that is kept, the request's own comes before.
          response.on('end', () => resolve(response.statusCode === 200));
        });
        call.on('timeout', () => call.destroy());
        call.on('error', () => resolve(false)).on('close', () => resolve(false));
        call.end();
      }),
    close: () => agent.destroy(),
  };
}
