import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Service } from '../../api/gen/core-v1.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import type { HttpRequest } from '../../platform/http.ts';
import type { Net } from '../../platform/net.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { KubeletCall } from '../registry/services.ts';
import { pathBehindProxy } from './http-proxy.ts';
import { createFixture, echo, messageOf, node, objectsWith, pod, read, text } from './kubelet-connector-fixture.ts';
import { createKubeletConnector } from './kubelet-connector.ts';
import { kubeletAddress } from './kubelet-location.ts';
import { kubeletTarget } from './kubelet-target.ts';
import { podLocation, serviceLocation } from './proxy-location.ts';

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

test('proxies: path and query unchanged, headers without credentials, status unchanged', async () => {
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

/** Addresses that a node may write into its status, as URLs would read them: another kubelet, another path, the API server. */
const NO_HOSTS = [
  ...['u@10.0.0.9:10250/exec/other/pod/c?command=id&x=', '10.0.0.9/pods?', '10.0.0.9#', '10.0.0.9:10251', 'a/../b'],
  ...['u@10.0.0.2:6443/api/v1/nodes/other/proxy/pods?', '2130706433', '0x0a2b0001'],
];

test('no request is sent with the identity of the API server to an API server', async () => {
  const own = {
    metadata: { name: 's', namespace: 'default', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: 'IPv4',
    ports: [{ name: 'https', port: 6443 }],
    endpoints: [{ addresses: ['10.0.0.2'] }],
  };
  const objects = {
    get: (_: unknown, __: string, name: string) =>
      name === 'kubernetes'
        ? { spec: { clusterIP: '10.43.0.1', ports: [{ port: 443 }] } }
        : name === 'node-1'
          ? current
          : undefined,
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
    ['::ffff:10.43.0.1', 8443],
    ['server.example', 443],
    ['10.43.1', 10_250],
    ...NO_HOSTS.map((address) => [address, 10_250] as const),
  ] as const) {
    current = {
      metadata: { name: 'node-1' },
      status: { addresses: [{ type: 'InternalIP', address }], daemonEndpoints: { kubeletEndpoint: { Port } } },
    };
    assert.throws(() => kubeletTarget({ objects, kubeletTls: () => ({}) }, 'node-1'), refused, address);
    const platform = createSimPlatform();
    const net = { http: () => assert.fail('dialled'), lookup: () => assert.fail('looked up') } as unknown as Net;
    const { clock, random, crypto } = platform;
    const connector = createKubeletConnector({ net, objects, random, crypto, clock, kubeletTls: () => ({}) });
    const asked = connector.proxyNode(current, { scheme: '', port: '' }, {} as KubeletCall);
    await assert.rejects(asked, refused, address);
    for (const subresource of ['log', 'exec', 'attach', 'portforward'] as const) {
      const { call } = await createFixture(echo);
      const asked = async () =>
        connector.connectPod(pod, subresource, call('/x?command=id&stdout=true&ports=1', upgrade));
      await assert.rejects(asked, refused, `${subresource} ${address}`);
    }
  }
  current = node;
  assert.equal(kubeletTarget({ objects, kubeletTls: () => ({}) }, 'node-1').base, 'https://10.0.0.2:10251');
});
