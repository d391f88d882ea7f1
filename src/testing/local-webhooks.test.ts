/** Servers of the test on real ports: webhooks, conversion, aggregated APIs, also behind the ports of pods. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer, type Server } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { KubeConfig, PortForward } from '@kubernetes/client-node';
import { ConfigMaps, ValidatingWebhookConfigurations } from '../api/gen/resources.ts';
import { createTestAuthority } from '../platform/node/certificates-fixture.ts';
import { Cluster } from './cluster.ts';
import { servingCertificate } from './serving-certificate.ts';

const RULES = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE' as const], resources: ['configmaps'] }];

/** A webhook's configuration; `clientConfig` has a URL or a service. */
function configuration(clientConfig: object): object {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'refuse' },
    webhooks: [
      {
        name: 'refuse.example.com',
        clientConfig,
        rules: RULES,
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  };
}

describe('a server of the test on a port of this machine', () => {
  let caBundle: string;
  let server: Server;
  let port: number;
  /** Work of the server before it responds. */
  let meanwhile = async (): Promise<void> => undefined;

  before(async () => {
    const { cert, key, ...made } = await servingCertificate('localhost', '127.0.0.1', 'hooks.system.svc');
    caBundle = made.caBundle;
    server = createServer({ cert, key }, async (message, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of message) chunks.push(chunk as Buffer);
      await meanwhile();
      const text = Buffer.concat(chunks).toString('utf8');
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answerTo(message.url ?? '', text)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });

  async function refusal(cluster: Cluster): Promise<string> {
    const making = cluster.client.resource(ConfigMaps).create({ metadata: { name: 'a', namespace: 'default' } });
    return making.then(
      () => 'created',
      (error: Error) => error.message,
    );
  }

  for (const clock of ['real', 'virtual'] as const)
    for (const host of ['127.0.0.1', 'localhost'])
      test(`as ${host} is a webhook of a cluster in ${clock} time`, async () => {
        await using cluster = await Cluster.start({ nodes: 0, controllers: [], scheduler: false, clock });
        await cluster.apply(configuration({ url: `https://${host}:${port}/refuse`, caBundle }));
        assert.match(await refusal(cluster), /denied the request: the server refuses/);
      });

  test('is verified with the caBundle, and unreachable when nothing listens; other addresses are unreachable from every cluster', async () => {
    await using cluster = await Cluster.start({ nodes: 0, controllers: [], scheduler: false });
    const webhooks = cluster.client.resource(ValidatingWebhookConfigurations);
    const other = Buffer.from((await createTestAuthority('other')).caPem).toString('base64');
    for (const [clientConfig, message] of [
      [{ url: `https://localhost:${port}/refuse`, caBundle: other }, /certificate signed by unknown authority/],
      [{ url: 'https://localhost:1/refuse', caBundle }, /connection refused/],
      [{ url: `https://10.1.2.3:${port}/refuse`, caBundle }, /connection refused/],
    ] as const) {
      await cluster.apply(configuration(clientConfig));
      assert.match(await refusal(cluster), message);
      await webhooks.delete({ name: 'refuse' });
    }
  });

  test('may read and write the cluster that calls it, while virtual time stands', async () => {
    await using cluster = await Cluster.start({ nodes: 0, controllers: [], scheduler: false });
    await cluster.apply(configuration({ url: `https://localhost:${port}/refuse`, caBundle }));
    const nowMs = cluster.nowMs;
    let seen = 0;
    meanwhile = async () => {
      seen = (await cluster.client.resource(ValidatingWebhookConfigurations).list()).items.length;
      await setTimeout(20);
    };
    assert.match(await refusal(cluster), /the server refuses/);
    meanwhile = async () => undefined;
    assert.deepEqual([seen, cluster.nowMs], [1, nowMs]);
  });

  test('serves behind a Service of pods that the test described: webhook, conversion, aggregated API', async () => {
    await using cluster = await Cluster.start({ nodes: 2 });
    cluster.image('hooks:1', { servers: { 9443: server } });
    await cluster.apply(serviceWithPods('hooks:1', 9443));
    await cluster.waitFor('deployment/system/hooks', 'Available');
    const service = { namespace: 'system', name: 'hooks' };
    await cluster.apply(configuration({ service: { ...service, path: '/refuse' }, caBundle }));
    assert.match(await refusal(cluster), /denied the request: the server refuses/);
    // Other parts of the operator's set-up work meanwhile.
    await cluster.apply(aggregated(service, caBundle));
    await cluster.waitFor('apiservice/v1.stars.example.com', 'Available');
    const { body } = await cluster.client.raw({ path: '/apis/stars.example.com/v1/stars' });
    assert.deepEqual(JSON.parse(Buffer.from(body).toString()), { kind: 'StarList', items: ['sirius'] });

    await cluster.apply(convertedBy({ service: { ...service, path: '/convert' }, caBundle }));
    await cluster.apply({
      apiVersion: 'example.com/v1',
      kind: 'Site',
      metadata: { name: 'a' },
      spec: { title: 'mine' },
    });
    const converted = await cluster.client.raw({ path: '/apis/example.com/v2/namespaces/default/sites/a' });
    assert.deepEqual(JSON.parse(Buffer.from(converted.body).toString()).spec, { headline: 'mine' });
  });

  test('is unreachable through a Service without ready pods', async () => {
    await using cluster = await Cluster.start({
      nodes: 1,
      images: [{ name: 'hooks:1', start: '1h', servers: { 9443: server } }],
    });
    await cluster.apply(serviceWithPods('hooks:1', 9443));
    await cluster.apply(configuration({ service: { namespace: 'system', name: 'hooks' }, caBundle }));
    assert.match(await refusal(cluster), /no endpoints available for service "hooks"/);
  });
});

function answerTo(url: string, text: string): object {
  if (url.startsWith('/apis/stars.example.com/v1/stars')) return { kind: 'StarList', items: ['sirius'] };
  if (url.startsWith('/apis')) return { kind: 'APIResourceList', groupVersion: 'stars.example.com/v1', resources: [] };
  if (url === '/openapi/v2' || url.startsWith('/openapi/v3')) return {};
  const review = JSON.parse(text) as {
    request: { uid: string; desiredAPIVersion?: string; objects?: { spec: { title?: string } }[] };
  };
  const { uid, objects, desiredAPIVersion } = review.request;
  if (objects === undefined)
    return { ...review, response: { uid, allowed: false, status: { message: 'the server refuses' } } };
  const convertedObjects = objects.map((object) => ({
    ...object,
    apiVersion: desiredAPIVersion,
    spec: { headline: object.spec.title },
  }));
  return { ...review, response: { uid, result: { status: 'Success' }, convertedObjects } };
}

function serviceWithPods(image: string, port: number): object[] {
  const labels = { app: 'hooks' };
  const metadata = { name: 'hooks', namespace: 'system' };
  const containers = [{ name: 'server', image, readinessProbe: { httpGet: { port, path: '/apis', scheme: 'HTTPS' } } }];
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'system' } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: labels, ports: [{ port: 443, targetPort: port }] },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
    },
  ];
}

