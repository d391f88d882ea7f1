/** The kubelet's HTTP API on a simulated host. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { HttpAnswer } from '../../platform/net.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import type { PodActivity } from '../../api/pod-activity.ts';
import type { PodNodeState } from '../../api/pod-node-state.ts';
import type { ContainerRuntime, ContainerStatus, PodStatus } from '../container/runtime.ts';
import type { KubeletAuth } from './kubelet-auth.ts';
import { createKubeletServer } from './kubelet-server.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'uid-1' },
  spec: { containers: [{ name: 'app' }, { name: 'side' }] },
  status: { containerStatuses: [{ name: 'side', state: { waiting: { reason: 'ImagePullBackOff' } } }] as never },
};

function container(name: string, id: string, state: ContainerStatus['state']): ContainerStatus {
  return {
    id,
    name,
    state,
    createdAtMs: 0,
    startedAtMs: 0,
    finishedAtMs: 0,
    exitCode: 0,
    image: 'busybox',
    imageId: '',
    imageRef: '',
    hash: '',
    restartCount: 0,
    reason: '',
    message: '',
    podSandboxId: 's1',
  };
}

/** Files that checkpoints were written to. */
const checkpoints: string[] = [];

interface Fixture {
  readonly platform: SimPlatform;
  readonly containers: ContainerStatus[];
  readonly asked: string[];
  problems: string[];
  get(path: string, method?: string): Promise<{ status: number; body: string }>;
}

async function readAnswer(answer: HttpAnswer): Promise<{ status: number; body: string }> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  return { status: answer.status, body: Buffer.concat(chunks).toString() };
}

async function createFixture(
  auth: Partial<KubeletAuth> = {},
  parts: { readonly debuggingHandlers?: boolean } = {},
): Promise<Fixture> {
  const platform = createSimPlatform();
  const containers: ContainerStatus[] = [container('app', 'c2', 'running'), container('app', 'c1', 'exited')];
  const asked: string[] = [];
  const status = (): PodStatus => ({
    uid: 'uid-1',
    name: 'web',
    namespace: 'default',
    ips: [],
    containers,
    sandboxes: [],
  });
  await platform.files.makeDir('/logs');
  await platform.files.writeFile(
    '/logs/c2',
    '2026-01-01T00:00:00.000000001Z stdout F one\n2026-01-01T00:00:01Z stderr F two\n2026-01-01T00:00:02Z stdout F three\n',
  );
  await platform.files.writeFile('/logs/c1', '2025-01-01T00:00:00Z stdout F before\n');
  const runtime: Partial<ContainerRuntime> = {
    containerLogPath: async (id) => `/logs/${id}`,
    getPods: async () => [
      {
        uid: 'uid-1',
        name: 'web',
        namespace: 'default',
        createdAtMs: 0,
        sandboxes: [],
        containers: [{ id: 'c2', name: 'app', state: 'running', hash: '' }],
      },
    ],
    getPodStatus: async () => status(),
    execSync: async (_id, command) => ({
      exitCode: 0,
      stdout: Buffer.from(command.join('|')),
      stderr: Buffer.from('!'),
    }),
    async checkpointContainer(id, location, timeoutSeconds) {
      if (id === '') throw new Error('no');
      assert.ok(Number.isSafeInteger(timeoutSeconds));
      checkpoints.push(location);
    },
  };
  const fixture: Fixture = {
    platform,
    containers,
    asked,
    problems: [],
    get: async (path, method = 'GET') =>
      readAnswer(await platform.net.http({ method, url: `http://10.0.0.1:10250${path}` })),
  };
  const handler = createKubeletServer({
    host: {
      nodeName: 'node-1',
      pods: () => [pod],
      podStatus: status,
      healthProblems: () => fixture.problems,
      configz: () => ({ kubeletconfig: { maxPods: 110 } }),
      podByName: (namespace, name) => (namespace === 'default' && name === 'web' ? pod : undefined),
      podByUid: () => pod,
      stepsOf: () => undefined,
      stateOf: (_namespace, name) => (name === 'web' ? ({ uid: 'uid-web' } as PodNodeState) : undefined),
      activityOf: (_namespace, name) => (name === 'web' ? ({ uid: 'uid-web' } as PodActivity) : undefined),
    },
    runtime: runtime as ContainerRuntime,
    platform,
    probeMetrics: async () => 'prober_probe_total 1\n',
    checkpointDirectory: '/var/lib/kubelet/checkpoints',
    localPathRoot: '/data/local-path',
    systemLogDirectory: '/var/log',
    stats: {
      summary: async () => ({ node: { nodeName: 'node-1', startTime: '' }, pods: [] }),
      kubeletMetrics: async () => 'kubelet\n',
      cadvisorMetrics: async () => 'cadvisor\n',
      resourceMetrics: async () => 'resource\n',
    },
    auth: {
      authenticate: async () => ({ name: 'api', groups: [] }),
      async authorize(_principal, verb, subresource) {
        asked.push(`${verb} ${subresource}`);
        return true;
      },
      ...auth,
    },
    ...parts,
  });
  await platform.listenHttp({ host: '0.0.0.0', port: 10_250 }, handler);
  return fixture;
}

