/** A server over the memory store and a virtual clock, and a client for it: for tests of this folder only. */
import { addInt64 } from '../api/int64.ts';
import { ConfigMaps, Deployments, Namespaces, Pods } from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { ApiRequest, ApiResponse } from '../api/transport.ts';
import type { BasePlatform } from '../platform/platform.ts';
import { UNEXPECTED_ERRORS_SPEC } from '../platform/metrics.ts';
import { createSimCrypto } from '../platform/sim/crypto.ts';
import { createMemoryLog } from '../platform/sim/log.ts';
import { createMemoryMetrics } from '../platform/sim/metrics.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { createMemoryStore } from '../storage/memory/memory-store.ts';
import { createApiServer } from './api-server.ts';
import type { ApiServer, ApiServerDeps } from './api-server-contract.ts';
import type { ResourceDefinition, Strategy } from './registry/resource-definition.ts';
import { versionInfo } from './routes/server-info.ts';
import { createServerStorage, type ServerStorage } from './server-storage.ts';

type Loose = KubernetesObject & {
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  data?: Record<string, string>;
};

const plain: Strategy<Loose> = {
  validate: () => [],
  validateUpdate: () => [],
  allowUnconditionalUpdate: true,
};

const workload: Strategy<Loose> = {
  ...plain,
  prepareForCreate(draft) {
    draft.metadata.generation = 1;
    draft.status = {};
  },
  prepareForUpdate(draft, old) {
    draft.status = old.status ?? {};
    if (JSON.stringify(draft.spec) !== JSON.stringify(old.spec))
      draft.metadata.generation = addInt64(old.metadata.generation ?? 0, 1);
  },
};

const status: Strategy<Loose> = {
  ...plain,
  prepareForUpdate(draft, old) {
    draft.spec = old.spec!;
  },
};

function define(info: ResourceInfo, parts: Partial<ResourceDefinition<Loose>>): ResourceDefinition {
  const made = {
    info,
    enabledByDefault: true,
    storagePrefix: `/registry/${info.resource}/`,
    strategy: plain,
    ...parts,
  };
  return made as unknown as ResourceDefinition;
}

const pods: Strategy<Loose> = {
  ...workload,
  validate: (object) =>
    (object.spec?.['containers'] as unknown[] | undefined)?.length
      ? []
      : [{ reason: 'FieldValueRequired', field: 'spec.containers', text: 'Required value' }],
  allowUnconditionalUpdate: false,
  gracefulDeletionSeconds: (object, asked) => (object.spec?.['nodeName'] ? (asked ?? 30) : 0),
};

/** Resources enough for the tests. */
export function testDefinitions(): ResourceDefinition[] {
  return [
    define(ConfigMaps, {}),
    define(Namespaces, {
      strategy: {
        ...workload,
        blocksDeletion: (object) => ((object.spec?.['finalizers'] as unknown[]) ?? []).length > 0,
      },
    }),
    define(Pods, {
      strategy: pods,
      objectSubresources: { status: { strategy: status } },
      selectableFields: (object) => ({
        'spec.nodeName': String(object.spec?.['nodeName'] ?? ''),
        'status.phase': String(object.status?.['phase'] ?? ''),
      }),
    }),
    define(Deployments, {
      strategy: workload,
      objectSubresources: { status: { strategy: status } },
      scale: {
        read: (object) => ({
          specReplicas: Number(object.spec?.['replicas'] ?? 0),
          statusReplicas: Number(object.status?.['replicas'] ?? 0),
          selector: 'app=web',
        }),
        write: (draft, replicas) => void (draft.spec!['replicas'] = replicas),
        replicasPath: ['spec', 'replicas'],
      },
    }),
  ];
}

/** A platform under virtual time. */
export function testPlatform(): BasePlatform & {
  readonly clock: VirtualClock;
  readonly log: ReturnType<typeof createMemoryLog>;
  readonly metrics: ReturnType<typeof createMemoryMetrics>;
} {
  const clock = new VirtualClock();
  const metrics = createMemoryMetrics();
  const onUnexpected = (component: string): void => metrics.counter(UNEXPECTED_ERRORS_SPEC).inc({ component });
  return {
    clock,
    random: createSeededRandom(1),
    crypto: createSimCrypto(clock),
    log: createMemoryLog({ onUnexpected }),
    metrics,
  };
}

/** A complete response. */
export interface TestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly text: string;
  /** The body as JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- assertions read any field
  readonly body: any;
  readonly response: ApiResponse;
}

/** A running server. */
export interface TestServer {
  readonly server: ApiServer;
  readonly storage: ServerStorage;
  readonly platform: ReturnType<typeof testPlatform>;
  /** Sends a request as an administrator. `path` may have a query. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<TestAnswer>;
  request(method: string, path: string, parts?: Partial<ApiRequest>): ApiRequest;
}

/** Starts a server; `parts` replace its default parts. */
export async function startTestServer(
  parts: Partial<ApiServerDeps> = {},
  config: { runtimeConfig?: string; requestTimeoutMs?: number } = {},
): Promise<TestServer> {
  const platform = testPlatform();
  const storage =
    parts.storage ?? createServerStorage({ store: createMemoryStore({ clock: platform.clock }), platform });
  const deps: ApiServerDeps = {
    storage,
    platform,
    definitions: testDefinitions(),
    authenticators: [],
    authorizers: [
      {
        authorize: ({ user }) => ({
          decision: user.groups.includes('system:masters') ? 'allow' : 'noOpinion',
          reason: '',
        }),
      },
    ],
    admission: [],
    ...parts,
  };
  const server = createApiServer(deps, {
    version: versionInfo(),
    serverAddress: '127.0.0.1:6443',
    ...config,
  });
  await server.start(new AbortController().signal);
  const request: TestServer['request'] = (method, path, more = {}) => {
    const [bare = '', query = ''] = path.split('?');
    const common = {
      headers: {},
      remoteAddress: '127.0.0.1',
      wantsObjects: false,
      wantsUpgrade: false,
      body: { kind: 'none' } as const,
    };
    const principal = { name: 'admin', groups: ['system:masters', 'system:authenticated'] };
    return { method, path: bare, query, ...common, principal, signal: new AbortController().signal, ...more };
  };
  const send: TestServer['send'] = async (method, path, body, headers = {}) => {
    const bytes =
      body instanceof Uint8Array || typeof body === 'string'
        ? Buffer.from(body)
        : body === undefined
          ? undefined
          : Buffer.from(JSON.stringify(body));
    const apiBody: ApiRequest['body'] =
      bytes === undefined
        ? { kind: 'none' }
        : {
            kind: 'bytes',
            read: async () => bytes,
            stream: async function* () {
              yield bytes;
            },
          };
    return await readAnswer(
      await server.handler(request(method, path, { headers: { 'user-agent': 'test/1.0', ...headers }, body: apiBody })),
    );
  };
  return { server, storage, platform, send, request };
}

async function readAnswer(response: ApiResponse): Promise<TestAnswer> {
  if (response.kind !== 'bytes') throw new Error(`unexpected ${response.kind} response`);
  const text = Buffer.concat(response.chunks).toString('utf8');
  const isJson = String(response.headers['content-type']).startsWith('application/json');
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
    response,
  };
}
