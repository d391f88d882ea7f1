import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../api/transport.ts';
import { forbidden } from '../api/status-error.ts';
import type { AdmissionPlugin } from './admission/contract.ts';
import { parseRequestInfo } from './request-info.ts';
import { startTestServer } from './server-fixture.ts';

test('method, path and query become verb, resource, name and namespace', () => {
  const cases: [string, string, string][] = [
    ['GET', '/api/v1/namespaces', 'list  namespaces   '],
    ['GET', '/api/v1/namespaces/a', 'get  namespaces a  a'],
    ['PUT', '/api/v1/namespaces/a/finalize', 'update  namespaces a finalize a'],
    ['GET', '/api/v1/namespaces/a/pods', 'list  pods   a'],
    ['GET', '/api/v1/namespaces/a/pods?watch=true', 'watch  pods   a'],
    ['GET', '/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dx', 'list  pods x  a'],
    ['DELETE', '/api/v1/namespaces/a/pods', 'deletecollection  pods   a'],
    ['GET', '/api/v1/namespaces/a/pods/p/log', 'get  pods p log a'],
    ['GET', '/api/v1/watch/namespaces/a/pods', 'watch  pods   a'],
    ['POST', '/apis/apps/v1/namespaces/a/deployments', 'create apps deployments   a'],
    ['PATCH', '/apis/apps/v1/namespaces/a/deployments/d/scale', 'patch apps deployments d scale a'],
    ['GET', '/apis/apps/v1', 'get     '],
    ['GET', '/healthz', 'get     '],
  ];
  for (const [method, target, expected] of cases) {
    const [path = '', query = ''] = target.split('?');
    const info = parseRequestInfo({ method, path, params: new URLSearchParams(query) });
    const { verb, apiGroup, resource, name, subresource, namespace } = info;
    assert.equal([verb, apiGroup, resource, name, subresource, namespace].join(' '), expected, target);
  }
});