test('logs: tail, since, limit, times, streams, previous', async () => {
  const { get } = await createFixture();
  const base = '/containerLogs/default/web/app';
  const cases: readonly (readonly [string, string])[] = [
    ['', 'one\ntwo\nthree\n'],
    ['?tailLines=1', 'three\n'],
    ['?tailLines=0', ''],
    ['?limitBytes=5', 'one\nt'],
    ['?stream=Stderr', 'two\n'],
    ['?timestamps=true&tailLines=1', '2026-01-01T00:00:02Z three\n'],
    ['?sinceTime=2026-01-01T00:00:01Z', 'two\nthree\n'],
    ['?previous=true', 'before\n'],
  ];
  for (const [query, body] of cases) assert.deepEqual(await get(`${base}${query}`), { status: 200, body }, query);
});

test('an invalid log path of the runtime is refused without the path in the message', async () => {
  const fixture = await createFixture();
  const files = fixture.platform.files as { exists: unknown };
  files.exists = () => Promise.reject(new Error("ENAMETOOLONG: name too long, access '/logs/111'"));
  const answer = await fixture.get('/containerLogs/default/web/app');
  assert.deepEqual(
    [answer.status, answer.body],
    [400, 'failed to open log file of container "app" in pod "web": ENAMETOOLONG: name too long'],
  );
});

test('logs: refused requests', async () => {
  const { get } = await createFixture();
  const cases: readonly (readonly [string, number, string])[] = [
    ['/containerLogs/default/none/app', 404, 'pod "none" does not exist'],
    ['/containerLogs/default/web/none', 404, 'container "none" not found in pod "web"'],
    [
      '/containerLogs/default/web/side',
      400,
      'container "side" in pod "web" is waiting to start: trying and failing to pull image',
    ],
    [
      '/containerLogs/default/web/side?previous=true',
      400,
      'previous terminated container "side" in pod "web" not found',
    ],
    ['/containerLogs/default/web/app?tailLines=x', 400, '{"message": "Unable to decode query."}'],
    ['/containerLogs/default/web/app?limitBytes=0', 422, '{"message": "Invalid request."}'],
    ['/containerLogs/default/web', 400, '{"message": "Missing container name."}'],
  ];
  for (const [path, status, body] of cases) assert.deepEqual(await get(path), { status, body }, path);
});

test('following ends with the container', async () => {
  const fixture = await createFixture();
  const answer = fixture.get('/containerLogs/default/web/app?follow=true&tailLines=0');
  await fixture.platform.clock.settle();
  const log = await fixture.platform.files.open('/logs/c2', 'a');
  await log.append('2026-01-01T00:00:03Z stdout F four\n');
  await fixture.platform.clock.advance(1000);
  fixture.containers[0] = container('app', 'c2', 'exited');
  await fixture.platform.clock.advance(1000);
  assert.deepEqual(await answer, { status: 200, body: 'four\n' });
});

