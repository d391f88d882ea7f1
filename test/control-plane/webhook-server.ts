/** A webhook server over real TLS in the test process: a function computes the response of each path from the review. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createTestAuthority } from '../../src/platform/node/certificates-fixture.ts';

/** A review as received. */
// oxlint-disable-next-line typescript/no-explicit-any -- assertions read any field
export type Review = any;

/** Computes the response: the review's `response` without uid, or a whole body. */
export type Answer = (request: Review, review: Review) => object | Promise<object>;

/** A running server. */
export interface WebhookServer {
  readonly port: number;
  /** base64 of the CA's PEM, as in configurations. */
  readonly caBundle: string;
  readonly caPem: string;
  /** The requests of each path, in order. */
  readonly seen: readonly { readonly path: string; readonly review: Review; readonly headers: Review }[];
  /** Connections accepted so far. */
  readonly connections: () => number;
  on(path: string, answer: Answer): void;
  close(): Promise<void>;
}

/** Starts it on loopback, with a certificate for 127.0.0.1 and `hosts`. */
export async function startWebhookServer(hosts: readonly string[] = [], address = '127.0.0.1'): Promise<WebhookServer> {
  const authority = await createTestAuthority('webhooks');
  const { certPem, keyPem } = await authority.issue('CN=webhook', [address, ...hosts]);
  const answers = new Map<string, Answer>();
  const seen: { path: string; review: Review; headers: Review }[] = [];
  let connections = 0;
  // Connections are kept however long a test waits between its requests.
  const options = { cert: certPem, key: keyPem, keepAliveTimeout: 600_000 };
  const server = createServer(options, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const path = new URL(request.url ?? '/', 'https://x').pathname;
      const review: Review = JSON.parse(Buffer.concat(chunks).toString('utf8'));
      seen.push({ path, review, headers: request.headers });
      const answer = answers.get(path);
      if (answer === undefined) {
        response.writeHead(404).end('no such webhook');
        return;
      }
      const made = await answer(review.request ?? review.spec, review);
      const whole =
        'apiVersion' in made
          ? made
          : { apiVersion: review.apiVersion, kind: review.kind, response: { uid: review.request?.uid, ...made } };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole));
    });
  });
  server.on('secureConnection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    caPem: authority.caPem,
    caBundle: Buffer.from(authority.caPem).toString('base64'),
    seen,
    connections: () => connections,
    on: (path, answer) => void answers.set(path, answer),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** A JSON patch in the form of responses. */
export function patchOf(operations: readonly object[]): { allowed: true; patchType: 'JSONPatch'; patch: string } {
  const patch = Buffer.from(JSON.stringify(operations)).toString('base64');
  return { allowed: true, patchType: 'JSONPatch', patch };
}