function aggregated(service: object, caBundle: string): object {
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: 'v1.stars.example.com' },
    spec: { group: 'stars.example.com', version: 'v1', groupPriorityMinimum: 1, versionPriority: 1, service, caBundle },
  };
}

function convertedBy(clientConfig: object): object {
  const version = (name: string, storage: boolean): object => ({
    name,
    served: true,
    storage,
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    },
  });
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'sites.example.com' },
    spec: {
      group: 'example.com',
      names: { kind: 'Site', plural: 'sites' },
      scope: 'Namespaced',
      versions: [version('v1', true), version('v2', false)],
      conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } },
    },
  };
}

test('handlers of the test respond to HTTP with bodies and commands, with delays, while virtual time stands', async () => {
  await using cluster = await Cluster.start({ nodes: 1 });
  const nowMs = cluster.nowMs;
  const pause = (): Promise<void> => setTimeout(5);
  cluster.image('app:1', {
    async http({ method, path, query, body }) {
      await pause();
      return { status: 200, body: `${method} ${path} ${query} ${body}` };
    },
    async exec({ command }) {
      await pause();
      return { exitCode: 0, stdout: command.join(' ') };
    },
  });
  const readinessProbe = { exec: { command: ['check'] } };
  const livenessProbe = { httpGet: { port: 80, path: '/live' } };
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', image: 'app:1', readinessProbe, livenessProbe }] },
  });
  await cluster.waitFor('pod/p', 'Ready');
  assert.ok(cluster.nowMs - nowMs < 5000);
  const { body } = await cluster.client.raw({
    method: 'POST',
    path: '/api/v1/namespaces/default/pods/p:80/proxy/say?to=all',
    body: { hello: 1 },
  });
  assert.equal(Buffer.from(body).toString(), 'POST /say to=all {"hello":1}');
});

