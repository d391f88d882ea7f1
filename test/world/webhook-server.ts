/** Webhooks as a project's manager serves them, on a port of this machine: mutating and validating admission, and conversion. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { authority } from './ca-bundle.ts';

/** A running server, with the number of calls of each path. */
export interface WebhookServer {
  readonly url: string;
  readonly calls: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

interface Site {
  readonly apiVersion: string;
  readonly metadata: { readonly labels?: object };
  readonly spec: { readonly image?: string; readonly replicas?: number; readonly size?: number };
}

interface Review {
  readonly request: {
    readonly uid: string;
    readonly object: Site | null;
    readonly objects?: readonly Site[];
    readonly desiredAPIVersion?: string;
  };
}

/** The label that the mutating webhook adds. */
export const SEEN = 'hooks.world.example/seen';
/** The image that the validating webhook refuses. */
export const FORBIDDEN_IMAGE = 'forbidden:1';

const answers: Readonly<Record<string, (request: Review['request']) => object>> = {
  '/mutate': ({ object }) => {
    const label = SEEN.replaceAll('/', '~1');
    const labels = object?.metadata.labels === undefined ? [{ op: 'add', path: '/metadata/labels', value: {} }] : [];
    const patch = [...labels, { op: 'add', path: `/metadata/labels/${label}`, value: 'yes' }];
    const base64 = Buffer.from(JSON.stringify(patch)).toString('base64');
    return { allowed: true, patchType: 'JSONPatch', patch: base64 };
  },
  '/validate': ({ object }) => {
    const allowed = object?.spec.image !== FORBIDDEN_IMAGE;
    return { allowed, ...(!allowed && { status: { message: 'this image is not for sites', code: 403 } }) };
  },
  '/convert': ({ objects = [], desiredAPIVersion = '' }) => ({
    convertedObjects: objects.map((object) => converted(object, desiredAPIVersion)),
    result: { status: 'Success' },
  }),
};

/** The field `replicas` of v1 is called `size` in v1beta1. */
function converted(object: Site, apiVersion: string): object {
  if (object.apiVersion === apiVersion) return object;
  const { replicas, size, ...spec } = object.spec;
  const count = replicas ?? size;
  const name = apiVersion.endsWith('/v1') ? 'replicas' : 'size';
  return { ...object, apiVersion, spec: { ...spec, ...(count !== undefined && { [name]: count }) } };
}

/** Resolves when it listens. */
export async function startWebhookServer(): Promise<WebhookServer> {
  const { certPem: cert, keyPem: key } = await authority.issue('CN=webhook', ['127.0.0.1']);
  const calls = new Map<string, number>();
  const server = createServer({ cert, key }, (message, response) => {
    const chunks: Buffer[] = [];
    message.on('data', (chunk: Buffer) => chunks.push(chunk));
    message.on('end', () => {
      const path = (message.url ?? '').split('?')[0]!;
      calls.set(path, (calls.get(path) ?? 0) + 1);
      const { request, ...review } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Review;
      const answer = { ...review, response: { uid: request.uid, ...answers[path]?.(request) } };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