test("the node's logs: files and listings below their folder alone", async () => {
  const { platform, get } = await createFixture();
  const { files } = platform;
  await files.makeDir('/var/log/pods');
  await files.writeFile('/var/log/syslog', 'line\n'.repeat(30_000));
  await files.writeFile('/var/log/a & b', '');
  await files.makeDir('/etc');
  await files.writeFile('/etc/shadow', 'secret');
  assert.deepEqual(await get('/logs/syslog'), { status: 200, body: 'line\n'.repeat(30_000) });
  assert.deepEqual(await get('/logs/syslog', 'HEAD'), { status: 200, body: '' });
  assert.equal(
    (await get('/logs/')).body.replace(/^[^]*<pre>\n/, ''),
    '<a href="./a%20%26%20b">a &amp; b</a>\n<a href="./pods/">pods/</a>\n<a href="./syslog">syslog</a>\n</pre>\n',
  );
  const cases: readonly (readonly [string, number])[] = [
    ['/logs/pods', 301],
    ['/logs/none', 404],
    ['/logs/syslog/more', 404],
    ['/logs/../etc/shadow', 400],
    ['/logs/%2e%2e/%2e%2e/etc/shadow', 400],
    ['/logs/..%2f..%2fetc%2fshadow', 400],
  ];
  for (const [path, status] of cases) assert.equal((await get(path)).status, status, path);
  assert.equal((await get('/logs/syslog', 'DELETE')).status, 405);
});

test('the other paths', async () => {
  const fixture = await createFixture();
  const { get } = fixture;
  assert.deepEqual(await get('/healthz'), { status: 200, body: 'ok' });
  assert.equal(JSON.parse((await get('/pods')).body).items[0].metadata.name, 'web');
  assert.deepEqual(JSON.parse((await get('/runningpods/')).body).items[0].spec.containers, [
    { name: 'app', image: 'busybox', resources: {} },
  ]);
  assert.deepEqual(JSON.parse((await get('/configz')).body), { kubeletconfig: { maxPods: 110 } });
  assert.match((await get('/statusz')).body, /^\nkubelet statusz\n[\s\S]*Paths.* \/configz .*\/statusz/);
  assert.equal((await get('/statusz/x')).status, 404);
  assert.equal(JSON.parse((await get('/stats/summary')).body).node.nodeName, 'node-1');
  assert.match((await get('/metrics')).body, /kubelet_http_requests_total[\s\S]*\nkubelet\n$/);
  assert.equal((await get('/metrics/cadvisor')).body, 'cadvisor\n');
  assert.equal((await get('/metrics/resource')).body, 'resource\n');
  assert.equal((await get('/metrics/probes')).body, 'prober_probe_total 1\n');
  assert.deepEqual(await get('/run/default/web/app?cmd=ls%20-l', 'POST'), { status: 200, body: 'ls|-l!' });
  for (const [path, status] of [
    ['/checkpoint/a/b/c', 405],
    ['/nothing', 404],
    ['/metrics/x', 404],
    ['/exec/default/web/app', 400],
    ['/%zz', 404],
    ['/pods/%zz', 400],
  ] as const)
    assert.equal((await get(path)).status, status, path);
  fixture.problems = ['PLEG is not healthy'];
  assert.equal((await get('/healthz')).status, 500);
  assert.equal((await get('/healthz/ping')).status, 200);
});

test('the state of a pod on this node, for users who may use the proxy of the node', async () => {
  const { get, asked } = await createFixture();
  for (const route of ['podState', 'podActivity']) {
    assert.deepEqual(JSON.parse((await get(`/${route}/default/web`)).body), { uid: 'uid-web' });
    assert.equal((await get(`/${route}/default/none`)).status, 404);
    assert.equal((await get(`/${route}/default/web/more`)).status, 404);
  }
  assert.deepEqual(asked.at(-1), 'get proxy');
});

test('unauthenticated and unauthorized requests are refused, with the attributes for the authorizer', async () => {
  const nobody = await createFixture({ authenticate: async () => undefined });
  assert.deepEqual(await nobody.get('/pods'), { status: 401, body: 'Unauthorized' });
  const denied = await createFixture({ authorize: async () => false });
  assert.deepEqual(await denied.get('/pods'), {
    status: 403,
    body: 'Forbidden (user=api, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
  });
  const { get, asked } = await createFixture();
  for (const path of [
    '/stats/summary',
    '/metrics',
    '/logs/',
    '/pods',
    '/healthz',
    '/configz',
    '/statusz',
    '/exec/a/b/c',
    '/containerLogs/a/b/c',
    '/checkpoint/x',
  ])
    await get(path);
  assert.deepEqual(asked, [
    'get stats',
    'get metrics',
    'get log',
    'get pods',
    'get healthz',
    'get configz',
    'get statusz',
    'create proxy',
    'get proxy',
    'get checkpoint',
  ]);
});

