/**
 * Proxied requests to pods, services and nodes: by `kubectl get --raw`, and by `kubectl proxy` as browsers use it, with pages,
 * redirects, cookies, uploads and WebSockets. Services also lead to a server of the test itself.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { images, type Space } from './cluster-fixture.ts';
import type { Running } from './fixtures/programs.ts';

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

function ask(
  url: string,
  more: { method?: string; headers?: Record<string, string>; body?: Buffer } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', headers = {}, body } = more;
    const call = request(url, { agent: false, method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
    });
    call.on('error', reject);
    call.end(body);
  });
}

const PAGE = '<html><a href="/next?x=1">n</a><a href="rel">r</a><img src="http://elsewhere.example/i"></html>';

/** Serves pages, redirects, cookies and sums of uploads, and echoes short text frames over a WebSocket. */
function startBackend(): Promise<Server> {
  const server = createServer((message, response) => {
    if (message.url === '/page') return response.setHeader('content-type', 'text/html').end(PAGE);
    if (message.url === '/moved') return response.writeHead(302, { location: '/login?next=%2F' }).end();
    if (message.url === '/cookies') return response.setHeader('set-cookie', ['a=1; Path=/', 'b=2']).end();
    if (message.url === '/headers') return response.end(JSON.stringify(message.headers));
    const hash = createHash('sha256');
    let bytes = 0;
    message.on('data', (chunk: Buffer) => ((bytes += chunk.length), hash.update(chunk)));
    message.on('end', () => response.end(`${message.method} ${message.url} ${bytes} ${hash.digest('hex')}`));
    return undefined;
  });
  server.on('upgrade', (message: IncomingMessage, socket: Duplex) => {
    const key = `${message.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
    socket.write(`${head.join('\r\n')}\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
    socket.on('error', () => undefined);
    socket.on('data', (frame: Buffer) => {
      if (frame[0] !== 0x81) return void socket.end(); // Not a short text frame: closes the connection.
      const length = frame[1]! & 0x7f;
      const [mask, masked] = [frame.subarray(2, 6), frame.subarray(6, 6 + length)];
      const text = Buffer.from(`echo ${masked.map((byte, at) => byte ^ mask[at % 4]!).toString()}`);
      socket.write(Buffer.concat([Buffer.from([0x81, text.length]), text]));
    });
  });
  return new Promise((resolve) => server.listen(0, '0.0.0.0', () => resolve(server)));
}

