import assert from 'node:assert/strict';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import { EndpointSlices } from '../../api/gen/resources.ts';
import type { StatusError } from '../../api/status-error.ts';
import { stored } from '../../api/stored-fixture.ts';
import type { ApiRequest, ApiResponse } from '../../api/transport.ts';
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { KubeletCall } from '../registry/services.ts';
import { createKubeletConnector } from './kubelet-connector.ts';

/** A node with a pod and a service, and a kubelet that echoes. */

export const node: Node = {
  metadata: { name: 'node-1' },
  status: {
    addresses: [
      { type: 'Hostname', address: 'n1' },
      { type: 'InternalIP', address: '10.0.0.2' },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: 10_251 } },
  },
};

export const pod = stored<Pod>({
  metadata: { name: 'web', namespace: 'default' },
  spec: { nodeName: 'node-1', containers: [{ name: 'a', ports: [{ containerPort: 8080, name: 'http' }] }] },
  status: { podIP: '10.0.0.2' },
});

export function objectsWith(slices: readonly EndpointSlice[] = []): ObjectStore {
  return {
    get: (_info: unknown, _namespace: string, name: string) => (name === 'node-1' ? node : undefined),
    list: (info: unknown) => (info === EndpointSlices ? slices : []),
  } as unknown as ObjectStore;
}

/** The API server's host, and a node whose ports reply with `answer`. */
export async function createFixture(
  answer: (request: HttpRequest) => HttpResponse | Promise<HttpResponse>,
  slices: readonly EndpointSlice[] = [],
) {
  const platform = createSimPlatform();
  const host = createSimPlatform({ beside: platform, addresses: ['10.0.0.2'] });
  for (const port of [10_251, 8080]) await host.listenHttp({ host: '0.0.0.0', port }, answer);
  const connector = createKubeletConnector({
    net: platform.net,
    random: platform.random,
    crypto: platform.crypto,
    clock: platform.clock,
    objects: objectsWith(slices),
    kubeletTls: () => ({}),
  });
  const call = (path: string, change: Partial<ApiRequest> = {}): KubeletCall => {
    const [before = '', query = ''] = path.split('?');
    return {
      context: {} as never,
      request: {
        method: 'GET',
        path: before,
        query,
        headers: {},
        remoteAddress: '1.2.3.4',
        wantsObjects: false,
        wantsUpgrade: false,
        body: { kind: 'none' },
        signal: new AbortController().signal,
        ...change,
      },
    };
  };
  return { connector, call, platform };
}

export async function read(response: ApiResponse): Promise<{ status: number; body: string }> {
  if (response.kind === 'bytes') return { status: response.status, body: Buffer.concat(response.chunks).toString() };
  assert.equal(response.kind, 'stream');
  if (response.kind !== 'stream') throw new Error('unreachable');
  let body = '';
  await response.run({
    write: async (chunk) => void (body += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()),
    end: async () => undefined,
  });
  return { status: response.status, body };
}

export const text = (status: number, body: string): HttpResponse => ({
  kind: 'bytes',
  status,
  headers: {},
  chunks: [Buffer.from(body)],
});

export const echo = (request: HttpRequest): HttpResponse =>
  text(200, `${request.method} ${request.path}?${request.query}`);

export const messageOf = (work: () => unknown): string => {
  try {
    work();
    return '';
  } catch (error) {
    return (error as StatusError).message;
  }
};