/** gRPC's health service over plain HTTP/2, which always reports serving. */
function createHealthServer(): ReturnType<typeof createHttp2Server> {
  const server = createHttp2Server();
  server.on('stream', (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
  });
  return server;
}

test('probes and port-forward reach servers of the test behind ports of pods, in any protocol, once they listen', async () => {
  const web = createHttpServer((_, response) => response.end('ok')).listen(0, '127.0.0.1');
  const raw = createTcpServer((socket) => socket.end()).listen(0, '127.0.0.1');
  const later = createTcpServer((socket) => socket.end());
  const echo = createTcpServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
  const held = createTcpServer({ allowHalfOpen: true }, (socket) => socket.resume()).listen(0, '127.0.0.1');
  const health = createHealthServer().listen(0, '127.0.0.1');
  try {
    await using cluster = await Cluster.start({ nodes: 1 });
    cluster.image('app:1', { servers: { 80: web, 81: raw, 82: later, 83: echo, 84: health, 85: held } });
    const pod = (name: string, readinessProbe: object): object => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { containers: [{ name: 'c', image: 'app:1', readinessProbe }] },
    });
    await cluster.apply([
      pod('http', { httpGet: { port: 80 } }),
      pod('tcp', { tcpSocket: { port: 81 } }),
      pod('grpc', { grpc: { port: 84 } }),
      pod('later', { tcpSocket: { port: 82 } }),
    ]);
    await cluster.waitFor('pod/http', 'Ready');
    await cluster.waitFor('pod/tcp', 'Ready');
    await cluster.waitFor('pod/grpc', 'Ready');
    await cluster.waitFor('pod/later', 'Ready=False', { within: '1m' });
    await new Promise<void>((resolve) => later.listen(0, '127.0.0.1', resolve));
    await cluster.waitFor('pod/later', 'Ready', { within: '1m' });

    const config = new KubeConfig();
    config.loadFromString(await cluster.kubeconfig());
    const [input, output] = [new PassThrough(), new PassThrough()];
    input.write('hello');
    const forward = new PortForward(config, true);
    const socket = await forward.portForward('default', 'http', [83], output, null, input);
    const [echoed] = (await once(output, 'data')) as [Buffer];
    assert.equal(echoed.toString(), 'hello');
    // The end of the client ends the connection to the server, which would not end it itself.
    const silent = once(held, 'connection');
    const broken = await forward.portForward('default', 'http', [85], output, null, new PassThrough());
    const [behind] = (await silent) as [Socket];
    const gone = once(behind, 'end');
    if ('terminate' in broken) broken.terminate();
    await gone;
    behind.on('error', () => undefined);
    for (; !behind.destroyed; await setImmediate()) behind.write('nobody reads this');
    if ('close' in socket) socket.close();
  } finally {
    // The cluster holds no more connections to the servers.
    const closing = [web, raw, later, echo, health, held].map((server) => [server, once(server, 'close')] as const);
    for (const [server] of closing) server.close();
    for (const [, closed] of closing) await closed;
  }
});
