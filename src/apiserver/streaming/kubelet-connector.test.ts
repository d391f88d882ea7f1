/** The API server's side of logs, streams and proxies, on a simulated network. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stored } from '../../api/stored-fixture.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import type { Node, Pod, Service } from '../../api/gen/core-v1.ts';
import { EndpointSlices } from '../../api/gen/resources.ts';
import type { StatusError } from '../../api/status-error.ts';
import type { ApiRequest, ApiResponse } from '../../api/transport.ts';
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { Net } from '../../platform/net.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createDuplexPair } from '../../platform/sim/streams.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { KubeletCall } from '../registry/services.ts';
import { createKubeletConnector } from './kubelet-connector.ts';
import { kubeletAddress, kubeletBaseUrl } from './kubelet-location.ts';
import { containerOf, logQuery, portForwardQuery, streamQuery } from './pod-options.ts';
import { pathBehindProxy } from './http-proxy.ts';
import { podLocation, serviceLocation } from './proxy-location.ts';

const node: Node = {
  metadata: { name: 'node-1' },
  status: {
    addresses: [
      { type: 'Hostname', address: 'n1' },
      { type: 'InternalIP', address: '10.0.0.2' },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: 10_251 } },
  },
};
const pod = stored<Pod>({
  metadata: { name: 'web', namespace: 'default' },
  spec: { nodeName: 'node-1', containers: [{ name: 'a', ports: [{ containerPort: 8080, name: 'http' }] }] },
  status: { podIP: '10.0.0.2' },
});
const service: Service = {
  metadata: { name: 'svc', namespace: 'default' },
  spec: { ports: [{ name: 'http', port: 80 }] },
};
const slice = (ready: boolean): EndpointSlice => ({
  metadata: { name: 's', namespace: 'default', labels: { 'kubernetes.io/service-name': 'svc' } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 8080 }],
  endpoints: [{ addresses: ['10.0.0.2'], conditions: { ready } }],
});

function objectsWith(slices: readonly EndpointSlice[] = []): ObjectStore {
  return {
    get: (_info: unknown, _namespace: string, name: string) => (name === 'node-1' ? node : undefined),
    list: (info: unknown) => (info === EndpointSlices ? slices : []),
  } as unknown as ObjectStore;
}

/** The API server's host, and a node whose ports answer by `answer`. */
async function createFixture(
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

async function read(response: ApiResponse): Promise<{ status: number; body: string }> {
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

const text = (status: number, body: string): HttpResponse => ({
  kind: 'bytes',
  status,
  headers: {},
  chunks: [Buffer.from(body)],
});
const echo = (request: HttpRequest): HttpResponse => text(200, `${request.method} ${request.path}?${request.query}`);
const messageOf = (work: () => unknown): string => {
  try {
    work();
    return '';
  } catch (error) {
    return (error as StatusError).message;
  }
};

test('a log comes over a WebSocket to whom asks for one', async () => {
  const { connector, call } = await createFixture(echo);
  const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
  const response = await connector.connectPod(pod, 'log', call('/log', { headers, wantsUpgrade: true }));
  assert.equal(response.kind, 'upgrade');
  const [client, server] = createDuplexPair();
  if (response.kind === 'upgrade') void response.accept(server);
  let received = '';
  for await (const chunk of client.incoming) received += Buffer.from(chunk).toString('latin1');
  assert.match(received, /GET \/containerLogs\/default\/web\/a\?/);
});

test('the container meant', () => {
  const two = stored<Pod>({
    ...pod,
    spec: {
      containers: [{ name: 'a' }, { name: 'b' }],
      initContainers: [{ name: 'i' }],
      ephemeralContainers: [{ name: 'e' }],
    },
  });
  assert.equal(containerOf(pod, ''), 'a');
  for (const name of ['b', 'i', 'e']) assert.equal(containerOf(two, name), name);
  assert.equal(
    messageOf(() => containerOf(two, '')),
    'a container name must be specified for pod web, choose one of: [a b] or one of the init containers: [i]',
  );
  assert.equal(
    messageOf(() => containerOf(two, 'x')),
    'container x is not valid for pod web',
  );
});

test("options become the kubelet's", () => {
  const q = (query: string): URLSearchParams => new URLSearchParams(query);
  assert.equal(
    logQuery(q('follow=true&tailLines=0&limitBytes=5&sinceSeconds=3&timestamps=1&previous=false&pretty=true'), 'web'),
    'follow=true&timestamps=true&tailLines=0&limitBytes=5&sinceSeconds=3',
  );
  assert.equal(logQuery(q('stream=Stderr'), 'web'), 'stream=Stderr');
  assert.equal(
    streamQuery(q('command=ls&command=-l&stdin=true&stdout=true&tty=true&stderr=false'), 'exec'),
    'input=1&output=1&tty=1&command=ls&command=-l',
  );
  assert.equal(streamQuery(q(''), 'attach'), 'output=1&error=1');
  assert.equal(portForwardQuery(q('ports=80&ports=443')), 'port=80&port=443');
  const refusals: readonly (readonly [() => unknown, string])[] = [
    [
      () => logQuery(q('tailLines=-1'), 'web'),
      'PodLogOptions "web" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      () => logQuery(q('limitBytes=0'), 'web'),
      'PodLogOptions "web" is invalid: limitBytes: Invalid value: 0: must be greater than 0',
    ],
    [
      () => logQuery(q('sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z'), 'web'),
      'PodLogOptions "web" is invalid: sinceSeconds: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified',
    ],
    [
      () => streamQuery(q('stdout=false&stderr=false&command=x'), 'exec'),
      'you must specify at least 1 of stdin, stdout, stderr',
    ],
    [() => streamQuery(q('stdout=maybe&command=x'), 'exec'), 'strconv.ParseBool: parsing "maybe": invalid syntax'],
  ];
  for (const [work, message] of refusals) assert.equal(messageOf(work), message);
});

test("logs come from the kubelet of the pod's node; its refusals keep their text", async () => {
  const { connector, call } = await createFixture(echo);
  assert.deepEqual(await read(await connector.connectPod(pod, 'log', call('/x?follow=true'))), {
    status: 200,
    body: 'GET /containerLogs/default/web/a?follow=true',
  });
  const unscheduled = stored<Pod>({ ...pod, spec: { containers: [{ name: 'a' }] } });
  assert.deepEqual(await read(await connector.connectPod(unscheduled, 'log', call('/x'))), { status: 200, body: '' });
  await assert.rejects(connector.connectPod(unscheduled, 'exec', call('/x?command=ls')), {
    message: 'pod web does not have a host assigned',
  });
  await assert.rejects(connector.connectPod(pod, 'exec', call('/x?command=ls')), {
    message: 'Upgrade request required',
  });
  await assert.rejects(connector.connectPod({ ...pod, spec: { ...pod.spec!, nodeName: 'gone' } }, 'log', call('/x')), {
    message: 'nodes "gone" not found',
  });
  for (const [status, reason, message] of [
    [400, 'BadRequest', 'still starting'],
    [500, 'InternalError', 'Internal error occurred: still starting'],
    [404, 'NotFound', 'the server could not find the requested resource ( pods/log web)'],
  ] as const) {
    const refusing = await createFixture(() => text(status, 'still starting'));
    await assert.rejects(
      refusing.connector.connectPod(pod, 'log', refusing.call('/x')),
      (error: StatusError) => error.code === status && error.reason === reason && error.message === message,
    );
  }
});

test('a kubelet that is away is a 500 that names it', async () => {
  const platform = createSimPlatform();
  const connector = createKubeletConnector({
    net: platform.net,
    random: platform.random,
    crypto: platform.crypto,
    clock: platform.clock,
    objects: objectsWith(),
    kubeletTls: () => ({}),
  });
  const { call } = await createFixture(echo);
  await assert.rejects(
    connector.connectPod(pod, 'log', call('/x')),
    (error: StatusError) =>
      error.code === 500 && error.message === 'error dialing backend: connect ECONNREFUSED 10.0.0.2:10251',
  );
});

test('proxies: path and query as written, headers without credentials, status as it comes', async () => {
  let seen: HttpRequest['headers'] = {};
  const { connector, call } = await createFixture(
    (request) => {
      seen = request.headers;
      return request.path === '/missing' ? text(404, 'none') : echo(request);
    },
    [slice(true)],
  );
  const base = '/api/v1/namespaces/default/pods/web/proxy';
  const none = { scheme: '', port: '' } as const;
  assert.deepEqual(await read(await connector.proxyPod(pod, none, call(`${base}/a%2Fb/?x=1`))), {
    status: 200,
    body: 'GET /a%2Fb/?x=1',
  });
  assert.equal(((await connector.proxyPod(pod, none, call(`${base}/missing`))) as { status: number }).status, 404);
  const redirect = await connector.proxyPod(pod, none, call(`${base}?x=1`));
  assert.deepEqual(redirect.kind === 'bytes' && [redirect.status, redirect.headers['location']], [301, `${base}/?x=1`]);
  const post = call(`${base}/`, {
    method: 'POST',
    headers: { authorization: 'Bearer secret', 'impersonate-user': 'x', accept: 'a/b' },
    body: { kind: 'object', object: { a: 1 } },
  });
  assert.deepEqual(await read(await connector.proxyPod(pod, none, post)), { status: 200, body: 'POST /?' });
  assert.deepEqual(
    [seen['authorization'], seen['impersonate-user'], seen['accept'], seen['x-forwarded-uri'], seen['x-forwarded-for']],
    [undefined, undefined, 'a/b', `${base}/`, '1.2.3.4'],
  );
  assert.deepEqual(
    await read(
      await connector.proxyService(
        service,
        { scheme: '', port: 'http' },
        call('/api/v1/namespaces/default/services/svc:http/proxy/p'),
      ),
    ),
    { status: 200, body: 'GET /p?' },
  );
  assert.deepEqual(await read(await connector.proxyNode(node, none, call('/api/v1/nodes/node-1/proxy/pods'))), {
    status: 200,
    body: 'GET /pods?',
  });
});

test('a redirect for a client that calls the server by a strange name', async () => {
  const { connector, call } = await createFixture((request) => ({
    kind: 'bytes',
    status: 302,
    headers: { location: request.path === '/out' ? 'https://other.example/login' : 'http://10.0.0.2:8080/login' },
    chunks: [],
  }));
  const path = '/api/v1/namespaces/default/pods/web/proxy';
  for (const [asked, location] of [
    ['/in', `https://a b${path}/login`],
    ['/out', 'https://other.example/login'],
  ] as const) {
    const request = call(`${path}${asked}`, { headers: { host: 'a b' } });
    const answer = await connector.proxyPod(pod, { scheme: '', port: '' }, request);
    assert.equal(answer.kind === 'stream' && answer.headers['location'], location);
  }
});

test('an offer of h2c is not passed on, and opens nothing', async () => {
  let seen: HttpRequest['headers'] = {};
  const { connector, call } = await createFixture((request) => {
    seen = request.headers;
    return request.wantsUpgrade ? { kind: 'upgrade', accept: async () => assert.fail('taken') } : echo(request);
  });
  const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAoAAA' };
  const none = { scheme: '', port: '' } as const;
  const proxied = await connector.proxyPod(pod, none, call('/api/v1/namespaces/default/pods/web/proxy/x', { headers }));
  assert.deepEqual(await read(proxied), { status: 200, body: 'GET /x?' });
  assert.deepEqual([seen['connection'], seen['upgrade'], seen['http2-settings']], [undefined, undefined, undefined]);
  for (const [subresource, query] of [
    ['exec', 'command=a&stdout=true'],
    ['portforward', 'ports=80'],
  ] as const)
    await assert.rejects(connector.connectPod(pod, subresource, call(`/x?${query}`, { headers })), {
      message: 'Upgrade request required',
    });
});

const upgrade = { wantsUpgrade: true, headers: { connection: 'Upgrade', upgrade: 'websocket' } };

for (const change of [{}, upgrade]) {
  const what = change === upgrade ? ' for an upgrade' : '';
  test(`a node that is known by name is dialled${what} at the address that was checked, under its name`, async () => {
    const hosts: (string | undefined)[] = [];
    const { connector, call, platform } = await createFixture((request) => {
      hosts.push(request.headers['host']);
      return echo(request);
    });
    let looks = 0;
    const { names } = platform.network;
    names.get = (name) => (name === 'n1' && looks++ === 0 ? '10.0.0.2' : undefined);
    const named: Node = { metadata: { name: 'n' }, status: { addresses: [{ type: 'Hostname', address: 'n1' }] } };
    const asked = call('/api/v1/nodes/n/proxy/x', change);
    const answer = await connector.proxyNode(named, { scheme: '', port: '8080' }, asked);
    assert.deepEqual(await read(answer), { status: 200, body: 'GET /x?' });
    assert.deepEqual(hosts, ['n1:8080']);
  });
}

test('where proxied requests go', () => {
  const { random } = createSimPlatform();
  assert.equal(podLocation(pod, { scheme: 'https', port: 'http' }).base, 'https://10.0.0.2:8080');
  assert.equal(
    podLocation({ ...pod, status: { podIPs: [{ ip: 'fd00::1' }] } }, { scheme: '', port: '9' }).base,
    'http://[fd00::1]:9',
  );
  assert.equal(
    messageOf(() => podLocation({ ...pod, status: { podIP: '127.0.0.1' } }, { scheme: '', port: '' })),
    'address not allowed',
  );
  const locate = (slices: readonly EndpointSlice[], port: string): string =>
    serviceLocation({ objects: objectsWith(slices), random }, service, { scheme: '', port }).base;
  assert.equal(locate([slice(true)], '80'), 'http://10.0.0.2:8080');
  assert.equal(
    messageOf(() => locate([slice(false)], '80')),
    'no endpoints available for service "svc"',
  );
  assert.equal(
    messageOf(() => locate([slice(true)], '81')),
    'no service port 81 found for service "svc"',
  );
  assert.equal(
    messageOf(() => kubeletAddress({ metadata: {} })),
    'no preferred addresses found; known addresses: []',
  );
  for (const [path, rest] of [
    ['/api/v1/nodes/n/proxy', ''],
    ['/api/v1/nodes/n/proxy/', '/'],
    ['/api/v1/namespaces/proxy/pods/proxy/proxy/proxy/x', '/proxy/x'],
  ] as const)
    assert.equal(pathBehindProxy(path), rest);
});

test('nothing is asked with the identity of the API server where an API server answers', async () => {
  const own = {
    metadata: { name: 's', namespace: 'default', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: 'IPv4',
    ports: [{ name: 'https', port: 6443 }],
    endpoints: [{ addresses: ['10.0.0.2'] }],
  };
  const objects = {
    get: (_: unknown, __: string, name: string) =>
      name === 'kubernetes' ? { spec: { clusterIP: '10.43.0.1' } } : name === 'node-1' ? current : undefined,
    list: () => [own],
  } as unknown as ObjectStore;
  let current = node;
  const refused = { message: 'address not allowed' };
  for (const [address, Port] of [
    ['10.0.0.2', 6443],
    ['127.0.0.1', 6443],
    ['10.0.0.9', 6443],
    ['server.example', 6443],
    ['10.43.0.1', 443],
  ] as const) {
    current = {
      metadata: { name: 'node-1' },
      status: { addresses: [{ type: 'InternalIP', address }], daemonEndpoints: { kubeletEndpoint: { Port } } },
    };
    assert.throws(() => kubeletBaseUrl(objects, 'node-1'), refused, address);
    const platform = createSimPlatform();
    const net = { http: () => assert.fail('dialled'), lookup: () => assert.fail('looked up') } as unknown as Net;
    const { clock, random, crypto } = platform;
    const connector = createKubeletConnector({ net, objects, random, crypto, clock, kubeletTls: () => ({}) });
    const asked = connector.proxyNode(current, { scheme: '', port: '' }, {} as KubeletCall);
    await assert.rejects(asked, refused, address);
  }
  current = node;
  assert.equal(kubeletBaseUrl(objects, 'node-1'), 'https://10.0.0.2:10251');
});
