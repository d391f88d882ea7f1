/** A registry for tests: real files in its own folder, a server on loopback, a clock that a test may advance. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createNodePlatform } from '../../platform/node/node-platform.ts';
import { BlobStore } from './blob-store.ts';
import { collectGarbage, type CollectedCounts } from './collect-garbage.ts';
import { createRegistryHandlers } from './registry-handler.ts';
import { Repositories } from './repositories.ts';
import { Uploads } from './uploads.ts';

export const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
export const INDEX = 'application/vnd.oci.image.index.v1+json';
export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
export const LIMITS = { maxBytes: 1_000_000, maxCount: 3, maxIdleMs: HOUR_MS };

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

interface Sent {
  readonly body?: string | Buffer | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** The port of another server than the registry's. */
  readonly port?: number;
}

export const digestOf = (content: string | Buffer, algorithm = 'sha256'): string =>
  `${algorithm}:${createHash(algorithm).update(content).digest('hex')}`;

export const codeOf = ({ body }: Answer): string =>
  (JSON.parse(body.toString()) as { errors: { code: string }[] }).errors[0]!.code;

export async function startTestRegistry() {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-registry-'));
  const platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
  const { files, random } = platform;
  /** Added to the machine's time. */
  const time = { passedMs: 0 };
  const clock = {
    ...platform.clock,
    nowMs: () => platform.clock.nowMs() + time.passedMs,
    monotonicMs: () => platform.clock.monotonicMs() + time.passedMs,
  };
  const blobs = new BlobStore(files, folder, 0);
  const repositories = new Repositories(files, folder, blobs);
  const uploads = new Uploads({ files, clock, random, blobs }, folder, LIMITS);
  for (const part of [blobs, repositories, uploads]) await part.open();
  const parts = { blobs, repositories, uploads };
  const handler = createRegistryHandlers(parts, platform.log).local;
  const server = await platform.listenHttp({ host: '127.0.0.1', port: 0 }, handler);

  const send = (method: string, path: string, sent: Sent = {}): Promise<Answer> => ask(server.port, method, path, sent);
  const pushBlob = async (name: string, content: string | Buffer): Promise<string> => {
    const digest = digestOf(content);
    const answer = await send('POST', `/v2/${name}/blobs/uploads/?digest=${digest}`, { body: content });
    assert.equal(answer.status, 201, answer.body.toString());
    return digest;
  };
  return {
    folder,
    platform,
    server,
    parts,
    time,
    send,
    pushBlob,
    putManifest: (name: string, reference: string, manifest: object, type = MANIFEST): Promise<Answer> =>
      send('PUT', `/v2/${name}/manifests/${reference}`, {
        body: JSON.stringify(manifest),
        headers: { 'content-type': type },
      }),
    /** Pushes the blobs of an image of one layer; resolves to its manifest. */
    async imageOf(name: string, text: string, more: object = {}): Promise<object> {
      const config = {
        mediaType: 'application/vnd.oci.image.config.v1+json',
        digest: await pushBlob(name, '{}'),
        size: 2,
      };
      const layer = {
        mediaType: 'application/vnd.oci.image.layer.v1.tar',
        digest: await pushBlob(name, text),
        size: text.length,
      };
      return { schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer], ...more };
    },
    collect: (): Promise<CollectedCounts> => collectGarbage({ ...parts, clock }, new AbortController().signal),
    async close(): Promise<void> {
      await server.close(0);
      platform.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function ask(
  ownPort: number,
  method: string,
  path: string,
  { body, headers = {}, port = ownPort }: Sent,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { host: '127.0.0.1', port, method, path, headers: { host: 'localhost', ...headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers as Record<string, string>,
            body: Buffer.concat(chunks),
          }),
        );
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
