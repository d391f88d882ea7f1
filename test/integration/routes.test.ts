/** Ingress served by Keelson's own gateway on a real node: pods behind it, TLS, WebSocket, gRPC, and changes under traffic. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createNetServer, connect, type AddressInfo, type Server } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { after, before, describe, it } from 'node:test';
import { createTestAuthority, type TestAuthority } from '../../src/platform/node/certificates-fixture.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { images, keelson, startCluster, type TestCluster } from './cluster-fixture.ts';
import { until } from './fixtures/until.ts';

/** An Ingress path that leads to a service. */
const path = (value: string, service: string, pathType = 'Prefix') => ({
  path: value,
  pathType,
  backend: { service: { name: service, port: { number: 80 } } },
});

const ingress = (name: string, spec: object) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name },
  spec,
});

describe('routes', () => {
  let cluster: TestCluster;
  let authority: TestAuthority;
  let [port, tlsPort] = [0, 0];
  const servers: Server[] = [];
  let address = '';

  before(async () => {
    [port, tlsPort] = [await freePort(), await freePort()];
    authority = await createTestAuthority('test');
    const flags = [
      '--gateway',
      'keelson',
      '--gateway-http-port',
      String(port),
      '--gateway-https-port',
      String(tlsPort),
    ];
    cluster = await startCluster({ flags });
    address = await cluster.kubectl('get node -o jsonpath={.items[0].status.addresses[0].address}');
    await cluster.kubectl(`create deployment web --image=${images.test} --replicas=2`);
    await cluster.kubectl('expose deployment web --port 80 --target-port 8080');
    await cluster.kubectl('rollout status deployment/web --timeout=120s');
  });
  after(async () => {
    for (const server of servers) server.close();
    await cluster?.stop();
  });

  const ask = async (url: string, host: string): Promise<{ status: number; body: string }> => {
    const client = request({ host: '127.0.0.1', port, path: url, headers: { host }, agent: false });
    client.end();
    const [answer] = (await once(client, 'response')) as [import('node:http').IncomingMessage];
    let body = '';
    for await (const chunk of answer) body += String(chunk);
    return { status: answer.statusCode ?? 0, body: body.trim() };
  };
  const answers = (what: string, url: string, host: string, expected: RegExp): Promise<unknown> =>
    until(what, async () => expected.test((await ask(url, host)).body));
  const status = async (): Promise<string> => (await keelson(['status', '--data-dir', cluster.dataDir])).stdout;

  /** Creates a Service without pods, whose endpoint is a server of this test on the node's address. */
  async function serveHere(name: string, server: Server, appProtocol?: string): Promise<void> {
    server.listen(0, address);
    await once(server, 'listening');
    servers.push(server);
    const ports = [{ port: (server.address() as AddressInfo).port }];
    const servicePort = appProtocol === undefined ? { port: 80 } : { port: 80, appProtocol };
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { ports: [servicePort] },
    });
    await cluster.apply({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [address] }],
      ports,
    });
  }

  it('no process runs before the first ingress; then its pods answer, and its address is published', async () => {
    assert.doesNotMatch(await status(), /gateway/);
    await cluster.apply(ingress('web', { rules: [{ host: 'web.example', http: { paths: [path('/', 'web')] } }] }));
    const seen = new Set<string>();
    await until('both pods', async () => {
      seen.add((await ask('/cgi-bin/hostname', 'web.example')).body);
      return [...seen].filter((name) => name.startsWith('web-')).length === 2;
    });
    assert.equal((await ask('/', 'other.example')).status, 404);
    await cluster.until(
      'the address',
      async () =>
        (await cluster.kubectl('get ingress web -o jsonpath={.status.loadBalancer.ingress[*].ip}')) === address,
    );
    assert.match(await status(), /gateway ok/);
    const { stdout } = await keelson(['why', 'ingress/web', '--data-dir', cluster.dataDir]);
    assert.match(stdout, /is served at/);
  });

  it('a response in flight and its connection survive a change of routes', async () => {
    let finish = (): void => undefined;
    const slow = createServer((message, response) => {
      if (message.url !== '/slow') return void response.end('quick');
      response.write('begun');
      finish = () => response.end(' ended');
    });
    await serveHere('slow', slow);
    const rules = (service: string) => [{ host: 'slow.example', http: { paths: [path('/', service)] } }];
    await cluster.apply(ingress('slow', { rules: rules('slow') }));
    await answers('the route', '/quick', 'slow.example', /^quick$/);
    const socket = connect({ host: '127.0.0.1', port });
    let text = '';
    socket.on('data', (chunk) => (text += String(chunk)));
    socket.write('GET /slow HTTP/1.1\r\nhost: slow.example\r\n\r\n');
    while (!text.includes('begun')) await once(socket, 'data');
    await cluster.apply(ingress('slow', { rules: rules('web') }));
    await answers('the other service', '/cgi-bin/hostname', 'slow.example', /^web-/);
    finish();
    while (!text.includes('ended')) await once(socket, 'data');
    socket.write('GET /cgi-bin/hostname HTTP/1.1\r\nhost: slow.example\r\nconnection: close\r\n\r\n');
    await once(socket, 'end');
    assert.match(text, /web-/);
  });

  /** The subject of the certificate that a client of the host receives. */
  const subject = async (servername: string): Promise<string> => {
    const socket = connectTls({
      host: '127.0.0.1',
      port: tlsPort,
      servername,
      rejectUnauthorized: false,
    });
    await once(socket, 'secureConnect');
    const { CN } = socket.getPeerCertificate().subject;
    socket.destroy();
    return String(CN);
  };
  const applySecret = async (name: string): Promise<void> => {
    const { certPem, keyPem } = await authority.issue(`CN=${name}`, ['tls.example']);
    const stringData = { 'tls.crt': certPem, 'tls.key': keyPem };
    const metadata = { name: 'cert' };
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      metadata,
      stringData,
    });
  };

  it('a missing certificate is an event; a new one and its replacement are served at once', async () => {
    const tls = [{ hosts: ['tls.example'], secretName: 'cert' }];
    await cluster.apply(
      ingress('tls', {
        tls,
        rules: [{ host: 'tls.example', http: { paths: [path('/', 'web')] } }],
      }),
    );
    await cluster.until('the event', async () =>
      (await cluster.kubectl('get events -o jsonpath={.items[*].reason}')).includes('SecretNotFound'),
    );
    await until('the default certificate', async () => (await subject('tls.example')).includes('default'));
    await applySecret('first');
    await until('the first certificate', async () => (await subject('tls.example')) === 'first');
    await applySecret('second');
    await until('the second certificate', async () => (await subject('tls.example')) === 'second');
    assert.match(await subject('other.example'), /default/);
  });

  it('secrets and services of other namespaces cannot be used', async () => {
    const other = await cluster.space('other');
    const tls = [{ hosts: ['stolen.example'], secretName: 'cert' }];
    const spec = { tls, rules: [{ host: 'stolen.example', http: { paths: [path('/', 'web')] } }] };
    await other.apply({
      ...ingress('thief', spec),
      metadata: { name: 'thief', namespace: 'other' },
    });
    await until('the route', async () => (await ask('/', 'stolen.example')).status === 503);
    assert.match(await subject('stolen.example'), /default/);
    await other.kubectl('delete ingress thief');
  });

  it('WebSocket and a call like those of gRPC', async () => {
    const echo = createServer();
    echo.on('upgrade', (_message, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n');
      socket.pipe(socket);
    });
    await serveHere('echo', echo);
    const grpc = createHttp2Server();
    grpc.on('stream', (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.pipe(stream);
    });
    await serveHere('grpc', grpc, 'kubernetes.io/h2c');
    const rules = [{ host: 'app.example', http: { paths: [path('/ws', 'echo'), path('/', 'grpc')] } }];
    await cluster.apply(ingress('app', { rules }));
    const session = connectHttp2(`https://localhost:${tlsPort}`, { rejectUnauthorized: false });
    try {
      await until('the call', async () => {
        const head = {
          ':authority': 'app.example',
          ':path': '/p.S/M',
          ':method': 'POST',
          te: 'trailers',
        };
        const stream = session.request(head);
        let trailers: Record<string, unknown> = {};
        stream.on('trailers', (got) => (trailers = got));
        stream.end('message');
        let text = '';
        for await (const chunk of stream) text += String(chunk);
        return text === 'message' && trailers['grpc-status'] === '0';
      });
    } finally {
      session.destroy();
    }
    const socket = connect({ host: '127.0.0.1', port });
    socket.write('GET /ws HTTP/1.1\r\nhost: app.example\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n');
    let text = '';
    socket.on('data', (chunk) => (text += String(chunk)));
    while (!text.includes('\r\n\r\n')) await once(socket, 'data');
    socket.write('ping');
    while (!text.endsWith('ping')) await once(socket, 'data');
    assert.match(text, /^HTTP\/1\.1 101 /);
    socket.destroy();
  });

  it('the Gateway API: its kinds are there after a start with --gateway, served and programmed, with a redirect to https', async () => {
    const addons = await keelson(['addons', 'ls', '--data-dir', cluster.dataDir]);
    assert.match(addons.stdout, /^gateway-api +applied/m);
    await cluster.until(
      'the class',
      async () =>
        (await cluster.kubectl(
          'get gatewayclass keelson -o jsonpath={.status.conditions[?(@.type=="Accepted")].status}',
        )) === 'True',
    );
    const [plain, tls] = [await freePort(), await freePort()];
    const listeners = [
      { name: 'http', port: plain, protocol: 'HTTP' },
      {
        name: 'https',
        port: tls,
        protocol: 'HTTPS',
        hostname: '*.example',
        tls: { certificateRefs: [{ name: 'cert' }] },
      },
    ];
    const object = (kind: string, name: string, spec: object) => ({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind,
      metadata: { name },
      spec,
    });
    await cluster.apply(object('Gateway', 'gw', { gatewayClassName: 'keelson', listeners }));
    const rules = [{ backendRefs: [{ name: 'web', port: 80 }] }];
    const hostnames = ['tls.example'];
    await cluster.apply(
      object('HTTPRoute', 'web', {
        parentRefs: [{ name: 'gw', sectionName: 'https' }],
        hostnames,
        rules,
      }),
    );
    const redirect = [{ filters: [{ type: 'RequestRedirect', requestRedirect: { scheme: 'https', port: tls } }] }];
    await cluster.apply(
      object('HTTPRoute', 'redirect', {
        parentRefs: [{ name: 'gw', sectionName: 'http' }],
        rules: redirect,
      }),
    );
    await cluster.kubectl('wait gateway/gw --for=condition=Programmed --timeout=60s');
    assert.equal(await cluster.kubectl('get gateway gw -o jsonpath={.status.addresses[*].value}'), address);
    await cluster.until(
      'the routes',
      async () => (await cluster.kubectl('get gateway gw -o jsonpath={.status.listeners[*].attachedRoutes}')) === '1 1',
    );
    const client = request({
      host: '127.0.0.1',
      port: plain,
      path: '/x',
      headers: { host: 'tls.example' },
      agent: false,
    });
    client.end();
    const [answer] = (await once(client, 'response')) as [import('node:http').IncomingMessage];
    assert.deepEqual([answer.statusCode, answer.headers.location], [302, `https://tls.example:${tls}/x`]);
    answer.resume();
    const session = connectHttp2(`https://localhost:${tls}`, {
      rejectUnauthorized: false,
      servername: 'tls.example',
    });
    try {
      await once(session, 'connect');
      const stream = session.request({ ':authority': 'tls.example', ':path': '/cgi-bin/hostname' });
      let text = '';
      for await (const chunk of stream) text += String(chunk);
      assert.match(text, /^web-/);
    } finally {
      session.destroy();
    }
    const { stdout } = await keelson(['why', 'httproute/web', '--data-dir', cluster.dataDir]);
    assert.match(stdout, /taken up by 1 of 1/);
    await cluster.kubectl('delete gateway gw');
    await cluster.kubectl('delete httproute --all');
  });

  it('passes TLS through by name, and verifies backends as BackendTLSPolicy requires', async () => {
    const { certPem: cert, keyPem: key } = await authority.issue('CN=inner.example', ['inner.example']);
    const secure = () => createTlsServer({ cert, key }, (_, answer) => answer.end('of the backend'));
    await serveHere('passed', secure());
    await serveHere('verified', secure());
    const [plain, tls] = [await freePort(), await freePort()];
    const object = (kind: string, name: string, spec: object) =>
      cluster.apply({ apiVersion: 'gateway.networking.k8s.io/v1', kind, metadata: { name }, spec });
    const listeners = [
      { name: 'http', port: plain, protocol: 'HTTP' },
      { name: 'tls', port: tls, protocol: 'TLS', tls: { mode: 'Passthrough' } },
    ];
    await object('Gateway', 'mixed', { gatewayClassName: 'keelson', listeners });
    const to = (name: string) => [{ backendRefs: [{ name, port: 80 }] }];
    const parentRefs = [{ name: 'mixed' }];
    await object('TLSRoute', 'passed', { parentRefs, hostnames: ['inner.example'], rules: to('passed') });
    await object('HTTPRoute', 'verified', { parentRefs, hostnames: ['web.example'], rules: to('verified') });
    const caCertificateRefs = [{ group: '', kind: 'ConfigMap', name: 'authority' }];
    const policy = (hostname: string) =>
      object('BackendTLSPolicy', 'verified', {
        targetRefs: [{ group: '', kind: 'Service', name: 'verified' }],
        validation: { hostname, caCertificateRefs },
      });
    await policy('inner.example');
    await cluster.kubectl('wait gateway/mixed --for=condition=Programmed --timeout=60s');
    const answered = async (): Promise<string> => {
      const client = request({ host: '127.0.0.1', port: plain, headers: { host: 'web.example' }, agent: false });
      client.end();
      const [answer] = (await once(client, 'response')) as [import('node:http').IncomingMessage];
      let body = '';
      for await (const chunk of answer) body += String(chunk);
      return `${answer.statusCode} ${body}`;
    };
    const reasons = '{.status.ancestors[0].conditions[*].reason}';
    const settled = (what: string, answer: RegExp, reason: string): Promise<unknown> =>
      cluster.until(what, async () => {
        const found = await cluster.kubectl(`get backendtlspolicy verified -o jsonpath=${reasons}`);
        return answer.test(await answered()) && found === reason;
      });
    await settled('no authority', /^500 /, 'NoValidCACertificate InvalidCACertificateRef');
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'authority' },
      data: { 'ca.crt': authority.caPem },
    });
    await settled('the authority', /^200 of the backend$/, 'Accepted ResolvedRefs');
    await policy('other.example');
    await settled('another name', /^502 /, 'Accepted ResolvedRefs');

    const socket = connectTls({ host: '127.0.0.1', port: tls, servername: 'inner.example', ca: authority.caPem });
    await once(socket, 'secureConnect');
    assert.equal(socket.authorized, true);
    socket.end('GET / HTTP/1.1\r\nhost: inner.example\r\nconnection: close\r\n\r\n');
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    assert.match(text, /of the backend/);
    for (const object of ['tlsroute/passed', 'backendtlspolicy/verified']) {
      const { stdout } = await keelson(['why', object, '--data-dir', cluster.dataDir]);
      assert.match(stdout, /1 of 1 parents|holds at 1 gateway/);
    }
    await cluster.kubectl('delete gateway mixed');
    await cluster.kubectl('delete tlsroute,httproute,backendtlspolicy --all');
  });

  const gatewayPid = async (): Promise<number> => {
    assert.match(await status(), /gateway ok/);
    const { pid } = JSON.parse(await readFile(`/run/keelson/${cluster.hash}/gateway.json`, 'utf8')) as { pid: number };
    return pid;
  };

  it('is served by a process without root, capabilities and the environment of the server', async () => {
    const pid = await gatewayPid();
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    const serving = Number(children.trim());
    const rights = async (of: number): Promise<Record<string, string>> => {
      const text = await readFile(`/proc/${of}/status`, 'utf8');
      return Object.fromEntries(text.split('\n').map((line) => line.split(/:\s*/, 2)));
    };
    const own = await rights(serving);
    const [user = ''] = own['Uid']!.split('\t');
    assert.ok(Number(user) >= 61_184 && Number(user) <= 65_519, user);
    assert.deepEqual([own['Uid'], own['Gid']], Array(2).fill(Array(4).fill(user).join('\t')));
    assert.equal(own['Groups']!.trim(), '');
    for (const set of ['CapPrm', 'CapEff', 'CapInh', 'CapAmb']) assert.equal(Number.parseInt(own[set]!, 16), 0, set);
    assert.equal(own['NoNewPrivs'], '1');
    assert.equal((await rights(pid))['CapEff'], '00000000000004e4');
    const variables = (await readFile(`/proc/${serving}/environ`, 'utf8')).split('\0');
    assert.deepEqual(
      variables.filter((one) => !/^(NODE_|MALLOC_|LANG=|LC_ALL=|TZ=|$)/.test(one)),
      [],
    );
    const run = { uid: Number(user), gid: Number(user) };
    assert.throws(() => execFileSync('cat', [`${cluster.dataDir}/pki/ca.key`], { ...run, stdio: 'pipe' }));
  });

  it('serves while Keelson is killed and restarted, and is itself restarted when killed', async () => {
    const before = await gatewayPid();
    await cluster.kubectl(`create service loadbalancer late --tcp=${port}:8080`);
    process.kill(await cluster.pid(), 'SIGKILL');
    assert.match((await ask('/cgi-bin/hostname', 'web.example')).body, /^web-/);
    await cluster.up();
    await until('the gateway', async () => /gateway ok/.test(await status()));
    assert.equal(await gatewayPid(), before);
    await cluster.until('the refusal', async () =>
      (await cluster.kubectl('get events -o jsonpath={.items[*].message}')).includes(`port ${port}/TCP of the nodes`),
    );
    assert.equal(await cluster.kubectl('get service late -o jsonpath={.status.loadBalancer.ingress}'), '');
    await cluster.kubectl('delete service late');
    process.kill(before, 'SIGKILL');
    await until('another data plane', async () => (await gatewayPid()) !== before);
    await answers('its answer', '/cgi-bin/hostname', 'web.example', /^web-/);
  });

  it('ends with the last ingress; an event names the program that uses its port', async () => {
    await cluster.kubectl('delete ingress --all');
    await until('its end', async () => !/components .*gateway/.test(await status()));
    const holder = createNetServer();
    holder.listen(port);
    await once(holder, 'listening');
    try {
      await cluster.apply(ingress('web', { defaultBackend: { service: { name: 'web', port: { number: 80 } } } }));
      await cluster.until('the event', async () =>
        (await cluster.kubectl('get events -o jsonpath={.items[*].message}')).includes(
          `port ${port} of routes is used by`,
        ),
      );
      assert.match(await status(), new RegExp(`port ${port} of routes is used by .*--gateway-http-port`));
    } finally {
      holder.close();
    }
    await answers('the port', '/cgi-bin/hostname', 'any.example', /^web-/);
    await until('the status', async () => /gateway ok/.test(await status()));
  });
});