test('without debugging handlers, as on the read-only port, no path reads containers or the configuration', async () => {
  const { get } = await createFixture({}, { debuggingHandlers: false });
  const statuses: Readonly<Record<string, number>> = {
    '/configz': 404,
    '/containerLogs/default/web/app': 405,
    '/exec/default/web/app?command=id': 405,
    '/attach/default/web/app': 405,
    '/portForward/default/web': 405,
    '/run/default/web/app': 405,
    '/checkpoint/default/web/app': 405,
    '/logs/': 405,
    '/debug/pprof': 405,
    '/runningpods/': 405,
    '/pods': 200,
    '/healthz': 200,
    '/metrics': 200,
    '/stats/summary': 200,
  };
  for (const [path, status] of Object.entries(statuses)) assert.equal((await get(path)).status, status, path);
});

test('checkpoint: of a running container, into a file; not found where the runtime does not support it', async () => {
  const { get, containers } = await createFixture();
  checkpoints.length = 0;
  assert.equal((await get('/checkpoint/default/web/app')).status, 405);
  const answer = await get('/checkpoint/default/web/app?timeout=5', 'POST');
  assert.equal(answer.status, 200);
  assert.match(checkpoints[0] ?? '', /^\/var\/lib\/kubelet\/checkpoints\/checkpoint-web_default-app-.*Z\.tar$/);
  assert.deepEqual(JSON.parse(answer.body), { items: checkpoints });
  assert.equal((await get('/checkpoint/default/other/app', 'POST')).status, 404);
  for (const timeout of ['x', '-1', '1e3', '9223372036854775808', '9'.repeat(40)]) {
    const { status, body } = await get(`/checkpoint/default/web/app?timeout=${timeout}`, 'POST');
    assert.deepEqual([status, body], [500, `cannot parse value of timeout parameter: "${timeout}"`]);
  }
  assert.equal((await get('/checkpoint/default/web/app?timeout=9223372036854775807', 'POST')).status, 200);
  containers.length = 0;
  const none = await get('/checkpoint/default/web/app', 'POST');
  assert.deepEqual([none.status, none.body], [404, 'container app does not exist']);
});

test('local volumes: the directories of that volume go, and nothing else', async () => {
  const { platform, get, asked } = await createFixture();
  const root = '/data/local-path';
  const children = async (): Promise<string[]> =>
    (await platform.files.exists(root)) ? platform.files.readDir(root) : [];
  assert.equal((await get('/localVolumes/pvc-1', 'DELETE')).status, 200, 'no root, nothing to remove');
  for (const name of ['pvc-1_default_data', 'pvc-10_default_data', 'other']) {
    await platform.files.makeDir(`${root}/${name}`);
    await platform.files.writeFile(`${root}/${name}/file`, 'x');
  }
  const all = await children();
  const refused: readonly (readonly [path: string, method: string, status: number])[] = [
    ['/localVolumes/pvc-1', 'GET', 405],
    ['/localVolumes/pvc-1', 'POST', 405],
    ['/localVolumes', 'DELETE', 400],
    ['/localVolumes/pvc-1/x', 'DELETE', 400],
    ['/localVolumes/..', 'DELETE', 400],
    ['/localVolumes/..%2Flocal-path', 'DELETE', 400],
    ['/localVolumes/pvc-1_default', 'DELETE', 400],
  ];
  for (const [path, method, status] of refused) {
    // The client's URL parser removes `..`; the remaining path is another route.
    const wanted = path.endsWith('/..') ? [status, 404] : [status];
    assert.ok(wanted.includes((await get(path, method)).status), `${method} ${path}`);
    assert.deepEqual(await children(), all, `${method} ${path}`);
  }
  for (const name of ['pvc', 'pvc-1', 'pvc-1'])
    assert.equal((await get(`/localVolumes/${name}`, 'DELETE')).status, 200);
  assert.deepEqual(await children(), ['other', 'pvc-10_default_data']);
  assert.equal(asked.at(-1), 'delete proxy');
});
