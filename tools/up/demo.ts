// The demo of `npm run up`: its image, its manifest, and its response.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { parseAllDocuments } from 'yaml';

import { demoImage, DEMO_IMAGE_NAME } from '../demo-image.ts';
import { repositoryRoot } from '../repository.ts';
import { hasImage, importImage } from './cluster.ts';
import { apply, collectionPath, type ApiObject, type KubeClient } from './kube-client.ts';
import { waitFor } from './wait.ts';

const ANSWER_TIMEOUT_MS = 60_000;

/** The objects of examples/demo.yaml. */
export function demoObjects(): ApiObject[] {
  const text = readFileSync(join(repositoryRoot, 'examples/demo.yaml'), 'utf8');
  return parseAllDocuments(text).map((document) => document.toJS() as ApiObject);
}

/** Imports the demo's image into a cluster's containerd; returns what was done ('' for nothing). */
export async function provideImage(containerdSocket: string): Promise<string> {
  if (await hasImage(containerdSocket, DEMO_IMAGE_NAME)) return '';
  const folder = mkdtempSync(join(tmpdir(), 'keelson-image-'));
  try {
    const path = join(folder, 'demo.tar');
    writeFileSync(path, demoImage().archive);
    await importImage(containerdSocket, path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return DEMO_IMAGE_NAME;
}

/** Applies the objects that differ from the manifest; returns what was done ('' for nothing). */
export async function deploy(client: KubeClient): Promise<string> {
  const done: string[] = [];
  for (const object of demoObjects()) {
    const current = await client.send(`${collectionPath(object)}/${object.metadata.name}`);
    if (current.status === 200 && contains(current.body, object)) continue;
    done.push(`${object.kind.toLowerCase()}/${object.metadata.name} ${await apply(client, object)}`);
  }
  return done.join(', ');
}

/** Whether `actual` has every field of `wanted`, comparing lists item by item. */
export function contains(actual: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(actual) && wanted.length === actual.length && wanted.every((item, i) => contains(actual[i], item))
    );
  }
  if (typeof wanted !== 'object' || wanted === null) return actual === wanted;
  if (typeof actual !== 'object' || actual === null) return false;
  return Object.entries(wanted).every(([name, value]) => contains((actual as Record<string, unknown>)[name], value));
}

/** Waits until the demo's Service responds through its ClusterIP; returns the response. */
export async function demoAnswer(client: KubeClient): Promise<{ url: string; text: string }> {
  const service = demoObjects().find(({ kind }) => kind === 'Service');
  if (service === undefined) throw new Error('examples/demo.yaml holds no Service');
  const address = await waitFor(
    async () => {
      const { body } = await client.send(`${collectionPath(service)}/${service.metadata.name}`);
      return (body as { spec?: { clusterIP?: string } }).spec?.clusterIP;
    },
    { what: "the demo's Service to have an address", timeoutMs: ANSWER_TIMEOUT_MS },
  );
  const url = `http://${address.includes(':') ? `[${address}]` : address}/`;
  const text = await waitFor(() => fetchText(url), { what: `${url} to answer`, timeoutMs: ANSWER_TIMEOUT_MS });
  return { url, text: text.trim() };
}

/** The body of a 200; undefined for other responses. Rejects when there is none within a second. */
export function fetchText(url: string): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const call = get(url, { timeout: 1000, agent: false }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (part: string) => (text += part));
    response.on('error', reject);
    response.on('end', () => resolve(response.statusCode === 200 ? text : undefined));
  });
  call.on('timeout', () => call.destroy(new Error('no answer in 1 s')));
  call.on('error', reject);
  return promise;
}