test('discovery, legacy and aggregated', async () => {
  const { send } = await startTestServer();
  const core = await send('GET', '/api/v1');
  assert.deepEqual(
    core.body.resources
      .map((r: { name: string }) => r.name)
      .filter((n: string) => n.startsWith('pods'))
      .slice(0, 2),
    ['pods', 'pods/attach'],
  );
  const hashOf = (list: { name: string; storageVersionHash?: string }[], name: string): string | undefined =>
    list.find((one) => one.name === name)?.storageVersionHash;
  const apps = await send('GET', '/apis/apps/v1');
  assert.deepEqual(
    [
      hashOf(core.body.resources, 'pods'),
      hashOf(core.body.resources, 'pods/status'),
      hashOf(apps.body.resources, 'deployments'),
    ],
    ['xPOwRZ+Yhw8=', undefined, '8aSe+NMegvE='],
  );
  assert.deepEqual(
    (await send('GET', '/apis/')).body.groups.map((g: { name: string }) => g.name),
    ['apps'],
  );
  assert.equal((await send('GET', '/apis/apps')).body.preferredVersion.groupVersion, 'apps/v1');
  assert.equal((await send('GET', '/apis/apps/v1')).body.groupVersion, 'apps/v1');
  assert.equal((await send('GET', '/apis/apps/v9')).status, 404);
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
  const all = await send('GET', '/apis', undefined, { accept });
  assert.equal(all.headers['content-type'], 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList');
  assert.equal(all.body.items[0].metadata.name, 'apps');
  assert.equal(
    (await send('GET', '/apis', undefined, { accept, 'if-none-match': String(all.headers['etag']) })).status,
    304,
  );
});

test('health, version, metrics, paths and OpenAPI', async () => {
  const { send, server } = await startTestServer();
  assert.equal((await send('GET', '/readyz')).text, 'ok');
  assert.match((await send('GET', '/livez?verbose')).text, /\[\+\]ping ok\n[^]*livez check passed/);
  assert.equal((await send('GET', '/healthz/ping')).text, 'ok');
  const version = await send('GET', '/version');
  assert.deepEqual([version.body.major, version.body.minor], ['1', '36']);
  assert.deepEqual([version.body.emulationMinor, version.body.minCompatibilityMinor], ['36', '35']);
  assert.match(version.body.gitVersion, /^v1\.36\.0\+keelson/);
  assert.ok((await send('GET', '/')).body.paths.includes('/apis/apps/v1'));
  assert.match(
    (await send('GET', '/metrics')).text,
    /apiserver_request_total\{code="200",dry_run="",component="apiserver",group="",resource="",scope="",subresource="\/version",verb="GET",version=""\} 1/,
  );
  const index = await send('GET', '/openapi/v3');
  const url = index.body.paths['apis/apps/v1'].serverRelativeURL as string;
  assert.equal((await send('GET', url)).body.openapi, '3.0.0');
  const v2 = await send('GET', '/openapi/v2');
  assert.equal(v2.body.swagger, '2.0');
  assert.equal(
    (await send('GET', '/openapi/v2', undefined, { 'if-none-match': String(v2.headers['etag']) })).status,
    304,
  );
  assert.equal((await send('GET', '/nothing')).status, 404);
  await server.stop();
  assert.equal((await send('GET', '/readyz')).status, 500);
});

const viewer: Principal = { name: 'eve', groups: ['system:authenticated'] };

test("an unauthenticated request gets 401, an unauthorized one 403 with upstream's text", async () => {
  const { server, request } = await startTestServer({ authenticators: [{ authenticate: () => undefined }] });
  const answer = async (path: string, principal?: Principal): Promise<{ code: number; message: string }> => {
    const { principal: _, ...rest } = request('GET', path);
    const response = await server.handler({ ...rest, ...(principal === undefined ? {} : { principal }) });
    assert.ok(response.kind === 'bytes');
    return JSON.parse(Buffer.concat(response.chunks).toString()) as { code: number; message: string };
  };
  assert.equal((await answer('/api/v1/pods')).code, 401);
  const cases: [string, string][] = [
    [
      '/api/v1/namespaces/y/pods',
      'pods is forbidden: User "eve" cannot list resource "pods" in API group "" in the namespace "y"',
    ],
    [
      '/apis/apps/v1/deployments',
      'deployments.apps is forbidden: User "eve" cannot list resource "deployments" in API group "apps" at the cluster scope',
    ],
    [
      '/api/v1/namespaces/y/pods/p/log',
      'pods "p" is forbidden: User "eve" cannot get resource "pods/log" in API group "" in the namespace "y"',
    ],
    ['/metrics', 'forbidden: User "eve" cannot get path "/metrics"'],
  ];
  for (const [path, message] of cases)
    assert.deepEqual(await answer(path, viewer).then(({ code, message: text }) => [code, text]), [403, message]);
});

test('/statusz describes the server, for users with the right of monitoring', async () => {
  const { send, platform } = await startTestServer();
  await platform.clock.advance(61_000);
  const accept = 'application/json;v=v1beta1;g=config.k8s.io;as=Statusz';
  const { status, body } = await send('GET', '/statusz', undefined, { accept });
  assert.equal(status, 200);
  assert.deepEqual([body.metadata.name, body.uptimeSeconds], ['kube-apiserver', 61]);
  for (const path of ['/healthz', '/livez', '/metrics', '/readyz', '/statusz', '/version'])
    assert.ok(body.paths.includes(path), path);
  assert.equal(body.paths.includes('/apis'), false);
  assert.match((await send('GET', '/statusz')).text, /^\nkube-apiserver statusz\n/);
  const refused = await send('GET', '/statusz', undefined, { accept: 'application/json' });
  assert.deepEqual([refused.status, refused.body.reason], [406, 'NotAcceptable']);
});

test('admission changes, judges and refuses; a bug in it is a 500 with a log line', async () => {
  const plugin: AdmissionPlugin = {
    name: 'Test',
    handles: (operation, resource) => operation === 'CREATE' && resource.resource === 'configmaps',
    mutate: async ({ object }) => void (object!.metadata.labels = { ...object!.metadata.labels, seen: 'yes' }),
    validate: ({ object, resource }) => {
      if (object!.metadata.name === 'bug') throw new TypeError('oops');
      if (object!.metadata.name === 'bad') throw forbidden({ group: '', resource: resource.resource }, 'bad', 'no');
    },
  };
  const { send, platform } = await startTestServer({ admission: [plugin] });
  const post = (name: string) => send('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name } });
  assert.deepEqual((await post('good')).body.metadata.labels, { seen: 'yes' });
  assert.equal((await post('bad')).body.message, 'configmaps "bad" is forbidden: no');
  const bug = await post('bug');
  assert.deepEqual([bug.status, bug.body.reason], [500, 'InternalError']);
  assert.equal(platform.log.entries.filter((entry) => entry.level === 'error').length, 1);
});

test('too many requests at once are sent away', async () => {
  const gate = Promise.withResolvers<void>();
  const plugin: AdmissionPlugin = { name: 'Slow', handles: () => true, mutate: () => gate.promise };
  const authorizers = [{ authorize: () => ({ decision: 'allow', reason: '' }) as const }];
  const { send, server, request } = await startTestServer({ admission: [plugin], authorizers });
  const body = { kind: 'object', object: { metadata: { generateName: 'x' } } } as const;
  const post = () =>
    server.handler(request('POST', '/api/v1/namespaces/d/configmaps', { body, principal: { name: 'u', groups: [] } }));
  const waiting = Array.from({ length: 200 }, post);
  assert.match(
    (await send('GET', '/metrics')).text,
    /apiserver_current_inflight_requests\{request_kind="mutating"\} 200/,
  );
  assert.deepEqual([server.underWay().length, server.underWay()[0]], [100, 'create /api/v1/namespaces/d/configmaps']);
  const refused = await post();
  assert.ok(refused.kind === 'bytes');
  assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '1']);
  gate.resolve();
  await Promise.all(waiting);
  assert.deepEqual(server.underWay(), []);
  const after = await post();
  assert.equal(after.kind === 'bytes' && after.status, 201);
});