/** The tests, in a namespace of a running cluster. */
export function proxyRequests(spaceOf: () => Promise<Space>): void {
  describe('proxied requests', () => {
    let space: Space;
    let backend: Server;
    let proxy: Running;
    let base = '';
    let node = { name: '', address: '', port: 0 };
    const of = (path: string): string => `/api/v1/namespaces/${space.namespace}/${path}`;
    const raw = (path: string): Promise<string> => space.kubectl(['get', '--raw', path]);

    before(async () => {
      space = await spaceOf();
      backend = await startBackend();
      const { port } = backend.address() as AddressInfo;
      const [name = '', address = ''] = (
        await space.kubectl([
          'get',
          'nodes',
          '-o',
          'jsonpath={.items[0].metadata.name} {.items[0].status.addresses[0].address}',
        ])
      ).split(' ');
      node = { name, address, port };
      await space.kubectl(['run', 'web', `--image=${images.test}`, '--port=8080', '--labels=app=web']);
      await space.kubectl(['expose', 'pod', 'web', '--port=80', '--target-port=8080']);
      await space.apply({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'outside' },
        spec: { ports: [{ name: 'web', port: 81 }] },
      });
      await space.apply({
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: 'outside', labels: { 'kubernetes.io/service-name': 'outside' } },
        addressType: 'IPv4',
        ports: [{ name: 'web', port }],
        endpoints: [{ addresses: [address] }],
      });
      await space.kubectl('wait --for=condition=Ready pod/web --timeout=120s');
      proxy = space.start(['proxy', '--port=0']);
      await proxy.until(/Starting to serve on 127\.0\.0\.1:\d+/);
      base = `http://127.0.0.1:${/127\.0\.0\.1:(\d+)/.exec(proxy.stdout())![1]}`;
    });
    after(() => {
      proxy?.kill();
      backend?.closeAllConnections();
      backend?.close();
    });

    it('a pod, by its first port, by number and by a port without a listener', async () => {
      assert.equal((await raw(of('pods/web/proxy/cgi-bin/hostname'))).trim(), 'web');
      assert.equal((await raw(of('pods/http:web:8080/proxy/cgi-bin/hostname'))).trim(), 'web');
      const { code, stderr } = await space.outcome(['get', '--raw', of('pods/web:9/proxy/')]);
      assert.deepEqual(
        [code, /\(ServiceUnavailable\): error trying to reach service: .*ECONNREFUSED/.test(stderr)],
        [1, true],
        stderr,
      );
    });

    it('a service, by port, by name, and one without endpoints', async () => {
      assert.equal((await raw(of('services/web:80/proxy/cgi-bin/hostname'))).trim(), 'web');
      assert.match(await raw(of('services/outside:web/proxy/a/b?c=d')), /^GET \/a\/b\?c=d 0 /);
      assert.match(await raw(of('services/http:outside:81/proxy/x')), /^GET \/x 0 /);
      await space.kubectl('create service clusterip nobody --tcp=80');
      const { stderr } = await space.outcome(['get', '--raw', of('services/nobody:80/proxy/')]);
      assert.match(stderr, /\(ServiceUnavailable\): no endpoints available for service "nobody"/);
    });

    it('a node: its kubelet, and another port', async () => {
      assert.equal(await raw(`/api/v1/nodes/${node.name}/proxy/healthz`), 'ok');
      assert.match(await raw(`/api/v1/nodes/${node.name}/proxy/pods`), /"name":\s*"web"/);
      assert.match(await raw(`/api/v1/nodes/${node.name}:${node.port}/proxy/y`), /^GET \/y 0 /);
    });

    it('links, redirects and cookies of pages keep the path of the proxy', async () => {
      const path = of('services/outside:web/proxy');
      const { body } = await ask(`${base}${path}/page`, {
        headers: { accept: 'text/html', 'accept-encoding': 'gzip' },
      });
      assert.equal(
        body,
        `<html><a href="${path}/next?x=1">n</a><a href="rel">r</a><img src="http://elsewhere.example/i"></html>`,
      );
      const moved = await ask(`${base}${path}/moved`);
      assert.deepEqual([moved.status, moved.headers.location], [302, `${path}/login?next=%2F`]);
      const bare = await ask(`${base}${path}?q=1`);
      assert.deepEqual([bare.status, bare.headers.location], [301, `${path}/?q=1`]);
      const cookies = await ask(`${base}${path}/cookies`);
      assert.deepEqual(cookies.headers['set-cookie'], ['a=1; Path=/', 'b=2']);
    });

    it('uploads of any size and method; the backend does not learn the identity of the client', async () => {
      const path = of('services/outside:web/proxy/upload');
      const body = randomBytes(40 * 1024 * 1024);
      const sum = createHash('sha256').update(body).digest('hex');
      const headers = { 'content-type': 'application/octet-stream' };
      const known = await ask(`${base}${path}`, { method: 'PUT', headers, body });
      assert.equal(known.body, `PUT /upload ${body.length} ${sum}`);
      const chunked = await ask(`${base}${path}`, {
        method: 'POST',
        headers: { ...headers, 'transfer-encoding': 'chunked' },
        body,
      });
      assert.equal(chunked.body, `POST /upload ${body.length} ${sum}`);
      assert.match((await ask(`${base}${path}`, { method: 'DELETE' })).body, /^DELETE \/upload 0 /);
      const seen = await ask(`${base}${of('services/outside:web/proxy/headers')}`, {
        headers: { authorization: 'Bearer secret', 'x-mine': 'yes' },
      });
      const told = JSON.parse(seen.body) as Record<string, string>;
      assert.deepEqual([told['x-mine'], told['authorization']], ['yes', undefined]);
      assert.ok(told['x-forwarded-for'] !== undefined);
    });

    for (const target of ['service', 'node'] as const)
      it(`a WebSocket to a ${target}`, async () => {
        const paths = {
          service: of('services/outside:web/proxy/ws'),
          node: `/api/v1/nodes/${node.name}:${node.port}/proxy/ws`,
        };
        const socket = new WebSocket(`${base.replace('http:', 'ws:')}${paths[target]}`);
        const heard: string[] = [];
        const { promise: over, resolve, reject } = Promise.withResolvers<void>();
        socket.addEventListener('open', () => socket.send('one'));
        socket.addEventListener('message', ({ data }) => {
          heard.push(String(data));
          if (heard.length === 1) socket.send('two');
          else resolve();
        });
        socket.addEventListener('error', () => reject(new Error(`the socket failed after ${JSON.stringify(heard)}`)));
        await over;
        socket.close();
        assert.deepEqual(heard, ['echo one', 'echo two']);
      });

    it('only for users with the permission', async () => {
      const as = ['--as=bob', '--as-group=system:authenticated'];
      for (const path of [
        of('pods/web/proxy/'),
        of('services/web:80/proxy/'),
        `/api/v1/nodes/${node.name}/proxy/pods`,
      ]) {
        const { stderr } = await space.outcome(['get', '--raw', path, ...as]);
        assert.match(stderr, /\(Forbidden\): .* User "bob" cannot get resource "(pods|services|nodes)\/proxy"/);
      }
    });
  });
}
