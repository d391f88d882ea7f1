/** The API server over real HTTPS with an unmodified client library, and with kubectl where it is installed. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { AppsV1Api, CoreV1Api, KubeConfig, Watch } from '@kubernetes/client-node';
import { createApiServer } from '../../src/apiserver/api-server.ts';
import type { ApiServer } from '../../src/apiserver/api-server-contract.ts';
import { createHttpHandler } from '../../src/apiserver/http-adapter.ts';
import { versionInfo } from '../../src/apiserver/routes/server-info.ts';
import { createServerStorage } from '../../src/apiserver/server-storage.ts';
import { testDefinitions } from '../../src/apiserver/server-fixture.ts';
import type { HttpServer } from '../../src/platform/http.ts';
import { createTestAuthority } from '../../src/platform/node/certificates-fixture.ts';
import { createNodePlatform } from '../../src/platform/node/node-platform.ts';
import { createMemoryStore } from '../../src/storage/memory/memory-store.ts';

const run = promisify(execFile);
const hasKubectl = await run('kubectl', ['version', '--client']).then(
  () => true,
  () => false,
);
let http: HttpServer;
let server: ApiServer;
let directory: string;
let kubeconfig: string;
const config = new KubeConfig();

before(async () => {
  const authority = await createTestAuthority('test');
  const { certPem, keyPem } = await authority.issue('CN=server', ['127.0.0.1']);
  const platform = createNodePlatform();
  const storage = createServerStorage({ store: createMemoryStore({ clock: platform.clock }), platform });
  server = createApiServer(
    {
      storage,
      platform,
      definitions: testDefinitions(),
      authenticators: [
        {
          authenticate: ({ headers }) =>
            headers['authorization'] === 'Bearer secret' ? { name: 'admin', groups: ['system:masters'] } : undefined,
        },
      ],
      authorizers: [{ authorize: () => ({ decision: 'allow', reason: '' }) }],
      admission: [],
    },
    { version: versionInfo(), serverAddress: '127.0.0.1:0' },
  );
  await server.start(new AbortController().signal);
  http = await platform.listenHttp(
    { host: '127.0.0.1', port: 0, tls: { certPem, keyPem } },
    createHttpHandler(server.handler, platform.random),
  );
  directory = await mkdtemp(join(tmpdir(), 'keelson-api-'));
  kubeconfig = join(directory, 'config');
  const text = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [
      {
        name: 'c',
        cluster: {
          server: `https://127.0.0.1:${http.port}`,
          'certificate-authority-data': Buffer.from(authority.caPem).toString('base64'),
        },
      },
    ],
    users: [{ name: 'u', user: { token: 'secret' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  });
  await writeFile(kubeconfig, text);
  config.loadFromString(text);
});

after(async () => {
  await server.stop();
  await http.close(100);
  await rm(directory, { recursive: true });
});

test('client-node: create, list, watch, patch, delete', async () => {
  const core = config.makeApiClient(CoreV1Api);
  const seen: string[] = [];
  const enough = Promise.withResolvers<void>();
  const watch = await new Watch(config).watch(
    '/api/v1/namespaces/default/configmaps',
    {},
    (type: string, object: { metadata: { name: string } }) => {
      seen.push(`${type} ${object.metadata.name}`);
      if (type === 'DELETED') enough.resolve();
    },
    () => enough.resolve(),
  );
  const made = await core.createNamespacedConfigMap({
    namespace: 'default',
    body: { metadata: { name: 'm' }, data: { a: '1' } },
  });
  assert.equal(made.data?.['a'], '1');
  await core.replaceNamespacedConfigMap({ namespace: 'default', name: 'm', body: { ...made, data: { a: '2' } } });
  const list = await core.listConfigMapForAllNamespaces();
  assert.deepEqual(
    list.items.map((item) => item.data),
    [{ a: '2' }],
  );
  await core.deleteNamespacedConfigMap({ namespace: 'default', name: 'm' });
  await enough.promise;
  watch.abort();
  assert.deepEqual(seen, ['ADDED m', 'MODIFIED m', 'DELETED m']);
  await assert.rejects(
    core.readNamespacedConfigMap({ namespace: 'default', name: 'm' }),
    (error: { code?: number }) => error.code === 404,
  );
});

test('client-node: requests without a token are refused', async () => {
  const other = new KubeConfig();
  other.loadFromString(
    JSON.stringify({ ...JSON.parse(config.exportConfig()), users: [{ name: 'u', user: { token: 'wrong' } }] }),
  );
  await assert.rejects(
    other.makeApiClient(AppsV1Api).listDeploymentForAllNamespaces(),
    (error: { code?: number }) => error.code === 401,
  );
});

test(
  'kubectl: apply twice, get, patch, label, scale, explain, delete',
  { skip: !hasKubectl && 'kubectl is missing' },
  async () => {
    const kubectl = async (...args: string[]): Promise<string> =>
      (
        await run('kubectl', [`--kubeconfig=${kubeconfig}`, `--cache-dir=${join(directory, 'cache')}`, ...args])
      ).stdout.trim();
    const manifest = (image: string): object => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'default' },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'web' } },
        template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image }] } },
      },
    });
    const file = join(directory, 'web.json');
    await writeFile(file, JSON.stringify(manifest('one')));
    assert.equal(await kubectl('apply', '-f', file), 'deployment.apps/web created');
    await writeFile(file, JSON.stringify(manifest('two')));
    assert.equal(await kubectl('apply', '-f', file), 'deployment.apps/web configured');
    assert.equal(await kubectl('apply', '-f', file), 'deployment.apps/web unchanged');
    assert.equal(
      await kubectl('apply', '--server-side', '--force-conflicts', '-f', file),
      'deployment.apps/web serverside-applied',
    );
    assert.match(await kubectl('get', 'deployments'), /^NAME\s+AGE\nweb\s+\d+s$/);
    assert.equal(await kubectl('get', 'deploy/web', '-o', 'jsonpath={.spec.template.spec.containers[0].image}'), 'two');
    assert.equal(await kubectl('scale', 'deploy/web', '--replicas=5'), 'deployment.apps/web scaled');
    assert.equal(await kubectl('label', 'deploy/web', 'tier=front'), 'deployment.apps/web labeled');
    assert.equal(await kubectl('get', 'deploy', '-l', 'tier=front', '-o', 'name'), 'deployment.apps/web');
    assert.match(await kubectl('explain', 'deployment.spec.replicas'), /FIELD: replicas <integer>/);
    await assert.rejects(kubectl('create', '-f', file), /AlreadyExists/);
    await writeFile(file, JSON.stringify({ ...manifest('x'), wrong: 1 }));
    await assert.rejects(kubectl('apply', '-f', file), /strict decoding error: unknown field "wrong"/);
    assert.match(await kubectl('api-resources'), /deployments\s+deploy\s+apps\/v1\s+true\s+Deployment/);
    assert.equal(await kubectl('delete', 'deploy', 'web'), 'deployment.apps "web" deleted');
  },
);