test('object store: listeners hear everything from the start, writes keep their compare', async () => {
  const { storage, send } = await startTestServer();
  const { ConfigMaps } = await import('../api/gen/resources.ts');
  const seen: string[] = [];
  const leave = storage.objects.onChange(
    ConfigMaps,
    (object, old) => void seen.push(`${old?.metadata.name ?? '-'} ${object?.metadata.name ?? '-'}`),
  );
  const made = await storage.objects.ensure(ConfigMaps, { metadata: { name: 'a', namespace: 'n' }, data: { k: '1' } });
  assert.equal(await storage.objects.ensure(ConfigMaps, { metadata: { name: 'a', namespace: 'n' } }), made);
  const changed = await storage.objects.guaranteedUpdate(ConfigMaps, 'n', 'a', (map) => ({ ...map, data: { k: '2' } }));
  assert.equal(storage.objects.get(ConfigMaps, 'n', 'a'), changed);
  assert.deepEqual((await storage.objects.getFresh(ConfigMaps, 'n', 'a'))?.data, { k: '2' });
  await send('DELETE', '/api/v1/namespaces/n/configmaps/a');
  assert.deepEqual(seen, ['- a', 'a a', 'a -']);
  leave();
});

test('resources are added and removed at run time; beta versions are served when enabled', async () => {
  const { server, send } = await startTestServer({}, { runtimeConfig: 'apps/v1=false' });
  for (const method of ['GET', 'DELETE']) assert.equal((await send(method, '/apis/apps/v1/deployments')).status, 404);
  const { Secrets } = await import('../api/gen/resources.ts');
  assert.equal((await send('GET', '/api/v1/secrets')).status, 404);
  await server.addDefinitions([
    {
      info: Secrets,
      enabledByDefault: true,
      storagePrefix: '/registry/secrets/',
      strategy: { validate: () => [], validateUpdate: () => [] },
    },
  ]);
  assert.equal((await send('GET', '/api/v1/secrets')).status, 200);
  assert.ok((await send('GET', '/api/v1')).body.resources.some((r: { name: string }) => r.name === 'secrets'));
  server.removeDefinitions([Secrets]);
  assert.equal((await send('GET', '/api/v1/secrets')).status, 404);
});
