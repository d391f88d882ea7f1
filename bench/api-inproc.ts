/**
 * The cost of the API server's own code: GET, POST, LIST and watch events through the handler, without network and disk. Run:
 * node bench/api-inproc.ts [seconds per row] [first word of a row]
 */
import { ConfigMaps } from '../src/api/gen/resources.ts';
import type { ApiRequest, ApiResponse } from '../src/api/transport.ts';
import { createApiServer } from '../src/apiserver/api-server.ts';
import type { ResourceDefinition } from '../src/apiserver/registry/resource-definition.ts';
import { versionInfo } from '../src/apiserver/routes/server-info.ts';
import { createServerStorage } from '../src/apiserver/server-storage.ts';
import { createNodePlatform } from '../src/platform/node/node-platform.ts';
import { createMemoryStore } from '../src/storage/memory/memory-store.ts';

const seconds = Number(process.argv[2] ?? 2);
const only = process.argv[3];
const platform = createNodePlatform();
const { clock } = platform;
const storage = createServerStorage({ store: createMemoryStore({ clock }), platform });
const definition: ResourceDefinition = {
  info: ConfigMaps,
  enabledByDefault: true,
  storagePrefix: '/registry/configmaps/',
  strategy: { validate: () => [], validateUpdate: () => [], allowUnconditionalUpdate: true },
};
const server = createApiServer(
  {
    storage,
    platform,
    definitions: [definition],
    authenticators: [{ authenticate: () => ({ name: 'bench', groups: ['system:masters'] }) }],
    authorizers: [{ authorize: () => ({ decision: 'allow', reason: '' }) }],
    admission: [],
  },
  { version: versionInfo(), serverAddress: '' },
);
await server.start(new AbortController().signal);

const PATH = '/api/v1/namespaces/default/configmaps';
const { signal } = new AbortController();
const data = { payload: 'x'.repeat(700) };

function request(method: string, target: string, body?: Uint8Array): ApiRequest {
  const headers = { 'user-agent': 'bench/1', 'content-type': 'application/json', accept: 'application/json' };
  const apiBody: ApiRequest['body'] =
    body === undefined
      ? { kind: 'none' }
      : {
          kind: 'bytes',
          read: async () => body,
          stream: async function* () {
            yield body;
          },
        };
  return {
    method,
    path: target,
    query: '',
    headers,
    remoteAddress: '',
    wantsObjects: false,
    wantsUpgrade: false,
    body: apiBody,
    signal,
  };
}

function check(response: ApiResponse, status: number): void {
  if (response.kind !== 'bytes' || response.status !== status)
    throw new Error(`unexpected answer: ${JSON.stringify(response)}`);
}

async function measure(name: string, unit: number, once: (index: number) => Promise<void> | void): Promise<void> {
  if (only !== undefined && !name.startsWith(only)) return;
  for (let index = 0; index < 2000 / unit; index++) await once(index);
  const start = clock.monotonicMs();
  let count = 0;
  while (clock.monotonicMs() - start < seconds * 1000)
    for (let batch = 0; batch < 50; batch++) await once(2000 + count++);
  const perSecond = (count * unit) / ((clock.monotonicMs() - start) / 1000);
  console.log(`${name.padEnd(24)} ${Math.round(perSecond).toLocaleString('en').padStart(10)} /s`);
}

const bodyOf = (name: string): Uint8Array =>
  Buffer.from(
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels: { app: 'bench' } }, data }),
  );

check(await server.handler(request('POST', PATH, bodyOf('one'))), 201);
await measure('GET', 1, async () => check(await server.handler(request('GET', `${PATH}/one`)), 200));
await measure('POST', 1, async (index) => check(await server.handler(request('POST', PATH, bodyOf(`n${index}`))), 201));
await measure('PUT', 1, async (index) => {
  const body = JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'one' },
    data: { payload: `${index}${data.payload}` },
  });
  check(await server.handler(request('PUT', `${PATH}/one`, Buffer.from(body))), 200);
});
const items = storage.hub.cache('/registry/configmaps/').size;
await measure(`LIST ${items}: objects`, items, async () => check(await server.handler(request('GET', PATH)), 200));
await server.stop();
