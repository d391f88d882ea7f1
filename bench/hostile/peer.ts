// A webhook and an aggregated API server with the most expensive responses.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The parts of a request that responses depend on. */
export interface Question {
  readonly path: string;
  /** The uid of a review. */
  readonly uid: string;
  readonly objects: readonly Readonly<Record<string, unknown>>[];
}

/** The body of a response; undefined for 404. */
export type Answer = (question: Question) => string | undefined;

let answer: Answer = () => undefined;
let port = 0;
let caBundle = '';

/** Sets the response of the peer. */
export function answerWith(next: Answer): void {
  answer = next;
}

/** The client configuration of a webhook that the peer serves. */
export function peerConfig(): { readonly url: string; readonly caBundle: string } {
  return { url: `https://127.0.0.1:${port}/`, caBundle };
}

/** The peer's port on loopback. */
export function peerPort(): number {
  return port;
}

/** Starts the peer; the returned function ends it. */
export async function startPeer(): Promise<() => void> {
  const { key, cert } = certificate();
  caBundle = cert.toString('base64');
  const server = createServer({ key, cert }, (request, response) => {
    questionOf(request).then(
      (question) => {
        const body = answer(question);
        response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(body ?? '');
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
  return () => {
    server.closeAllConnections();
    server.close();
  };
}

async function questionOf(request: IncomingMessage): Promise<Question> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  const asked = text === '' ? {} : ((JSON.parse(text) as { request?: Partial<Question> }).request ?? {});
  return { path: (request.url ?? '').split('?')[0]!, uid: asked.uid ?? '', objects: asked.objects ?? [] };
}

function certificate(): { readonly key: Buffer; readonly cert: Buffer } {
  const dir = mkdtempSync(join(tmpdir(), 'keelson-peer-'));
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const names = ['-subj', '/CN=peer', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...names, '-keyout', key, '-out', cert];
  try {
    execFileSync('openssl', made, { stdio: 'ignore' });
    return { key: readFileSync(key), cert: readFileSync(cert) };
  } finally {
    rmSync(dir, { recursive: true });
  }
}
